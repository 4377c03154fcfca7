/**
 * What happened to one partition-set, as somebody sees it who sees everything: the calls of all clients with true times, and
 * every entry that any copy ever took, with the entry that it follows. From the last entry of the healed copies the whole
 * final log is found by going back, also where all copies have trimmed it.
 */
import {
  type ClientOperation,
  type ConsistencyLevel,
  type FeedRecord,
  formatPosition,
  type LogRow,
  type Position,
  type UndoneWrite,
} from '../../check/index.ts';
import {
  type Change,
  type Entry,
  nodeJson,
  parsePartitionKey,
  type UndoneEntry,
} from '../../engine/index.ts';

interface Taken {
  readonly entry: Entry;
  readonly previous: Position;
}

/** A write of which a client was told that it was certainly not carried out, and never will be. */
export interface DeniedWrite {
  readonly client: string;
  readonly operation: string;
  readonly values: readonly (string | undefined)[];
}

export class SetRecorder {
  readonly partitionSet: string;
  readonly level: ConsistencyLevel;
  readonly operations: ClientOperation[] = [];
  readonly feeds: FeedRecord[] = [];
  /** What is wrong with the logs themselves. */
  readonly wrongs: string[] = [];
  readonly notApplied: DeniedWrite[] = [];
  readonly #entries = new Map<string, Taken>();
  readonly #values = new WeakMap<Entry, readonly LogRow[]>();
  quietFrom: number | undefined;
  #calls = 0;

  constructor(partitionSet: string, level: ConsistencyLevel) {
    this.partitionSet = partitionSet;
    this.level = level;
  }

  nextId(): string {
    this.#calls += 1;
    return `c${this.#calls}`;
  }

  get acknowledged(): number {
    const names = new Set<string>();
    for (const operation of this.operations)
      if (operation.kind !== 'read' && operation.outcome === 'ok') names.add(operation.operation);
    return names.size;
  }

  /** A copy takes entries on top of that one. Who takes an entry first is its writer. */
  took(region: string, tail: Position, entries: readonly Entry[]): void {
    let previous: Position = { epoch: tail.epoch, lsn: tail.lsn };
    for (const entry of entries) {
      const name = formatPosition(entry);
      const known = this.#entries.get(name);
      if (known === undefined) this.#entries.set(name, { entry, previous });
      else if (!isPartOf(this.rowsOf(entry), this.rowsOf(known.entry)))
        this.wrongs.push(`${region} has another entry ${name} than its writer`);
      previous = { epoch: entry.epoch, lsn: entry.lsn };
    }
  }

  /** The log that ends there, from its beginning. */
  logUpTo(tail: Position): readonly LogRow[] {
    const entries: Entry[] = [];
    for (let at = tail; at.lsn > 0;) {
      const taken = this.#entries.get(formatPosition(at));
      if (taken === undefined) {
        this.wrongs.push(`nobody ever took the entry ${formatPosition(at)} of the final log`);
        break;
      }
      entries.push(taken.entry);
      at = taken.previous;
    }
    return entries.reverse().flatMap((entry) => this.rowsOf(entry));
  }

  /** Of the writes that were reported as not applied, those that some copy has taken into its log all the same. */
  brokenDenials(): readonly string[] {
    if (this.notApplied.length === 0) return [];
    const taken = new Map<string, Position>();
    for (const { entry } of this.#entries.values()) {
      if (entry.operation !== undefined) taken.set(`operation ${entry.operation}`, entry);
      for (const { value } of this.rowsOf(entry)) if (value !== undefined) taken.set(`value ${value}`, entry);
    }
    return this.notApplied.flatMap(({ client, operation, values }) => {
      const names = [`operation ${operation}`, ...values.map((value) => `value ${value}`)];
      const at = names.map((name) => taken.get(name)).find((position) => position !== undefined);
      if (at === undefined) return [];
      return [
        `${client} was told that ${operation} was not applied, and it is the entry ${formatPosition(at)}`,
      ];
    });
  }

  undoneRows(region: string, undone: Iterable<UndoneEntry>): readonly UndoneWrite[] {
    return [...undone].flatMap(({ entry, closed }) => {
      const previous = this.#entries.get(formatPosition(entry))?.previous;
      return this.rowsOf(entry).map((row) => ({ ...row, region, previous, closed: closed !== undefined }));
    });
  }

  rowsOf(entry: Entry): readonly LogRow[] {
    const known = this.#values.get(entry);
    if (known !== undefined) return known;
    const { epoch, lsn, operation, changes } = entry;
    const rows =
      changes.length === 0
        ? [{ epoch, lsn }]
        : changes.map((change) => ({ epoch, lsn, key: keyOf(change), value: valueOf(change), operation }));
    this.#values.set(entry, rows);
    return rows;
  }
}

/** The name of a document for the checkers. */
export function keyOf({ partitionKey, id }: Pick<Change, 'partitionKey' | 'id'>): string {
  return `${String(parsePartitionKey(partitionKey)?.[0])}/${id}`;
}

export function valueOf({ body }: Pick<Change, 'body'>): string | undefined {
  return body === undefined ? undefined : (nodeJson.parse(body) as { readonly value: string }).value;
}

/** A full copy leaves out of a batch what was changed since. */
function isPartOf(part: readonly LogRow[], whole: readonly LogRow[]): boolean {
  return part.every(
    ({ key, value, operation }) =>
      key === undefined ||
      whole.some((row) => row.key === key && row.value === value && row.operation === operation),
  );
}
