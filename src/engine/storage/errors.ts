/** What can go wrong between the engine and its disk: one sentence, and a code that stays. */
export const STORAGE_ERROR_CODES = [
  /** The data were written by a newer version of this software. */
  'FORMAT_NEWER',
  /** Another process has the directory open. */
  'DATA_IN_USE',
  /** There is no room: on the disk, or within `maxBytes`. */
  'DISK_FULL',
  /** The disk refused a write for another reason. */
  'DISK_FAILED',
  /** Something on the disk is not what was written there, and it is not an entry that another region could send. */
  'DAMAGED',
  /** The directory cannot be opened. */
  'OPEN_FAILED',
  'CLOSED',
] as const;

export type StorageErrorCode = (typeof STORAGE_ERROR_CODES)[number];

export class EngineStorageError extends Error {
  override readonly name = 'EngineStorageError';
  readonly code: StorageErrorCode;

  constructor(code: StorageErrorCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
  }
}

export function storageError(code: StorageErrorCode, prefix: string, cause: unknown): EngineStorageError {
  if (cause instanceof EngineStorageError) return cause;
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new EngineStorageError(code, `${prefix}: ${reason}.`, cause);
}

/** This node's disk has lost something that it had answered for: it must not go on as if it had not. */
export function lostData(what: string): EngineStorageError {
  return new EngineStorageError(
    'DAMAGED',
    `${what}. Move the directory away and start the node again: it copies its data from the other regions.`,
  );
}
