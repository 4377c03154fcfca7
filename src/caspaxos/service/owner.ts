/**
 * One process owns a data directory. The claim stands in the database itself and is made inside a write transaction,
 * which LMDB serialises between processes, so two that start at once cannot both win. A claim of a process that is
 * gone counts for nothing: that is how kill -9 leaves no stale lock behind.
 */
import type { RootDatabase } from 'lmdb';
import { CasPaxosError } from '../errors.ts';
import { isRunning, type ProcessName, thisProcess } from '../process-name.ts';

const OWNER_KEY = 'owner';

export function claim(database: RootDatabase<string, string>, directory: string): void {
  const self = thisProcess();
  const holder = database.transactionSync((): ProcessName | undefined => {
    const text = database.get(OWNER_KEY);
    const owner = text === undefined ? undefined : (JSON.parse(text) as ProcessName);
    const isOurs = owner?.pid === self.pid && !held.has(directory);
    if (owner !== undefined && !isOurs && isRunning(owner)) return owner;
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
