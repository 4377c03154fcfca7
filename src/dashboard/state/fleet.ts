/**
 * The fleet as the page knows it: what all nodes say, put together. Every node speaks for itself alone. Of a partition-set the
 * register is the same for all, so the row with the highest (GCN, step) says what it holds; whether a region can write is known
 * to that region's node only, and to nobody while its stream is broken. Hence the three answers to "who can write now": a
 * region, nobody, or unknown as long as a node has not been reached for the first time.
 */
import type { SetRow } from '../api.ts';

/** No region can write, or it is not known yet. */
export const NOBODY = -1;
export const UNKNOWN = -2;

export interface FleetSet {
  /** Its place in `Fleet.sets`, for as long as it lives. */
  readonly index: number;
  readonly name: string;
  readonly container: string;
  gcn: number;
  step: number;
  phase: string;
  /** As the register has it: it may be dead. */
  writer: string | null;
  cause: string;
  target: string | null;
  pin: string | null;
  leaseSet: readonly string[];
  /** The region that can write now, by its number; NOBODY; UNKNOWN. */
  writable: number;
  /** The GCN under which a region could write last. */
  writtenUnder: number;
  /** By region number: what its node said last, unless its stream is broken. */
  readonly rows: (SetRow | undefined)[];
  readonly nodes: (string | undefined)[];
}

export type Link = 'connecting' | 'live' | 'lost';

interface FleetNode {
  readonly region: number;
  link: Link;
  readonly sets: Set<FleetSet>;
}

export interface FleetWatcher {
  /** `writable` has changed; `before` is what it was, and `writtenUnder` still belongs to it. */
  moved(set: FleetSet, before: number, now: number): void;
  /** The GCN has been raised. */
  raised(set: FleetSet, now: number): void;
  /** The partition-set was deleted. */
  removed(set: FleetSet): void;
}

export interface FleetCounts {
  total: number;
  /** By region number. */
  readonly writable: number[];
  nobody: number;
  unknown: number;
  /** Between two write regions, by plan or not. */
  moving: number;
}

export class Fleet {
  /** Holes are partition-sets that are gone. */
  readonly sets: (FleetSet | undefined)[] = [];
  readonly regions: string[] = [];
  readonly counts: FleetCounts = { total: 0, writable: [], nobody: 0, unknown: 0, moving: 0 };
  /** Raised when partition-sets come or go: what is drawn has to be laid out anew. */
  shape = 0;
  /** Those that look different since somebody last looked and cleared it. */
  readonly changed = new Set<number>();
  readonly #byName = new Map<string, FleetSet>();
  readonly #nodes = new Map<string, FleetNode>();
  readonly #watcher: FleetWatcher;

  constructor(watcher: FleetWatcher) {
    this.#watcher = watcher;
  }

  regionNumber(name: string): number {
    const known = this.regions.indexOf(name);
    if (known !== -1) return known;
    this.counts.writable.push(0);
    return this.regions.push(name) - 1;
  }

  find(name: string): FleetSet | undefined {
    return this.#byName.get(name);
  }

  linkOf(node: string): Link {
    return this.#nodes.get(node)?.link ?? 'connecting';
  }

