/** Why a local cluster cannot start, or cannot carry out an order: one sentence with a stable code. */

export const LOCAL_ERRORS = {
  CLUSTER_RUNNING: 'Another process runs the cluster of this directory.',
  CLUSTER_NOT_RUNNING: 'No process runs the cluster of this directory.',
  CONTROL_REFUSED: 'The process that runs the cluster did not carry out the order.',
  CUT_UNAVAILABLE: 'Links can be cut only where every region has its own network namespace.',
  DIRECTORY_UNUSABLE: 'The data directory cannot be used.',
  DISK_TOO_SMALL: 'The disk has too little free space.',
  NAME_UNKNOWN: 'The cluster has no region or process of that name.',
  NAMESPACES_UNAVAILABLE: 'This machine cannot create network namespaces.',
  OPTIONS_DIFFER: 'The directory holds a cluster with other options.',
  OPTIONS_INVALID: 'The options are not valid.',
  PORT_TAKEN: 'A port is in use, or may not be used by this user.',
  PROCESS_ENDED: 'A process of the cluster ended before it was ready.',
  PROCESS_SLOW: 'A process of the cluster was not ready in time.',
  TIMED_OUT: 'The cluster did not reach the expected state in time.',
} as const;

export type LocalErrorCode = keyof typeof LOCAL_ERRORS;

export class LocalClusterError extends Error {
  override readonly name = 'LocalClusterError';
  readonly code: LocalErrorCode;

  constructor(code: LocalErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}
