/**
 * Lost writes: what a region had taken and history does not contain. At Strong they were never acknowledged, unless a disk was lost or an
 * operator accepted it, and then they say so (`committed`); at weaker levels a failover without warning can cost the last ones. They are kept where they were undone until somebody has looked at them:
 * listed, exported as lines of JSON, and written once more if that is wanted.
 */
import {
  epochAt,
  etagOf,
  type Operation,
  parsePartitionKey,
  type ProgressTable,
  type UndoneEntry,
  type WriteRequest,
} from './core/index.ts';

export interface LostWrite {
  readonly epoch: number;
  readonly lsn: number;
  /** When it was written, and when it was undone. */
  readonly writtenAt: string;
  readonly undoneAt: string;
  /** The copy that undid it knew it to be globally committed: it had been acknowledged. */
  readonly committed?: true;
  readonly closed?: NonNullable<UndoneEntry['closed']>;
  readonly documents: readonly LostDocument[];
}

export interface LostDocument {
  readonly id: string;
  readonly partitionKey: unknown;
  /** Absent: it was deleted. */
  readonly body?: unknown;
}

/** As people see it. */
export function lostWrite({ entry, undoneAt, committed, closed }: UndoneEntry): LostWrite {
  const { epoch, lsn, at, changes } = entry;
  return {
    epoch,
    lsn,
    writtenAt: new Date(at).toISOString(),
    undoneAt: new Date(undoneAt).toISOString(),
    ...(committed === true && { committed }),
    ...(closed !== undefined && { closed }),
    documents: changes.map(({ id, partitionKey, body }) => ({
      id,
      partitionKey: JSON.parse(partitionKey) as unknown,
      ...(body !== undefined && { body: JSON.parse(Buffer.from(body).toString()) as unknown }),
    })),
  };
}

/** One line of JSON for each. */
export function* exportLostWrites(undone: Iterable<UndoneEntry>): Generator<string> {
  for (const one of undone) yield `${JSON.stringify(lostWrite(one))}\n`;
}

/**
 * The requests that write it once more, one for each document. Unless `force`d, a document that was changed since is left
 * alone: the request is refused with 409 or 412. However often they are sent, they are carried out once.
 */
export function rewriting(
  { entry }: UndoneEntry,
  table: ProgressTable,
  force: boolean,
): readonly WriteRequest[] {
  return entry.changes.map(({ id, partitionKey, body, previous }, index) => {
    const key = parsePartitionKey(partitionKey);
    if (key === undefined) throw new Error(`an entry with the partition key ${partitionKey}`);
    const ifMatch = etagOf({ epoch: epochAt(table, previous), lsn: previous });
    const condition = force || previous === 0 ? {} : { ifMatch };
    let operation: Operation;
    if (body === undefined) operation = { op: 'delete', id, ...condition };
    else if (force) operation = { op: 'upsert', body };
    else if (previous === 0) operation = { op: 'create', body };
    else operation = { op: 'replace', id, body, ...condition };
    const name = `lost-${entry.epoch.toString(36)}-${entry.lsn.toString(36)}-${index}${force ? '-f' : ''}`;
    return { partitionKey: key, operations: [operation], operation: name };
  });
}