  /** Some node has not been reached, and has not failed either: nothing can be said of what it alone knows. */
  get isSettled(): boolean {
    return [...this.#nodes.values()].every(({ link }) => link !== 'connecting');
  }

  get isOnline(): boolean {
    return [...this.#nodes.values()].some(({ link }) => link === 'live');
  }

  addNode(node: string, region: string): void {
    if (this.#nodes.has(node)) return;
    this.#nodes.set(node, { region: this.regionNumber(region), link: 'connecting', sets: new Set() });
  }

  connected(node: string): void {
    this.#node(node).link = 'live';
  }

  /** What it said is not true any more, except of the register, which others will tell. */
  lost(node: string, now: number): void {
    const known = this.#node(node);
    const wasFirst = known.link === 'connecting';
    known.link = 'lost';
    const touched = wasFirst ? this.sets : [...known.sets];
    for (const set of known.sets) set.rows[known.region] = undefined;
    known.sets.clear();
    for (const set of touched) if (set !== undefined) this.#decide(set, now);
  }

  /** `isWhole`: what it does not speak of, it does not have any more. */
  apply(node: string, rows: readonly SetRow[], now: number, isWhole = false): void {
    const known = this.#node(node);
    if (isWhole) {
      const spoken = new Set(rows.map(([name]) => name));
      this.gone(
        node,
        [...known.sets].filter(({ name }) => !spoken.has(name)).map(({ name }) => name),
      );
    }
    for (const row of rows) this.#applyRow(node, known, row, now);
    if (isWhole) this.#sweep();
  }

  gone(node: string, names: readonly string[]): void {
    const known = this.#node(node);
    for (const name of names) {
      const set = this.#byName.get(name);
      if (set === undefined) continue;
      known.sets.delete(set);
      set.rows[known.region] = undefined;
      if (set.rows.every((row) => row === undefined)) this.#remove(set);
    }
  }

  /** Those that nobody speaks of any more, once everybody has spoken: they were deleted while the page was away. */
  #sweep(): void {
    if ([...this.#nodes.values()].some(({ link }) => link !== 'live')) return;
    for (const set of this.sets) {
      if (set?.rows.every((row) => row === undefined) === true) this.#remove(set);
    }
  }

  #node(name: string): FleetNode {
    const node = this.#nodes.get(name);
    if (node === undefined) throw new Error(`node ${name} was not added`);
    return node;
  }

  #applyRow(nodeName: string, node: FleetNode, row: SetRow, now: number): void {
    const gcn = row[2];
    const set = this.#byName.get(row[0]) ?? this.#create(row[0], row[1]);
    if (set.rows[node.region] === undefined || set.nodes[node.region] !== nodeName) node.sets.add(set);
    set.rows[node.region] = row;
    set.nodes[node.region] = nodeName;
    const isRaised = gcn > set.gcn && set.gcn > 0;
    if (gcn > set.gcn || (gcn === set.gcn && row[9] >= set.step)) this.#learn(set, row);
    if (isRaised) this.#watcher.raised(set, now);
    this.#decide(set, now);
  }

  /** Field by field: this runs thousands of times a second when a region dies. */
  #learn(set: FleetSet, row: SetRow): void {
    const wasMoving = isMoving(set);
    set.gcn = row[2];
    set.phase = row[3];
    set.writer = row[4];
    set.leaseSet = row[7];
    set.cause = row[8];
    set.step = row[9];
    set.target = row[10];
    set.pin = row[11];
    if (isMoving(set) === wasMoving) return;
    this.counts.moving += wasMoving ? -1 : 1;
    this.changed.add(set.index);
  }

  #decide(set: FleetSet, now: number): void {
    const after = this.#writableOf(set);
    if (after !== set.writable) this.#move(set, after, now);
    if (after >= 0) set.writtenUnder = set.gcn;
  }

  #move(set: FleetSet, after: number, now: number): void {
    const before = set.writable;
    this.#count(before, -1);
    this.#count(after, 1);
    set.writable = after;
    this.changed.add(set.index);
    this.#watcher.moved(set, before, now);
  }

  /** Who says so under an earlier GCN than the register's has not heard yet, or cannot: it is frozen, and the others have moved on. */
  #writableOf(set: FleetSet): number {
    for (let region = 0; region < set.rows.length; region += 1) {
      const row = set.rows[region];
      if (row !== undefined && row[5] === 1 && row[2] === set.gcn) return region;
    }
    return set.writer !== null && this.#isUnheard(set.writer) ? UNKNOWN : NOBODY;
  }

  /** No node of the region has been reached yet, nor found dead. */
  #isUnheard(region: string): boolean {
    const number = this.regions.indexOf(region);
    for (const node of this.#nodes.values()) {
      if (node.region === number && node.link === 'connecting') return true;
    }
    return false;
  }

  #count(writable: number, by: number): void {
    if (writable === NOBODY) this.counts.nobody += by;
    else if (writable === UNKNOWN) this.counts.unknown += by;
    else this.counts.writable[writable]! += by;
  }

  #create(name: string, container: string): FleetSet {
    const set: FleetSet = {
      index: this.sets.length,
      name,
      container,
      gcn: 0,
      step: 0,
      phase: 'Steady',
      writer: null,
      cause: 'creation',
      target: null,
      pin: null,
      leaseSet: [],
      writable: UNKNOWN,
      writtenUnder: 0,
      rows: [],
      nodes: [],
    };
    this.sets.push(set);
    this.#byName.set(name, set);
    this.counts.total += 1;
    this.counts.unknown += 1;
    this.shape += 1;
    return set;
  }

  #remove(set: FleetSet): void {
    this.sets[set.index] = undefined;
    this.#byName.delete(set.name);
    this.counts.total -= 1;
    this.counts.moving -= Number(isMoving(set));
    this.#count(set.writable, -1);
    this.shape += 1;
    for (const { sets } of this.#nodes.values()) sets.delete(set);
    this.#watcher.removed(set);
  }
}

export function isMoving({ phase }: Pick<FleetSet, 'phase'>): boolean {
  return phase === 'Graceful' || phase === 'Ungraceful';
}
