/**
 * Whether LMDB has taken what it was given. A commit that fails rejects every write of it, and says why in a promise of its own
 * (`commitError`): all of them have to be listened to, or the process ends at one that nobody heard.
 */
import { setImmediate } from 'node:timers/promises';

/** Resolves when all are on disk; rejects with the reason when one is not. */
export async function committed(puts: readonly Promise<unknown>[]): Promise<void> {
  const ends = await Promise.allSettled(puts);
  const failures = ends.flatMap((end) => (end.status === 'rejected' ? [end.reason as unknown] : []));
  const [reason] = await Promise.all(failures.map(reasonOf));
  if (failures.length > 0) throw reason;
}

/** What the library said, if it does at once; otherwise only that it failed is known. */
async function reasonOf(failure: unknown): Promise<unknown> {
  const { commitError } = (failure ?? {}) as { commitError?: Promise<unknown> };
  if (!(commitError instanceof Promise)) return failure;
  const told = commitError.then(
    () => failure,
    (reason: unknown) => reason,
  );
  return Promise.race([told, setImmediate(failure)]);
}
