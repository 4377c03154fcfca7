/**
 * A record made ready for the checkers: the tree of logs, the attempts of each write put together, and for each read the version
 * it saw. Attempts of one operation on one document are one write: it starts with the first attempt that was not refused, and
 * has ended when the first acknowledgement came.
 *
 * `seesAtLeast` is the word in which the levels are stated: a read sees at least a position if some place in some log at or after
 * that position shows what was read. With a snapshot told, that is the snapshot itself. Without one the read gets the benefit
 * of the doubt: a read that misses an undone write may come from the log that lacks it.
 */
import {
  type ClientOperation,
  type ClientRead,
  type ClientWrite,
  type LogRow,
  type Position,
  positionOrder,
  type RunRecord,
  samePosition,
} from './history.ts';
import { countUpTo, isAbsence, type LogChain, type LogNode, LogTree, rowOf } from './log-tree.ts';

export interface LogicalWrite {
  readonly operation: string;
  readonly key: string;
  readonly value: string | undefined;
  readonly attempts: ClientWrite[];
  /** Of the first attempt that may have been applied; infinite if all failed. */
  start: number;
  /** When the first acknowledgement came; infinite if none did. */
  end: number;
  /** Its entry in the final log. */
  node: LogNode | undefined;
}

export interface ResolvedRead {
  readonly read: ClientRead;
  /**
   * The version that was read, the root for a document never written; `absent`: no document, and nobody says since when;
   * `nowhere`: it is in no log with that key and value.
   */
  readonly version: LogNode | 'absent' | 'nowhere';
}

export class Evidence {
  readonly record: RunRecord;
  readonly tree: LogTree;
  readonly writes: readonly LogicalWrite[];
  /** The answered reads. */
  readonly reads: readonly ResolvedRead[];
  /** A batch is one operation on several documents. */
  readonly #byOperation = new Map<string, LogicalWrite[]>();
  /** By answer and by value, for logs that do not name operations. */
  #nameless: ReadonlyMap<string, LogicalWrite> | undefined;
  readonly #lastAbsence = new Map<LogChain, Map<string, LogNode | undefined>>();

