/**
 * One process owns a data directory. The claim stands in the database itself and is made inside a write transaction,
 * which LMDB serialises between processes, so two that start at once cannot both win. A claim of a process that is
 * gone counts for nothing: that is how kill -9 leaves no stale lock behind.
 */
import { readFileSync } from 'node:fs';
import type { RootDatabase } from 'lmdb';
import { CasPaxosError } from '../errors.ts';

const OWNER_KEY = 'owner';

interface Owner {
  readonly pid: number;
  /** Distinguishes a process from a later one with the same number. */
  readonly started: string;
}

export function claim(database: RootDatabase<string, string>, directory: string): void {
  const self: Owner = { pid: process.pid, started: startOf(process.pid) ?? '' };
  const holder = database.transactionSync((): Owner | undefined => {
    const text = database.get(OWNER_KEY);
    const owner = text === undefined ? undefined : (JSON.parse(text) as Owner);
    const isOurs = owner?.pid === self.pid && !held.has(directory);
    if (owner !== undefined && !isOurs && isAlive(owner)) return owner;
    void database.put(OWNER_KEY, JSON.stringify(self));
    return undefined;
  });
  if (holder !== undefined) {
    const message = `The data directory ${directory} is in use by process ${holder.pid}.`;
    throw new CasPaxosError('DATA_LOCKED', message);
  }
  held.add(directory);
}

export function release(directory: string): void {
  held.delete(directory);
}

/** Directories that this very process has open. */
const held = new Set<string>();

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
    // A zombie is a process that has ended and only waits for its parent to notice.
    if (fields[0] === 'Z' || fields[0] === 'X') return undefined;
    const ticks = fields[19];
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();
    return `${boot}/${ticks}`;
  } catch {
    return undefined;
  }
}
