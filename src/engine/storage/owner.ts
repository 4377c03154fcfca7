/**
 * One process owns a data directory. The claim stands in the database and is made inside a write transaction, which LMDB
 * lets one process at a time have, so of two that start at once one wins. A claim of a process that is gone counts for
 * nothing: kill -9 leaves no lock behind.
 */
import type { Database } from 'lmdb';
import { isRunning, type ProcessName, thisProcess } from '../../caspaxos/index.ts';
import { EngineStorageError } from './errors.ts';
import { readRecord, writeRecord } from './records.ts';

const OWNER_KEY = Buffer.from('owner');

/** Directories that this process has open. */
const held = new Set<string>();

export function claim(meta: Database<Buffer, Buffer>, directory: string): void {
  const self = thisProcess();
  const holder = meta.transactionSync((): ProcessName | undefined => {
    const owner = readRecord<ProcessName>(meta.get(OWNER_KEY), 'the owner');
    const isOurs = owner?.pid === self.pid && !held.has(directory);
    if (owner !== undefined && !isOurs && isRunning(owner)) return owner;
    void meta.put(OWNER_KEY, writeRecord(self));
    return undefined;
  });
  if (holder !== undefined) {
    throw new EngineStorageError(
      'DATA_IN_USE',
      `The data directory ${directory} is in use by process ${holder.pid}.`,
    );
  }
  held.add(directory);
}

/** This process may live on; its claim must not. */
export function release(meta: Database<Buffer, Buffer>, directory: string): void {
  held.delete(directory);
  meta.transactionSync(() => {
    void meta.remove(OWNER_KEY);
  });
}
