/**
 * What the answer to a write shows, if its client wants to see it: for each operation the item as that operation left it, with the
 * etag and the time of the entry. A client knows what it sent; so a version whose body is the very one of the operation is
 * shown without it.
 *
 * An answer has a bound: what a batch reads may be a hundred large items. Those that do not fit are not shown.
 *
 * A write that is repeated gets the answer of the entry that it made the first time: what the items were then, whatever has become of
 * them since. An entry holds one version of an item, so operations of one batch that touched the same item all show its last one.
 */
import type { Answer } from '../documents/evaluate.ts';
import type { JsonCodec, Operation, WriteRequest } from '../documents/request.ts';
import { versionIn } from '../documents/versions.ts';
import type { Entry, Version } from '../model.ts';

/**
 * `undefined`: the operation shows nothing; it deleted the item, or failed, or there is no room for it. A version without a body: its body is what the operation
 * carried.
 */
export type ShownVersion = Version | undefined;

/** Bytes of bodies: two of the largest items always fit. */
const MOST_BYTES = 4 * 1024 * 1024;

/** `entry` is the one that was made; none: nothing was changed. */
export function shownBy(
  results: readonly Answer[],
  { operations }: WriteRequest,
  entry: Entry | undefined,
): readonly ShownVersion[] {
  return fitting(
    results.map(({ shows }, at) => {
      if (shows === undefined) return undefined;
      if (shows.from === 'log') return shows.version;
      if (entry === undefined) return undefined;
      const version = versionIn(entry, shows.change);
      if (version.body !== sentBy(operations[at])) return version;
      const { body: _, ...asSent } = version;
      return asSent;
    }),
  );
}

function fitting(shown: readonly ShownVersion[]): readonly ShownVersion[] {
  let bytes = 0;
  return shown.map((version) => {
    bytes += version?.body?.length ?? 0;
    return bytes <= MOST_BYTES ? version : undefined;
  });
}

/** Of a write that had been carried out before. */
export function shownInEntry(
  entry: Entry,
  { operations }: WriteRequest,
  json: JsonCodec,
): readonly ShownVersion[] {
  return fitting(
    operations.map((operation) => {
      const id = 'id' in operation ? operation.id : idIn(operation.body, json);
      const change = entry.changes.find((one) => one.id === id);
      return change?.body === undefined || operation.op === 'delete' ? undefined : versionIn(entry, change);
    }),
  );
}

function sentBy(operation: Operation | undefined): Uint8Array | undefined {
  return operation !== undefined && 'body' in operation ? operation.body : undefined;
}

function idIn(body: Uint8Array, json: JsonCodec): unknown {
  try {
    return (json.parse(body) as { readonly id?: unknown } | null)?.id;
  } catch {
    return undefined;
  }
}
