/**
 * Whether LMDB has taken what it was given. A commit that fails says why in a promise of its own (`commitError`), and every promise of it
 * has to be listened to, or the process ends at one that nobody heard. So a database is opened with LISTENED: without, the library makes a
 * batch for each turn of the event loop, whose promise nobody has. And what is written is written in a batch or a transaction, which
 * has one promise for all of it.
 */
import { setImmediate } from 'node:timers/promises';
import type { RootDatabase } from 'lmdb';
import { hasRoomFor, isNoRoom } from '../directory/room.ts';
import { diskFull } from '../errors.ts';

export const LISTENED = { eventTurnBatching: false } as const;

export type Document = readonly [key: string, text: string];

/** Puts documents into a database in one commit. On disk when it resolves; rejects with DISK_FULL when there is no room for them. */
export async function putAll(
  database: RootDatabase<string, string>,
  directory: string,
  documents: readonly Document[],
  room?: 'with the reserve',
): Promise<void> {
  const bytes = documents.reduce((sum, [key, text]) => sum + key.length + text.length, 0);
  if (!hasRoomFor(directory, documents.length, bytes, room)) throw diskFull(directory);
  try {
    const batch = database.batch(() => {
      for (const [key, text] of documents) void database.put(key, text);
    });
    await committed(batch);
  } catch (error) {
    throw isNoRoom(error, directory) ? diskFull(directory, error) : error;
  }
}

/** Resolves when the batch or transaction is on disk; rejects with the reason when it is not. */
export async function committed(work: Promise<unknown>): Promise<void> {
  try {
    await work;
  } catch (failure) {
    throw await reasonOf(failure);
  }
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
