/** Errors of the engine that people see. */
export const ENGINE_ERRORS = {
  NOT_STARTED: 'the partition has not been started in this process',
  PARTITION_KEY_INVALID: 'the partition key of the container cannot be used',
  UNKNOWN_PARTITION_SET: 'this node has no copy of the partition-set',
  BACKUP_EXISTS: 'the directory for a backup is not empty',
  BACKUP_INVALID: 'the directory holds no backup that can be understood',
  BACKUP_NEWER: 'the backup was made by a newer version',
  BACKUP_DAMAGED: 'the backup is not as it was written',
  RESTORE_NOT_EMPTY: 'a backup can be restored into a new partition-set only',
} as const;
export type EngineErrorCode = keyof typeof ENGINE_ERRORS;

export class EngineError extends Error {
  readonly code: EngineErrorCode;

  constructor(code: EngineErrorCode, message: string) {
    super(message);
    this.name = 'EngineError';
    this.code = code;
  }
}
