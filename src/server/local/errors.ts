/** Why a local cluster cannot start or do what it was asked: one sentence, and a code that stays. */

export const LOCAL_ERRORS = {
  CLUSTER_RUNNING: 'Another process runs the cluster of this directory.',
  CLUSTER_NOT_RUNNING: 'No process runs the cluster of this directory.',
  CONTROL_REFUSED: 'The process that runs the cluster did not do what it was asked.',
  CUT_UNAVAILABLE: 'Links can be cut only where every region has its own network namespace.',
  DIRECTORY_UNUSABLE: 'The data directory cannot be used.',
  DISK_TOO_SMALL: 'The disk has too little room.',
  NAME_UNKNOWN: 'The cluster has no region or process of that name.',
  NAMESPACES_UNAVAILABLE: 'Network namespaces cannot be made here.',
  OPTIONS_DIFFER: 'The directory holds a cluster of another shape.',
  OPTIONS_INVALID: 'No cluster can be made from these options.',
  PORT_TAKEN: 'A port is in use.',
  PROCESS_ENDED: 'A process of the cluster ended before it was ready.',
  PROCESS_SLOW: 'A process of the cluster did not get ready in time.',
  TIMED_OUT: 'What was waited for did not happen in time.',
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
