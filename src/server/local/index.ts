/** A whole cluster on one machine. */
export { sendOrder } from './control.ts';
export { type ClusterState, isUp, type ProcessRecord, readState, STATE_FILE_NAME } from './directory.ts';
export { LOCAL_ERRORS, LocalClusterError, type LocalErrorCode } from './errors.ts';
export { freePort } from './free-port.ts';
export { DEFAULT_PORT_BASE } from './ground.ts';
export { LocalCluster, type LocalClusterOptions, type LocalEvent, type Names } from './local-cluster.ts';
export { type Moved, movesBetween, type Observed } from './observer.ts';
export {
  ACTIONS,
  type Action,
  CUT_FROM,
  type CutOptions,
  DIRECTIONS,
  type Obeyed,
  type Order,
} from './orders.ts';
export type { ProcessState, Role } from './role-process.ts';
export type { Profile, Shape, ShapeOptions } from './shape.ts';
