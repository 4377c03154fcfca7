/**
 * One process owns a data directory. The claim stands in the database and is made inside a write transaction, which LMDB
 * lets one process at a time have, so of two that start at once one wins. A claim of a process that is gone counts for
 * nothing: kill -9 leaves no lock behind.
 */
import { readFileSync } from 'node:fs';
import type { Database } from 'lmdb';
import { EngineStorageError } from './errors.ts';
import { readRecord, writeRecord } from './records.ts';

const OWNER_KEY = Buffer.from('owner');

interface Owner {
  readonly pid: number;
  /** Tells a process from a later one with the same number. */
  readonly started: string;
}

/** Directories that this process has open. */
const held = new Set<string>();

export function claim(meta: Database<Buffer, Buffer>, directory: string): void {
  const self: Owner = { pid: process.pid, started: startOf(process.pid) ?? '' };
  const holder = meta.transactionSync((): Owner | undefined => {
    const owner = readRecord<Owner>(meta.get(OWNER_KEY), 'the owner');
    const isOurs = owner?.pid === self.pid && !held.has(directory);
    if (owner !== undefined && !isOurs && isAlive(owner)) return owner;
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

function isAlive(owner: Owner): boolean {
  if (process.platform === 'linux') return startOf(owner.pid) === owner.started;
  try {
    process.kill(owner.pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Linux tells when a process began, in ticks since boot, and which boot it was; elsewhere the number must do. */
function startOf(pid: number): string | undefined {
  if (process.platform !== 'linux') return undefined;
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    // A zombie has ended, and only waits for its parent to notice.
    if (fields[0] === 'Z' || fields[0] === 'X') return undefined;
    return `${readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim()}/${fields[19]}`;
  } catch {
    return undefined;
  }
}
