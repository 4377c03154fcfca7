/** Deliberate defects between a plan and its user, to show that the checks would notice a plan that has them. */
import type { NodeAnswer, OperationOptions, PlanResult } from '../../client/index.ts';
import type { Position } from '../../check/index.ts';
import type { WriteRequest } from '../../engine/index.ts';

export const PLAN_DEFECTS = [
  'takes unknown for not applied',
  'repeats without an operation id',
  'goes on after the deadline',
  'forgets the session',
  'knows one region only',
] as const;

export type PlanDefect = (typeof PLAN_DEFECTS)[number];

const TOO_LONG_MS = 1500;

export function bentOptions(options: OperationOptions, defect: string | undefined): OperationOptions {
  if (defect !== 'goes on after the deadline') return options;
  return { ...options, deadlineAtMs: options.deadlineAtMs + TOO_LONG_MS };
}

export function bentResult<A extends NodeAnswer>(
  result: PlanResult<A>,
  defect: string | undefined,
): PlanResult<A> {
  if (defect !== 'takes unknown for not applied' || result.ok) return result;
  return { ...result, error: { ...result.error, outcome: 'notApplied' } };
}

export function bentRequest(request: WriteRequest, defect: string | undefined): WriteRequest {
  if (defect !== 'repeats without an operation id') return request;
  const { partitionKey, operations } = request;
  return { partitionKey, operations };
}

export function bentToken(token: Position | undefined, defect: string | undefined): Position | undefined {
  return defect === 'forgets the session' ? undefined : token;
}

export function bentRegions(regions: readonly string[], defect: string | undefined): readonly string[] {
  return defect === 'knows one region only' ? regions.slice(0, 1) : regions;
}
