/** Types, codecs and versions that several rooms share. No I/O. */
export * from './assert.ts';
export * from './ballot.ts';
export * from './continuous-clock.ts';
export * from './roles.ts';
export * from './histogram.ts';
export * from './host.ts';
export * from './lobby.ts';
export * from './msgpack-form.ts';
export * from './refusals.ts';
export * from './request-head.ts';
