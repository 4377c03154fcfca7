/** The lock of a node's directory, with the errors of the engine. */
import { type DirectoryLock, lockDirectory } from '../../caspaxos/index.ts';
import { EngineStorageError } from './errors.ts';

export async function lock(directory: string): Promise<DirectoryLock> {
  try {
    return await lockDirectory(directory);
  } catch (error) {
    const { code, message } = error as { readonly code?: string; readonly message: string };
    throw new EngineStorageError(code === 'DATA_LOCKED' ? 'DATA_IN_USE' : 'OPEN_FAILED', message, error);
  }
}
