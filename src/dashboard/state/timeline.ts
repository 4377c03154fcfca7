/**
 * What happened, in words. Every node tells the changes that it saw, so the same one arrives several times; it is known by what
 * it says. When a region dies, thousands of partition-sets do the same within moments: such changes are one line here.
 */
import type { HistoryEntry } from '../api.ts';

export interface ChangeGroup {
  readonly id: number;
  readonly what: string;
  readonly cause: string;
  /** The region that the sentence is about: the one that stopped being the write region, or the one that becomes it. */
  readonly region: string | null;
  /** The first and the last of them. */
  readonly fromMs: number;
  readonly untilMs: number;
  /** As they came. */
  readonly changes: readonly HistoryEntry[];
}

export type Tone = 'loss' | 'gain' | 'plan' | 'note';

const KEPT = 30_000;
/** Of the same kind and no further apart than this, they are one. */
const TOGETHER_MS = 1000;

interface Growing extends ChangeGroup {
  fromMs: number;
  untilMs: number;
  readonly changes: HistoryEntry[];
}

/** Changes come in any order, and in thousands: each is put where it belongs, and nothing is sorted but the groups. */
export class Timeline {
  readonly #known = new Set<string>();
  /** By kind, in no order. */
  readonly #byKind = new Map<string, Growing[]>();
  #groups: readonly ChangeGroup[] | undefined;
  #kept = 0;
  #nextId = 1;
  /** Rises when something was added. */
  count = 0;

  add(entries: readonly HistoryEntry[]): void {
    for (const entry of entries) {
      const key = keyOf(entry);
      if (this.#known.has(key)) continue;
      this.#known.add(key);
      this.#place(entry);
      this.count += 1;
      this.#kept += 1;
      this.#groups = undefined;
    }
    if (this.#kept > KEPT) this.#forget();
  }

  /** The latest first. */
  get groups(): readonly ChangeGroup[] {
    this.#groups ??= [...this.#byKind.values()]
      .flat()
      .sort((a, b) => b.untilMs - a.untilMs || b.fromMs - a.fromMs || b.id - a.id);
    return this.#groups;
  }

  #place(entry: HistoryEntry): void {
    const { what, cause, at } = entry;
    const region = regionOf(entry);
    const kind = `${what} ${cause} ${region}`;
    const groups = this.#byKind.get(kind) ?? [];
    this.#byKind.set(kind, groups);
    const near = groups.filter(
      ({ fromMs, untilMs }) => at >= fromMs - TOGETHER_MS && at <= untilMs + TOGETHER_MS,
    );
    const [home, other] = near;
    if (home === undefined) {
      groups.push({ id: this.#nextId++, what, cause, region, fromMs: at, untilMs: at, changes: [entry] });
      return;
    }
    home.changes.push(entry);
    home.fromMs = Math.min(home.fromMs, at);
    home.untilMs = Math.max(home.untilMs, at);
    // It lies between two that were apart without it.
    if (other !== undefined) this.#join(groups, home, other);
  }

  #join(groups: Growing[], home: Growing, other: Growing): void {
    home.changes.push(...other.changes);
    home.fromMs = Math.min(home.fromMs, other.fromMs);
    home.untilMs = Math.max(home.untilMs, other.untilMs);
    groups.splice(groups.indexOf(other), 1);
  }

  /** The oldest half; a node repeats only what is young. */
  #forget(): void {
    let kept = 0;
    const staying = this.groups.filter(
      ({ changes }) => (kept += changes.length) <= KEPT / 2 || kept === changes.length,
    );
    this.#byKind.clear();
    this.#known.clear();
    this.#kept = 0;
    for (const { changes } of staying) {
      for (const change of changes) {
        this.#known.add(keyOf(change));
        this.#place(change);
      }
      this.#kept += changes.length;
    }
    this.#groups = undefined;
  }
}

function keyOf({ partitionSet, at, what, gcn, fromGcn }: HistoryEntry): string {
  return `${partitionSet} ${at} ${what} ${gcn} ${fromGcn}`;
}

/** The loss of the writes is told of the old write region, everything else of the new one. */
function regionOf({ what, from, to }: HistoryEntry): string | null {
  return what === 'raised' ? from : to;
}

const LOST: Readonly<Record<string, string>> = {
  silence: 'its lease expired without a renewal',
  unable: 'it cannot commit writes and asked to be replaced',
  stop: 'it is being stopped',
  signal: 'a health signal requested it',
  forced: 'an operator forced it',
};

const PLANNED: Readonly<Record<string, string>> = {
  priority: 'it is preferred and healthy again',
  operator: 'an operator requested it',
  signal: 'a health signal requested a move away from the current region',
  leaving: 'the current region is being removed',
};

const CAUSE: Readonly<Record<string, string>> = {
  creation: 'the partition-set was created',
  silence: 'the write region stopped responding',
  unable: 'the write region could not commit',
  stop: 'the write region was stopped',
  signal: 'a health signal requested it',
  forced: 'an operator forced it',
  switch: 'a planned move completed',
};

/** Goes on after "because". */
export function causeInWords(cause: string): string {
  return CAUSE[cause] ?? cause;
}

/** Names neither partition-sets nor times: the page shows those beside it. */
export function headline({ what, region }: Pick<ChangeGroup, 'what' | 'region'>): string {
  const where = region ?? 'no region';
  switch (what) {
    case 'raised':
      return region === null ? 'The election restarted' : `${where} is no longer the write region`;
    case 'elected':
      return `${where} was elected write region`;
    case 'began':
      return `Planned move to ${where} started`;
    case 'switched':
      return `Writes moved to ${where} without loss`;
    case 'gave up':
      return `Planned move to ${where} abandoned`;
    default:
      return `${what} ${where}`;
  }
}

export function reason({ what, cause }: Pick<ChangeGroup, 'what' | 'cause'>): string {
  if (what === 'raised') return LOST[cause] ?? cause;
  if (what === 'elected') return `because ${causeInWords(cause)}`;
  if (what === 'began' || what === 'switched') return PLANNED[cause] ?? cause;
  return cause;
}

export function toneOf({ what }: Pick<ChangeGroup, 'what'>): Tone {
  if (what === 'raised') return 'loss';
  if (what === 'elected') return 'gain';
  if (what === 'began' || what === 'switched') return 'plan';
  return 'note';
}
