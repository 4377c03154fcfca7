/**
 * What was last seen of every partition-set, and in which round it changed last. A round looks at all of them, thousands, four
 * times a second: so it compares the few figures that are shown, and neither makes a view of each nor writes it as text. Listeners
 * remember the round that they were told up to; what they are told next follows from that alone, so a slow one needs no queue.
 *
 * Progress changes with every write. What has nothing else to tell is told in every fourth round only.
 */
import type { FailoverState } from '../../../failover/index.ts';
import type { SetRow } from './schemas.ts';

export interface SetPlace {
  readonly name: string;
  readonly container: string;
}

/** Of this node's copy. */
export interface CopyFigures {
  readonly canWrite: boolean;
  readonly canRead: boolean;
  readonly lsn: number;
  readonly gclsn: number;
}

export interface SetSource {
  readonly places: () => readonly SetPlace[];
  /** As the agent saw it last. */
  readonly state: (name: string) => FailoverState | undefined;
  readonly copy: (name: string) => CopyFigures | undefined;
}

/** The rounds up to which somebody was told what changed, and mere progress. */
export interface ToldUpTo {
  readonly round: number;
  readonly progress: number;
}

interface Seen {
  row: SetRow;
  /** When what matters changed last, and when the progress did. */
  changed: number;
  progressed: number;
  round: number;
}

const NO_COPY: CopyFigures = { canWrite: false, canRead: false, lsn: 0, gclsn: 0 };
/** Rounds between two in which mere progress is told. */
export const PROGRESS_EVERY = 4;
const NOBODY: readonly string[] = [];
/** The place in a row from which on it is progress. */
const LSN = 12;
const GCLSN = 13;

export class SetTable {
  readonly #source: SetSource;
  readonly #seen = new Map<string, Seen>();
  /** When each went. Forgotten after so many rounds: who has not been told by then starts anew. */
  readonly #gone = new Map<string, number>();
  readonly #keepRounds: number;
  #round = 0;

  constructor(source: SetSource, keepRounds: number) {
    this.#source = source;
    this.#keepRounds = keepRounds;
  }

  get round(): number {
    return this.#round;
  }

  /** Whether somebody who was told up to that round can be told the rest. */
  reachesBackTo(round: number): boolean {
    return this.#round - round <= this.#keepRounds;
  }

  look(): void {
    this.#round += 1;
    const places = this.#source.places();
    for (const place of places) this.#see(place);
    if (this.#seen.size > places.length) this.#sweep();
    for (const [name, round] of this.#gone)
      if (this.#round - round > this.#keepRounds) this.#gone.delete(name);
  }

  rows(): SetRow[] {
    return Array.from(this.#seen.values(), ({ row }) => row);
  }

  /** What is to be told now to somebody who was told up to there. */
  changesSince(told: ToldUpTo): SetRow[] {
    const { round, progress } = told;
    const tellsProgress = this.#tellsProgress(told);
    const rows: SetRow[] = [];
    for (const { row, changed, progressed } of this.#seen.values())
      if (changed > round || (tellsProgress && progressed > progress)) rows.push(row);
    return rows;
  }

  /** Up to where he is told then. */
  toldAfter(told: ToldUpTo): ToldUpTo {
    return { round: this.#round, progress: this.#tellsProgress(told) ? this.#round : told.progress };
  }

  #tellsProgress({ progress }: ToldUpTo): boolean {
    return Math.floor(this.#round / PROGRESS_EVERY) > Math.floor(progress / PROGRESS_EVERY);
  }

  goneSince(round: number): string[] {
    return [...this.#gone].filter(([, when]) => when > round).map(([name]) => name);
  }

  #see(place: SetPlace): void {
    const state = this.#source.state(place.name);
    const copy = this.#source.copy(place.name) ?? NO_COPY;
    const seen = this.#seen.get(place.name);
    if (seen === undefined) {
      const round = this.#round;
      this.#seen.set(place.name, {
        row: rowOf(place, state, copy),
        changed: round,
        progressed: round,
        round,
      });
      this.#gone.delete(place.name);
      return;
    }
    seen.round = this.#round;
    const isSame = isSameStanding(seen.row, state, copy);
    const isStill = seen.row[LSN] === copy.lsn && seen.row[GCLSN] === copy.gclsn;
    if (isSame && isStill) return;
    seen.row = rowOf(place, state, copy);
    if (!isSame) seen.changed = this.#round;
    if (!isStill) seen.progressed = this.#round;
  }

  #sweep(): void {
    for (const [name, { round }] of this.#seen) {
      if (round === this.#round) continue;
      this.#seen.delete(name);
      this.#gone.set(name, this.#round);
    }
  }
}

function rowOf({ name, container }: SetPlace, state: FailoverState | undefined, copy: CopyFigures): SetRow {
  const canWrite = copy.canWrite ? 1 : 0;
  const canRead = copy.canRead ? 1 : 0;
  const { lsn, gclsn } = copy;
  if (state === undefined)
    return [
      name,
      container,
      0,
      'Unknown',
      null,
      canWrite,
      canRead,
      NOBODY,
      'unknown',
      0,
      null,
      null,
      lsn,
      gclsn,
    ];
  const { gcn, phase, writer, leaseSet, raise, step, target = null, pin = null } = state;
  return [
    name,
    container,
    gcn,
    phase,
    writer,
    canWrite,
    canRead,
    leaseSet,
    raise.cause,
    step,
    target,
    pin,
    lsn,
    gclsn,
  ];
}

function isSameStanding(row: SetRow, state: FailoverState | undefined, copy: CopyFigures): boolean {
  const [, , gcn, phase, writer, canWrite, canRead, leaseSet, cause, step, target, pin] = row;
  if ((canWrite === 1) !== copy.canWrite || (canRead === 1) !== copy.canRead) return false;
  if (state === undefined) return gcn === 0;
  return (
    gcn === state.gcn &&
    step === state.step &&
    phase === state.phase &&
    writer === state.writer &&
    cause === state.raise.cause &&
    target === (state.target ?? null) &&
    pin === (state.pin ?? null) &&
    areSame(leaseSet, state.leaseSet)
  );
}

function areSame(a: readonly string[], b: readonly string[]): boolean {
  if (a === b) return true;
  if (a.length !== b.length) return false;
  for (let at = 0; at < a.length; at += 1) if (a[at] !== b[at]) return false;
  return true;
}
