/**
 * A fleet that is only played: as many partition-sets as one likes, whose regions die and return and fail over, and the events that
 * their nodes would send. It needs no cluster, no browser and no Node; the time and the dice come from whoever plays it.
 */
import type { HistoryEntry, ServerEvent, SetRow } from '../api.ts';

export interface FakeOptions {
  readonly sets: number;
  readonly regions?: readonly string[];
  /** The same seed plays the same. */
  readonly seed?: number;
  readonly startMs: number;
}

interface FakeSet {
  readonly name: string;
  readonly container: string;
  gcn: number;
  step: number;
  phase: string;
  writer: string | null;
  cause: string;
  target: string | null;
  pin: string | null;
  leaseSet: readonly string[];
  lsn: number;
  /** What comes next, and when. */
  next: { readonly at: number; readonly do: () => void } | undefined;
  isChanged: boolean;
}

const LEASE_MS = 2500;
const ACCEPTORS = ['a1', 'a2', 'a3', 'a4', 'a5'];

export class FakeFleet {
  readonly regions: readonly string[];
  readonly sets: readonly FakeSet[];
  readonly processes: { name: string; role: string; region: string | null; state: string }[];
  readonly load = { on: false, perSecond: 200, acknowledged: 0, failed: 0, worstGapMs: 0 };
  readonly history: HistoryEntry[] = [];
  now: number;
  #told = 0;
  #random: number;
  readonly #startMs: number;

  constructor({ sets, regions = ['east', 'west', 'north'], seed = 1, startMs }: FakeOptions) {
    this.regions = regions;
    this.now = startMs;
    this.#startMs = startMs;
    this.#random = seed;
    const containers = sets > 100 ? ['orders', 'customers', 'carts'] : ['items'];
    this.sets = Array.from({ length: sets }, (_, at) =>
      this.#newSet(at, containers[Math.floor((at / sets) * containers.length)]!),
    );
    this.processes = [
      ...regions.map((region) => ({ name: `${region}-1`, role: 'node', region, state: 'running' })),
      ...ACCEPTORS.map((name) => ({ name, role: 'acceptor', region: null, state: 'running' })),
    ];
  }

  #newSet(at: number, container: string): FakeSet {
    return {
      name: `${container}-${at}`,
      container,
      gcn: 1,
      step: 1,
      phase: 'Steady',
      writer: this.regions[0]!,
      cause: 'creation',
      target: null,
      pin: null,
      leaseSet: this.regions,
      lsn: 100 + Math.floor(this.#dice() * 900),
      next: undefined,
      isChanged: true,
    };
  }

