/**
 * The final log and the branches that were undone, as one tree. Each epoch has one writer, which took over some log and went on
 * from its end; so every entry has one entry before it, and a place in any log that ever was is a node here. The final log is a
 * *chain*; each undone branch is another, which leaves an older chain at its fork. Where an undone branch forks itself, the
 * higher epoch goes on with the chain: it is the one that lived on, so that one chain is what one failover lost.
 *
 * A version of a document is the entry that wrote it. Lists of versions, for each chain and key, make "the newest version at
 * this place" a binary search.
 */
import { must } from '../../protocol/index.ts';
import { BEFORE_ALL, type LogRow, type Position, positionOrder, type UndoneWrite } from './history.ts';

export interface LogNode extends Position {
  readonly rows: readonly LogRow[];
  readonly chain: LogChain;
}

export interface LogChain {
  readonly isFinal: boolean;
  /** The node it leaves; absent for the final log. */
  readonly fork: LogNode | undefined;
  readonly nodes: LogNode[];
  readonly versions: Map<string, LogNode[]>;
}

export class LogTree {
  readonly final: LogChain = newChain(undefined);
  /** The undone branches, in the order of their first entries. */
  readonly branches: LogChain[] = [];
  /** Undone entries whose place before them is in no log. */
  readonly loose: Position[] = [];
  /** Before the first entry. */
  readonly root: LogNode = { ...BEFORE_ALL, rows: [], chain: this.final };
  readonly #undone = new Map<string, LogNode>();
  readonly #finalByLsn = new Map<number, LogNode>();
  readonly #byValue = new Map<string, LogNode>();

  constructor(log: readonly LogRow[], undone: readonly UndoneWrite[]) {
    for (const rows of groupByPosition(log)) {
      const node = this.#add(this.final, rows);
      this.#finalByLsn.set(node.lsn, node);
    }
    this.#addUndone(undone);
  }

  /** The entry of exactly this name; (0, 0) is the root. */
  entry({ epoch, lsn }: Position): LogNode | undefined {
    if (lsn === 0) return this.root;
    const final = this.#finalByLsn.get(lsn);
    return final?.epoch === epoch ? final : this.#undone.get(`${epoch}:${lsn}`);
  }

  /** The place in a log: the entry itself or, under a later epoch that has not written there, the final log at that LSN. */
  place(position: Position): LogNode | undefined {
    const exact = this.entry(position);
    if (exact !== undefined) return exact;
    const node = this.#finalByLsn.get(position.lsn);
    return node !== undefined && node.epoch <= position.epoch ? node : undefined;
  }

  entryOfValue(value: string): LogNode | undefined {
    return this.#byValue.get(value);
  }

  /** The newest version of the key at this place; the root if there is none. */
  versionAt(key: string, place: LogNode): LogNode {
    for (let at: LogNode | undefined = place; at !== undefined; at = at.chain.fork) {
      const versions = at.chain.versions.get(key);
      if (versions === undefined) continue;
      const index = countUpTo(versions, at);
      if (index > 0) return must(versions[index - 1]);
    }
    return this.root;
  }

  #addUndone(undone: readonly UndoneWrite[]): void {
    const first = new Map<string, UndoneWrite[]>();
    for (const row of undone) {
      const name = `${row.epoch}:${row.lsn}`;
      const known = first.get(name);
      if (known === undefined) first.set(name, [row]);
      else if (known[0]!.region === row.region) known.push(row);
    }
    const entries = [...first.values()]
      .filter((rows) => this.entry(rows[0]!) === undefined)
      .sort((a, b) => positionOrder(a[0]!, b[0]!));
    const byLsn = new Map<number, UndoneWrite[]>();
    for (const [row] of entries) {
      const others = byLsn.get(row!.lsn);
      if (others === undefined) byLsn.set(row!.lsn, [row!]);
      else others.push(row!);
    }
    const parents = new Map(entries.map((rows) => [rows, this.#previousOf(rows[0]!, byLsn)]));
    const heirs = new Map<string, UndoneWrite[]>();
    for (const [rows, parent] of parents) heirs.set(`${parent.epoch}:${parent.lsn}`, rows);
    for (const rows of entries) {
      const parent = this.entry(must(parents.get(rows))) ?? this.root;
      const goesOn = !parent.chain.isFinal && heirs.get(`${parent.epoch}:${parent.lsn}`) === rows;
      const chain = goesOn ? parent.chain : newChain(parent);
      if (!goesOn) this.branches.push(chain);
      this.#add(chain, rows);
    }
  }

  /** Entries come in the order of positions, so of several that follow one entry the last has the highest epoch. */
  #previousOf(row: UndoneWrite, byLsn: ReadonlyMap<number, readonly Position[]>): Position {
    if (row.lsn === 1) return BEFORE_ALL;
    const before = [...(byLsn.get(row.lsn - 1) ?? [])];
    const final = this.#finalByLsn.get(row.lsn - 1);
    if (final !== undefined) before.push(final);
    const isNamed = (candidate: Position) =>
      row.previous === undefined || positionOrder(candidate, row.previous) === 0;
    const possible = before.filter((candidate) => candidate.epoch <= row.epoch && isNamed(candidate));
    if (possible.length === 0) this.loose.push({ epoch: row.epoch, lsn: row.lsn });
    return possible.reduce(
      (best, candidate) => (candidate.epoch > best.epoch ? candidate : best),
      BEFORE_ALL,
    );
  }

  #add(chain: LogChain, rows: readonly LogRow[]): LogNode {
    const { epoch, lsn } = must(rows[0]);
    const node: LogNode = { epoch, lsn, rows, chain };
    chain.nodes.push(node);
    if (!chain.isFinal) this.#undone.set(`${epoch}:${lsn}`, node);
    for (const { key, value } of rows) {
      if (key === undefined) continue;
      const versions = chain.versions.get(key);
      if (versions === undefined) chain.versions.set(key, [node]);
      else if (versions.at(-1) !== node) versions.push(node);
      if (value !== undefined && !this.#byValue.has(value)) this.#byValue.set(value, node);
    }
    return node;
  }
}

export function rowOf(node: LogNode, key: string): LogRow | undefined {
  return node.rows.find((row) => row.key === key);
}

/** Whether this version of the key is the absence of the document. */
export function isAbsence(node: LogNode, key: string): boolean {
  return rowOf(node, key)?.value === undefined;
}

function newChain(fork: LogNode | undefined): LogChain {
  return { isFinal: fork === undefined, fork, nodes: [], versions: new Map() };
}

function groupByPosition(rows: readonly LogRow[]): LogRow[][] {
  const groups: LogRow[][] = [];
  for (const row of rows) {
    const last = groups.at(-1);
    if (last !== undefined && positionOrder(last[0]!, row) === 0) last.push(row);
    else groups.push([row]);
  }
  return groups;
}

/** How many of the sorted nodes are at or before the position. */
export function countUpTo(nodes: readonly LogNode[], position: Position): number {
  let low = 0;
  let high = nodes.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (positionOrder(nodes[middle]!, position) <= 0) low = middle + 1;
    else high = middle;
  }
  return low;
}
