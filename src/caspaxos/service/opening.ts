/**
 * Opening a database anew when it refuses a commit. After a kill -9 under load LMDB sometimes does not take the first commit of a
 * process: it stumbles over its own list of free pages, and nothing is changed. Whoever opens it anew begins with another list,
 * because opening it is a commit too; that is all that is hoped for here, and what is tried a few times.
 */
import { CasPaxosError } from '../errors.ts';

const ATTEMPTS = 5;

/** What we say ourselves, that a record is damaged or a journal lost, is final; what the library says may not be. */
export async function openedAgain<T>(open: () => Promise<T>, directory: string): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await open();
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
