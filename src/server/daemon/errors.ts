/** Why a node cannot start: one sentence, a stable code. */
export const DAEMON_ERRORS = {
  NODE_UNKNOWN: 'the cluster file has no node of that name',
  DISK_TOO_SMALL: 'the disk of the data directory has too little room left',
  TLS_UNREADABLE: 'a certificate or key that the cluster file names cannot be read',
  DATA_UNUSABLE: 'the data directory cannot be made or read',
} as const;

export type DaemonErrorCode = keyof typeof DAEMON_ERRORS;

export class DaemonError extends Error {
  override readonly name = 'DaemonError';
  readonly code: DaemonErrorCode;

  constructor(code: DaemonErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}
