/** The pure part of the engine. */
export { type Condition, parseCondition, type ParsedCondition } from './documents/condition.ts';
export { holds } from './documents/condition-values.ts';
export * from './documents/conditions.ts';
export * from './documents/duplicate-names.ts';
export * from './documents/epk.ts';
export * from './documents/evaluate.ts';
export * from './documents/partition-key.ts';
export * from './documents/patch.ts';
export * from './documents/present.ts';
export * from './documents/request.ts';
export * from './documents/rid.ts';
export * from './documents/validate.ts';
export * from './documents/versions.ts';
export * from './model.ts';
export * from './partition/index.ts';
export * from './store.ts';
