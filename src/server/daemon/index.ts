/** A node as a process. */
export { DAEMON_ERRORS, DaemonError, type DaemonErrorCode } from './errors.ts';
export type { StateChange } from './intents.ts';
export type { LostWriteView } from './lost-writes.ts';
export { clusterMapOf } from './map.ts';
export { type DaemonOptions, NodeDaemon } from './node-daemon.ts';
export { LEAST_FREE_BYTES, readTls, readTokens } from './surroundings.ts';
export type { LocalView, PartitionSetView, RegionView } from './views.ts';
