/** A whole cluster on one machine. */
export { sendOrder } from './control.ts';
export { type ClusterState, isUp, type ProcessRecord, readState, STATE_FILE_NAME } from './directory.ts';
export { LOCAL_ERRORS, LocalClusterError, type LocalErrorCode } from './errors.ts';
export { freePort } from './free-port.ts';
export { DEFAULT_PORT_BASE } from './ground.ts';
export { DEFAULT_PER_SECOND } from './load.ts';
export type { LoadState } from './load-figures.ts';
export { LocalCluster } from './local-cluster.ts';
export { type MoveCause, type Moved, movesBetween, type Observed } from './observer.ts';
export type { LocalClusterOptions, LocalEvent, Names } from './options.ts';
export {
  ACTIONS,
  type Action,
  type AnyOrder,
  CUT_FROM,
  type CutOptions,
  DIRECTIONS,
  type LoadOrder,
  MOST_PER_SECOND,
  type Obeyed,
  type Order,
} from './orders.ts';
export type { ProcessState, Role } from './role-process.ts';
export type { Profile, Shape, ShapeOptions } from './shape.ts';
