/**
 * Opening the database of an acceptor, and anew when it refuses a commit. After a kill -9 under load LMDB sometimes does not take the first commit of a
 * process: it stumbles over its own list of free pages, and nothing is changed. Whoever opens it anew begins with another list,
 * because opening it is a commit too; that is all that is hoped for here, and what is tried a few times.
 */
import { mkdirSync, realpathSync } from 'node:fs';
import { open, type RootDatabase } from 'lmdb';
import { asCasPaxosError, CasPaxosError } from '../errors.ts';
import { UTF8_KEYS } from '../lmdb-keys.ts';
import { LISTENED } from './committed.ts';

const ATTEMPTS = 5;

/** What we say ourselves, that a record is damaged or a journal lost, is final; what the library says may not be. */
export async function openedAgain<T>(openIt: () => Promise<T>, directory: string): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await openIt();
    } catch (error) {
      if (error instanceof CasPaxosError) throw error;
      if (attempt < ATTEMPTS) continue;
      const reason = error instanceof Error ? error.message.trim() : String(error);
      throw new CasPaxosError(
        'STORE_FAILED',
        `The database in ${directory} refuses to be written to: ${reason}. ` +
          'Nothing is lost yet: start it again; if that does not help, replace the acceptor by an empty one under a new identity.',
      );
    }
  }
}

/** Made if it is not there; by the name that it really has. */
export function directoryAt(path: string): string {
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 });
    return realpathSync(path);
  } catch (error) {
    throw asCasPaxosError(error, 'STORE_FAILED', `The data directory ${path} cannot be opened`);
  }
}

export function openDatabase(directory: string): RootDatabase<string, string> {
  try {
    // A directory, whatever its name: one with a dot in it would be taken for a file (`noSubdir`).
    return open<string, string>({
      keyEncoder: UTF8_KEYS,
      path: directory,
      ...LISTENED,
      encoding: 'string',
      noSubdir: false,
      overlappingSync: false,
    });
  } catch (error) {
    throw asCasPaxosError(error, 'STORE_FAILED', `The data directory ${directory} cannot be opened`);
  }
}
