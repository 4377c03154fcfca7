/** One region of the fleet: what it knows, what it holds, and the report that an honest agent would make of it. */
import {
  certainlyOver,
  type FailoverState,
  MACHINE_VERSION,
  type Progress,
  type RegionReport,
  type WriterReport,
} from 'baton/failover';

/** When something was learned, on the region's own clock. */
interface Learned {
  readonly what: string;
  readonly at: number;
}

export interface Surroundings {
  readonly now: number;
  readonly at: string;
  readonly state: FailoverState;
  /** Regions that are alive and linked with this one. */
  readonly linked: readonly string[];
}

export class FleetNode {
  readonly name: string;
  alive = true;
  incarnation = 1;
  version = MACHINE_VERSION;
  progress: Progress = { epoch: 1, lsn: 0 };
  canCommit = true;
  signals: readonly string[] = [];
  /** How long it will still be copying data. */
  buildMs: number;
  /** It reaches the others but not the registers. */
  isCutOff = false;
  readonly cuts = new Set<string>();
  /** The state that its last update, or a hint, gave it. */
  known: FailoverState | undefined;
  dueAt: number;
  lastUpdate = -Infinity;
  /** The start of its writer lease (rule 3). */
  leaseFrom = -Infinity;
  #beat: Learned | undefined;
  #step: Learned | undefined;
  readonly #triples = new Map<string, number>();
  #writerSince: Learned | undefined;
  readonly #acknowledged = new Map<string, number>();

  constructor(name: string, dueAt: number, buildMs = 0) {
    this.name = name;
    this.dueAt = dueAt;
    this.buildMs = buildMs;
  }

  /** A new process: everything that was measured is gone, the log is not. */
  start(now: number): void {
    this.alive = true;
    this.incarnation += 1;
    this.known = undefined;
    this.dueAt = now;
    this.leaseFrom = -Infinity;
    this.#beat = undefined;
    this.#step = undefined;
    this.#triples.clear();
    this.#acknowledged.clear();
  }

  /** A hint, or the outcome of an update: waits begin now. */
  learn({ gcn, writer, regions, step, raise }: FailoverState, now: number): void {
    // Rule 12: whoever never held what the raise found counts from when it got the state that says so.
    const found = tripleOf(raise.gcn, raise.writer, raise.beat);
    if (!this.#triples.has(found)) this.#triples.set(found, now);
    const triple = tripleOf(gcn, writer, writer === null ? 0 : regions[writer]!.beat);
    if (this.#beat?.what !== triple) this.#beat = { what: triple, at: now };
    if (!this.#triples.has(triple)) this.#triples.set(triple, now);
    if (this.#step?.what !== String(step)) this.#step = { what: String(step), at: now };
    const reign = `${gcn} ${writer}`;
    if (this.#writerSince?.what !== reign) {
      this.#writerSince = { what: reign, at: now };
      this.#acknowledged.clear();
    }
  }

  acknowledgedBy(region: string, now: number): void {
    this.#acknowledged.set(region, now);
  }

  /** How long it has known exactly this (rules 4 and 12). */
  knownFor(now: number, gcn: number, writer: string, beat: number): number {
    return now - (this.#triples.get(tripleOf(gcn, writer, beat)) ?? now);
  }

  isSilenceOver({ state, now }: Surroundings): boolean {
    if (state.writer === null || state.writer === this.name || this.#beat === undefined) return false;
    return now - this.#beat.at >= certainlyOver(state.leaseMs);
  }

  reportOf(around: Surroundings, scheduled: boolean, isStopping: boolean): RegionReport {
    const { state, now, at, linked } = around;
    const { writer, gcn, phase, step } = state;
    const isReader = writer !== null && writer !== this.name;
    return {
      type: 'region',
      region: this.name,
      incarnation: this.incarnation,
      version: this.version,
      gcn,
      at,
      scheduled,
      build: this.buildMs > 0 ? 'Building' : 'Built',
      progress: this.progress,
      gclsn: this.progress.lsn,
      canCommit: this.canCommit,
      reaches: linked,
      ...(isReader && {
        silence: { gcn, writer, beat: state.regions[writer]!.beat, waitedMs: now - (this.#beat?.at ?? now) },
      }),
      ...(phase !== 'Steady' && { wait: { step, waitedMs: now - (this.#step?.at ?? now) } }),
      ...(writer === this.name && { writer: this.writerPart(around) }),
      ...(isStopping && { stopping: true }),
      ...(this.signals.length > 0 && { signals: this.signals }),
    };
  }

  /** Whether, as writer, it has something to say before its next beat is due. */
  hasNews(around: Surroundings): boolean {
    const { state } = around;
    const { add, remove, readyFor, quiescedInStep } = this.writerPart(around);
    const asks = add!.length > 0 || remove!.some((name) => mayGo(state, name)) || readyFor !== undefined;
    const isLeaving = Object.entries(state.regions).some(
      ([name, { leaving }]) => leaving === true && !state.leaseSet.includes(name),
    );
    return asks || isLeaving || (quiescedInStep !== undefined && state.final === undefined);
  }

  writerPart({ state, now, linked }: Surroundings): WriterReport {
    const { leaseSet, leaseMs, regions, configuration, phase, step, quiesce } = state;
    const isFresh = (name: string, within: number): boolean =>
      now - (this.#acknowledged.get(name) ?? -Infinity) < within;
    const caughtUp = Object.keys(regions).filter((name) => isFresh(name, leaseMs / 3));
    const isSteady = phase === 'Steady';
    const add = linked.filter(
      (name) => isSteady && caughtUp.includes(name) && !leaseSet.includes(name) && takesPart(state, name),
    );
    const gone = (name: string): boolean =>
      !isFresh(name, leaseMs / 3) && now - (this.#writerSince?.at ?? now) >= leaseMs / 3;
    // A leaving region that is well goes when the others are enough without it.
    const others = leaseSet.filter(
      (name) => name === this.name || (regions[name]!.leaving !== true && !gone(name)),
    );
    const isReplaceable = others.length >= configuration.minDurability;
    const remove = leaseSet.filter(
      (name) =>
        isSteady && name !== this.name && (gone(name) || (regions[name]!.leaving === true && isReplaceable)),
    );
    const wanted = isSteady ? configuration.wanted?.consistency : undefined;
    return {
      commitSet: [...leaseSet, ...add],
      caughtUp,
      add,
      remove,
      ...(quiesce === true && { quiescedInStep: step }),
      ...(now - (this.#writerSince?.at ?? now) >= certainlyOver(leaseMs) && { hasWaited: true as const }),
      ...(wanted !== undefined && leaseSet.every((name) => name === this.name || isFresh(name, leaseMs / 3))
        ? { readyFor: wanted }
        : {}),
    };
  }
}

function tripleOf(gcn: number, writer: string | null, beat: number): string {
  return `${gcn} ${writer} ${beat}`;
}

function takesPart(state: FailoverState, name: string): boolean {
  const region = state.regions[name];
  return (
    region !== undefined && region.building !== true && region.leaving !== true && region.stop === undefined
  );
}

/** Asking again and again for what the minimum durability forbids would be noise. */
function mayGo({ leaseSet, configuration }: FailoverState, name: string): boolean {
  return leaseSet.includes(name) && leaseSet.length > configuration.minDurability;
}
