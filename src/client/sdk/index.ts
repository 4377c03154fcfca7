/** The SDK. */
export type { Answer, BatchResult, FindResult, ReadResult, WriteResult } from './answers.ts';
export { BatonClient } from './client.ts';
export { type BatchOperation, Container, type PatchOptions } from './container.ts';
export { describeDiagnostics, type Diagnostics } from './diagnostics.ts';
export type { Stored, SystemProperties } from './documents.ts';
export { BATON_ERRORS, BatonError, type BatonErrorCode, type Outcome } from './errors.ts';
export type { Change, ChangesOptions } from './feed.ts';
export type { Looked } from './looking.ts';
export type {
  ConnectOptions,
  HedgeOptions,
  PartitionKeyValue,
  ReadOptions,
  RequestOptions,
  WriteOptions,
} from './options.ts';
export {
  type FeedCall,
  type PartitionCall,
  PartitionClient,
  type PartitionFeed,
  type PartitionPage,
  type PartitionRead,
  type PartitionWritten,
  type ReadCall,
  type ScanCall,
  type WriteCall,
} from './partition-client.ts';
export { type PlannedAttempt, type PlanRan, PlanRun, type PlanRunOptions, type Said } from './plan-run.ts';
export type { ReadAllOptions } from './scan.ts';
export { Session } from './session.ts';
export type { ContainerPlace, PlacedRange, Topology } from './topology.ts';
