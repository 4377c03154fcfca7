/** A node as a process. */
export type { AuditEntry } from './audit.ts';
export { DAEMON_ERRORS, DaemonError, type DaemonErrorCode } from './errors.ts';
export { type EventData, type EventName, EVENTS as NODE_EVENTS } from './events/index.ts';
export { FORMS as NODE_FORMS } from './forms.ts';
export type { StateChange } from './intents.ts';
export type { ControlClient, LocalObeyed, LocalOrder } from './local-control.ts';
export type { LostWriteView } from './lost-writes.ts';
export { clusterMapOf } from './map.ts';
export { type DaemonOptions, NodeDaemon } from './node-daemon.ts';
export { LEAST_FREE_BYTES, readTls, readTokens } from './surroundings.ts';
export type { LocalView, PartitionSetView, RegionView } from './views.ts';