  /** 0 to 1: a small generator, so that a run can be repeated. */
  #dice(): number {
    this.#random = (Math.imul(this.#random, 1_664_525) + 1_013_904_223) >>> 0;
    return this.#random / 2 ** 32;
  }

  isUp(region: string): boolean {
    return this.processes.find((one) => one.region === region)?.state === 'running';
  }

  /** Kills, pauses and the like; a name is a region's or a process's. */
  order(action: string, targets: readonly string[]): string[] {
    const states: Readonly<Record<string, string>> = {
      kill: 'stopped',
      stop: 'stopped',
      pause: 'paused',
      start: 'running',
      resume: 'running',
    };
    const found = this.processes.filter(
      ({ name, region }) => targets.includes(name) || targets.includes(region ?? ''),
    );
    for (const one of found) {
      one.state = states[action] ?? one.state;
      if (one.region !== null) this.#regionChanged(one.region);
    }
    return found.map(({ name }) => name);
  }

  #regionChanged(region: string): void {
    for (const set of this.sets) {
      if (!this.isUp(region)) {
        if (set.writer === region)
          this.#later(set, LEASE_MS * (0.5 + this.#dice()), () => this.#raise(set, 'silence'));
        set.leaseSet = set.leaseSet.filter((name) => name !== region || name === set.writer);
      } else {
        set.leaseSet = this.regions.filter((name) => this.isUp(name));
        if (region === this.regions[0] && set.writer !== region && set.pin === null)
          this.#later(set, 4000 + 4000 * this.#dice(), () => this.move(set.name, region, 'priority'));
      }
      set.isChanged = true;
    }
  }

  #later(set: FakeSet, ms: number, act: () => void): void {
    set.next = { at: this.now + ms, do: act };
  }

  #raise(set: FakeSet, cause: string): void {
    const from = set.writer;
    if (from !== null && this.isUp(from) && cause === 'silence') return;
    Object.assign(set, {
      gcn: set.gcn + 1,
      step: set.step + 1,
      phase: 'Ungraceful',
      writer: null,
      cause,
      isChanged: true,
    });
    this.#note(set, 'raised', cause, from, null);
    this.#later(set, 150 + 900 * this.#dice() ** 2, () => {
      const to =
        this.regions.find((name) => this.isUp(name) && name !== from) ??
        this.regions.find((name) => this.isUp(name));
      if (to === undefined) return this.#later(set, 1000, () => this.#raise(set, cause));
      Object.assign(set, { step: set.step + 1, phase: 'Steady', writer: to, isChanged: true });
      this.#note(set, 'elected', cause, from, to);
    });
  }

  /** A planned move. */
  move(name: string, to: string, cause: string): void {
    const set = this.sets.find((one) => one.name === name);
    if (set === undefined || set.writer === to || set.phase !== 'Steady' || !this.isUp(to)) return;
    const from = set.writer;
    Object.assign(set, { step: set.step + 1, phase: 'Graceful', target: to, isChanged: true });
    this.#note(set, 'began', cause, from, to);
    this.#later(set, 300 + 400 * this.#dice(), () => {
      Object.assign(set, {
        gcn: set.gcn + 1,
        step: set.step + 1,
        phase: 'Steady',
        writer: to,
        target: null,
        cause: 'switch',
        isChanged: true,
      });
      if (cause === 'operator') set.pin = to;
      this.#note(set, 'switched', cause, from, to);
    });
  }

  force(name: string): void {
    const set = this.sets.find((one) => one.name === name);
    if (set !== undefined) this.#raise(set, 'forced');
  }

  #note(set: FakeSet, what: string, cause: string, from: string | null, to: string | null): void {
    const fromGcn = what === 'raised' || what === 'switched' ? set.gcn - 1 : set.gcn;
    const sentence = `${what} by ${cause}: from ${from ?? 'nobody'} to ${to ?? 'nobody'} (GCN ${fromGcn} to ${set.gcn}).`;
    this.history.push({
      n: this.history.length + 1,
      partitionSet: set.name,
      at: this.now,
      what,
      cause,
      who: to ?? this.regions[1]!,
      gcn: set.gcn,
      fromGcn,
      from,
      to,
      sentence,
    });
  }

  /** Lets time pass. */
  advance(ms: number): void {
    const until = this.now + ms;
    for (const set of this.sets) {
      if (set.next === undefined || set.next.at > until) continue;
      const { at, do: act } = set.next;
      set.next = undefined;
      this.now = at;
      act();
    }
    this.now = until;
    if (this.load.on) this.#writes(ms);
  }

  #writes(ms: number): void {
    const writes = Math.round((this.load.perSecond * ms) / 1000);
    for (let i = 0; i < writes; i += 1) {
      const set = this.sets[Math.floor(this.#dice() * this.sets.length)]!;
      const isWritten = set.writer !== null && this.isUp(set.writer);
      if (isWritten) {
        set.lsn += 1;
        set.isChanged = true;
      }
      this.load[isWritten ? 'acknowledged' : 'failed'] += 1;
      if (!isWritten) this.load.worstGapMs = Math.min(3400, this.load.worstGapMs + 1);
    }
  }

  row(set: FakeSet, region: string): SetRow {
    const canWrite = set.writer === region && this.isUp(region) ? 1 : 0;
    const behind = set.writer === region ? 0 : Math.floor(this.#dice() * 3);
    const { name, container, gcn, phase, writer, leaseSet, cause, step, target, pin, lsn } = set;
    return [
      name,
      container,
      gcn,
      phase,
      writer,
      canWrite,
      1,
      leaseSet,
      cause,
      step,
      target,
      pin,
      lsn - behind,
      lsn - 1,
    ];
  }

  /** What a node says to one who has just come. */
  welcome(region: string): readonly ServerEvent[] {
    return [
      {
        type: 'hello',
        node: `${region}-1`,
        region,
        cluster: 'fake',
        version: '0.1.0',
        role: 'operator',
        isLocal: true,
        regions: this.regions,
        timings: { intervalMs: 1000, leaseMs: LEASE_MS, settleMs: 1000 },
      },
      { type: 'sets', isWhole: true, sets: this.sets.map((set) => this.row(set, region)) },
      { type: 'history', entries: this.history.slice(-200) },
      this.beat(region),
      this.local(),
    ];
  }

  /** What has changed since the last call, for every region that is up. */
  news(): ReadonlyMap<string, readonly ServerEvent[]> {
    const changed = this.sets.filter((set) => set.isChanged);
    for (const set of changed) set.isChanged = false;
    const entries = this.history.slice(this.#told);
    this.#told = this.history.length;
    const regions = this.regions.filter((region) => this.isUp(region));
    return new Map(
      regions.map((region): [string, readonly ServerEvent[]] => [
        region,
        [
          ...(changed.length === 0
            ? []
            : [{ type: 'sets' as const, isWhole: false, sets: changed.map((set) => this.row(set, region)) }]),
          ...(entries.length === 0 ? [] : [{ type: 'history' as const, entries }]),
        ],
      ]),
    );
  }

  beat(region: string): ServerEvent {
    const writes = this.load.on ? this.load.perSecond : 0;
    const share = this.sets.filter(({ writer }) => writer === region).length / Math.max(1, this.sets.length);
    return {
      type: 'node',
      uptimeMs: this.now - this.#startMs,
      readiness: { status: 'ok', reasons: [] },
      acceptors: this.processes
        .filter(({ role }) => role === 'acceptor')
        .map(({ name, state }) => ({
          name,
          url: `tcp://127.0.0.1/${name}`,
          state: state === 'running' ? 'up' : 'down',
          rttMs: state === 'running' ? 0.6 + this.#dice() * 2 : null,
        })),
      peers: this.regions
        .filter((name) => name !== region)
        .map((name) => ({
          region: name,
          node: `${name}-1`,
          isUp: this.isUp(name),
          rttMs: this.isUp(name) ? 1 + this.#dice() * 3 : null,
        })),
      writesPerSecond: writes * share,
      readsPerSecond: 3 * this.#dice(),
      cpu: 0.04 + 0.1 * this.#dice(),
      rssBytes: 120e6 + 9e6 * this.#dice(),
    };
  }

  local(): ServerEvent {
    return {
      type: 'local',
      processes: this.processes,
      load: { ...this.load },
      canCut: true,
    };
  }
}
