/**
 * Documents in the order of their effective partition keys and ids, at one moment: as they were at the GCLSN. The store knows
 * the newest versions; the few documents that were changed behind the GCLSN are taken from the log and put in their place.
 */
import { type DocumentKey, keyText, type Version } from '../model.ts';
import type { ScanOptions } from '../store.ts';
import type { PartitionStateMachine } from './partition.ts';

/** How much of the log is looked at in one step. */
const STEP_BYTES = 1024 * 1024;

/** Up to `limit` documents; fewer: there are no more. `compare`: as the store orders ids. */
export function scanAt(
  { store }: PartitionStateMachine,
  options: ScanOptions,
  lsn: number,
  compare: (a: DocumentKey, b: DocumentKey) => number,
): readonly Version[] {
  const changed = new Map<string, Version | undefined>();
  for (let at = lsn; at < store.tail.lsn;) {
    const entries = store.entriesAfter(at, STEP_BYTES);
    if (entries.length === 0) break;
    for (const entry of entries) {
      for (const change of entry.changes) {
        const key = keyText(change);
        if (!changed.has(key)) changed.set(key, versionBefore(store, change, lsn));
      }
    }
    at = entries.at(-1)!.lsn;
  }
  // As many more as could turn out to be too new.
  const found = store.scan({ ...options, limit: options.limit + changed.size });
  const isFull = found.length === options.limit + changed.size;
  const last = found.at(-1);
  const committed = found.filter((version) => !changed.has(keyText(version)));
  const instead = [...changed.values()].filter(
    (version): version is Version =>
      version?.body !== undefined &&
      isIn(version, options, compare) &&
      !(isFull && last !== undefined && compare(version, last) > 0),
  );
  if (instead.length === 0) return committed.slice(0, options.limit);
  return [...committed, ...instead].sort(compare).slice(0, options.limit);
}

/** The version of a document that was there at that LSN, from the first change behind it. */
function versionBefore(
  store: PartitionStateMachine['store'],
  change: DocumentKey & { readonly previous: number },
  lsn: number,
): Version | undefined {
  let previous = change.previous;
  while (previous > lsn) previous = store.version(change, previous)?.previous ?? 0;
  return previous === 0 ? undefined : store.version(change, previous);
}

function isIn(
  key: DocumentKey,
  { from, to, after }: ScanOptions,
  compare: (a: DocumentKey, b: DocumentKey) => number,
): boolean {
  return key.epk >= from && key.epk < to && (after === undefined || compare(key, after) > 0);
}