  constructor(record: RunRecord) {
    this.record = record;
    this.tree = new LogTree(record.log, record.undone);
    for (const operation of record.operations) if (operation.kind !== 'read') this.#addAttempt(operation);
    this.writes = [...this.#byOperation.values()].flat();
    for (const node of this.tree.final.nodes) {
      for (const row of node.rows) {
        const write = this.originOf(row);
        if (write !== undefined) write.node ??= node;
      }
    }
    this.reads = record.operations.flatMap((read) =>
      read.kind === 'read' && read.outcome === 'ok' ? [{ read, version: this.#resolve(read) }] : [],
    );
  }

  /** The write that made this row of a log. */
  originOf(row: LogRow): LogicalWrite | undefined {
    if (row.key === undefined) return undefined;
    if (row.operation !== undefined) {
      return this.#byOperation.get(row.operation)?.find(({ key }) => key === row.key);
    }
    this.#nameless ??= namelessly(this.writes);
    const byAnswer = this.#nameless.get(`at ${row.epoch}:${row.lsn} ${row.key}`);
    return byAnswer ?? (row.value === undefined ? undefined : this.#nameless.get(`value ${row.value}`));
  }

  /** The write that made the version of the key. */
  writerOf(version: LogNode, key: string): LogicalWrite | undefined {
    const row = rowOf(version, key);
    return row && this.originOf(row);
  }

  seesAtLeast({ read, version }: ResolvedRead, floor: Position): boolean {
    if (read.snapshot !== undefined) return positionOrder(read.snapshot, floor) >= 0;
    if (version === 'nowhere') return true;
    if (version === 'absent') return this.#mayBeAbsent(read.key, floor);
    if (positionOrder(version, floor) >= 0) return true;
    return this.#someLogFrom(floor, (place) => this.tree.versionAt(read.key, place) === version);
  }

  /**
   * Whether the first place at or after the floor in some log will do. A floor that the final log does not have was undone by a
   * later epoch; the final log at the entry before it, under that epoch, is after it.
   */
  #someLogFrom(floor: Position, willDo: (place: LogNode) => boolean): boolean {
    const { final, branches, root } = this.tree;
    if (willDo(final.nodes[countUpTo(final.nodes, floor) - 1] ?? root)) return true;
    return branches.some((branch) => {
      const place = firstFrom(branch, floor);
      return place !== undefined && willDo(place);
    });
  }

  #addAttempt(attempt: ClientWrite): void {
    const { operation, key, value } = attempt;
    let writes = this.#byOperation.get(operation);
    if (writes === undefined) this.#byOperation.set(operation, (writes = []));
    let write = writes.find((one) => one.key === key);
    if (write === undefined) {
      write = { operation, key, value, attempts: [], start: Infinity, end: Infinity, node: undefined };
      writes.push(write);
    }
    write.attempts.push(attempt);
    if (attempt.outcome !== 'failed') write.start = Math.min(write.start, attempt.start);
    if (attempt.outcome === 'ok') write.end = Math.min(write.end, attempt.end ?? Infinity);
  }

  #resolve(read: ClientRead): ResolvedRead['version'] {
    const { key, value, version, snapshot } = read;
    let node: LogNode | undefined;
    if (version !== undefined) node = this.tree.entry(version);
    else if (value !== undefined) node = this.tree.entryOfValue(value);
    else {
      const place = snapshot && this.tree.place(snapshot);
      const newest = place && this.tree.versionAt(key, place);
      return newest !== undefined && isAbsence(newest, key) ? newest : 'absent';
    }
    if (node === undefined) return 'nowhere';
    if (node === this.tree.root) return value === undefined ? node : 'nowhere';
    const row = rowOf(node, key);
    return row !== undefined && row.value === value ? node : 'nowhere';
  }

  #mayBeAbsent(key: string, floor: Position): boolean {
    return this.#someLogFrom(floor, (place) => {
      if (isAbsence(this.tree.versionAt(key, place), key)) return true;
      const last = this.#lastAbsenceOf(key, place.chain);
      return last !== undefined && positionOrder(last, place) >= 0;
    });
  }

  #lastAbsenceOf(key: string, chain: LogChain): LogNode | undefined {
    let ofChain = this.#lastAbsence.get(chain);
    if (ofChain === undefined) this.#lastAbsence.set(chain, (ofChain = new Map()));
    if (!ofChain.has(key)) {
      ofChain.set(
        key,
        chain.versions.get(key)?.findLast((version) => isAbsence(version, key)),
      );
    }
    return ofChain.get(key);
  }
}

function namelessly(writes: readonly LogicalWrite[]): ReadonlyMap<string, LogicalWrite> {
  const names = new Map<string, LogicalWrite>();
  for (const write of writes) {
    if (write.value !== undefined) names.set(`value ${write.value}`, write);
    for (const { position } of write.attempts) {
      if (position !== undefined) names.set(`at ${position.epoch}:${position.lsn} ${write.key}`, write);
    }
  }
  return names;
}

function firstFrom({ nodes }: LogChain, floor: Position): LogNode | undefined {
  const upTo = countUpTo(nodes, floor);
  const last = nodes[upTo - 1];
  return last !== undefined && samePosition(last, floor) ? last : nodes[upTo];
}

export interface FrontierItem {
  readonly time: number;
  readonly position: Position;
  readonly by: ClientOperation;
}

/** What was known at a time: of all items before it, the one of the highest position. */
export class Frontier {
  readonly #times: number[] = [];
  readonly #highest: FrontierItem[] = [];

  constructor(items: readonly FrontierItem[]) {
    let highest: FrontierItem | undefined;
    for (const item of items.toSorted((a, b) => a.time - b.time)) {
      if (highest === undefined || positionOrder(item.position, highest.position) > 0) highest = item;
      this.#times.push(item.time);
      this.#highest.push(highest);
    }
  }

  before(time: number): FrontierItem | undefined {
    let low = 0;
    let high = this.#times.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#times[middle]! < time) low = middle + 1;
      else high = middle;
    }
    return low === 0 ? undefined : this.#highest[low - 1];
  }
}

/** Where the row stands in the final log: at exactly its position, with its content. */
export function isInFinalLog(tree: LogTree, row: LogRow): boolean {
  const node = tree.entry(row);
  if (node === undefined || !node.chain.isFinal || row.key === undefined) return node?.chain.isFinal ?? false;
  const there = rowOf(node, row.key);
  return there !== undefined && there.value === row.value && samePosition(node, row);
}
