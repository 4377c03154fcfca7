/** The SDK. */
export type { Answer, BatchResult, FindResult, ReadResult, WriteResult } from './answers.ts';
export { BatonClient } from './client.ts';
export { type BatchOperation, Container } from './container.ts';
export { describeDiagnostics, type Diagnostics } from './diagnostics.ts';
export type { Stored, SystemProperties } from './documents.ts';
export { BATON_ERRORS, BatonError, type BatonErrorCode, type Outcome } from './errors.ts';
export type { Change, ChangesOptions } from './feed.ts';
export type {
  ConnectOptions,
  HedgeOptions,
  PartitionKeyValue,
  ReadOptions,
  RequestOptions,
  WriteOptions,
} from './options.ts';
export type { ReadAllOptions } from './scan.ts';
export { Session } from './session.ts';
