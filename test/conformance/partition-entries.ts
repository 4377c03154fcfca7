/** Entries for tests of partition stores. */
import { createHash } from 'node:crypto';
import type { Change, Entry } from 'baton/engine';

export function epkOf(text: string): string {
  return createHash('md5')
    .update(text)
    .digest('hex')
    .toUpperCase()
    .replace(/^[C-F]/, '0');
}

interface ChangeOptions {
  readonly previous?: number;
  readonly ttl?: number;
  /** What the effective partition key is made of; the id, unless told. */
  readonly epk?: string;
}

export function put(id: string, value: unknown = 'x', options: ChangeOptions = {}): Change {
  const { previous = 0, ttl, epk = id } = options;
  return {
    epk: epkOf(epk),
    id,
    partitionKey: JSON.stringify([epk]),
    body: Buffer.from(JSON.stringify(value)),
    createdLsn: 0,
    previous,
    ...(ttl !== undefined && { ttl }),
  };
}

export function remove(id: string, previous: number, epk = id): Change {
  return { epk: epkOf(epk), id, partitionKey: JSON.stringify([epk]), createdLsn: 0, previous };
}

export function entryOf(
  epoch: number,
  lsn: number,
  changes: readonly Change[],
  options: { readonly operation?: string; readonly at?: number } = {},
): Entry {
  const { operation, at = 1_700_000_000_000 + lsn } = options;
  const statuses = changes.map(() => 201);
  return { epoch, lsn, at, statuses, changes, ...(operation !== undefined && { operation }) };
}

export function bodyText(version: { readonly body?: Uint8Array } | undefined): string | undefined {
  return version?.body && Buffer.from(version.body).toString();
}
