/**
 * Runs that keep their level by construction, to try the checkers on: one log with one writer at a time, regions that copy it
 * when they come to it, and failovers to whichever region, which cost the new epoch what that region lacks. All that happens is a
 * step of the same loop, so the seed gives the run.
 *
 * A write counts as committed when, at Strong, every region has it; at bounded staleness, no region lags more than the bound;
 * below, at once. Strong reads are of what is committed. Bounded reads wait for a region that has reconciled and is within T,
 * session reads for one that has reached the token. A consistent prefix is any region as it is, eventual any older state of it.
 */
import { must } from '../../protocol/index.ts';
import type { Choose } from '../simulated.ts';
import type { StalenessBound } from './bounded.ts';
import type { ClientOperation, ConsistencyLevel, LogRow, Position, UndoneWrite } from './history.ts';
import { BEFORE_ALL, positionOrder } from './history.ts';
import { RunClients } from './simulated-clients.ts';

export interface RunOptions {
  readonly level: ConsistencyLevel;
  readonly operations: number;
  readonly clients: number;
  readonly keys: number;
  /** How many of a thousand steps are failovers. */
  readonly failovers: number;
  /** How many of a hundred calls lose their answer. */
  readonly unknownPercent: number;
  readonly bound: StalenessBound;
}

/** An entry of the simulated log; the same object in every region that has it. */
export interface SimulatedEntry extends LogRow {
  readonly previous: Position;
  committedAt?: number;
}

interface SimulatedRegion {
  readonly name: string;
  log: SimulatedEntry[];
  /** The epoch it has taken up. */
  epoch: number;
}

export interface SimulatedRun {
  readonly operations: ClientOperation[];
  readonly log: LogRow[];
  readonly undone: UndoneWrite[];
  readonly quietFrom: number;
}

const REGIONS = ['east', 'west', 'north'];

export class SimulatedStore {
  readonly options: RunOptions;
  readonly choose: Choose;
  readonly regions: readonly SimulatedRegion[] = REGIONS.map((name) => ({ name, log: [], epoch: 1 }));
  readonly undone: (SimulatedEntry & { readonly region: string })[] = [];
  writer: SimulatedRegion;
  epoch = 1;
  committed = 0;
  clock = 0;

  constructor(options: RunOptions, choose: Choose) {
    this.options = options;
    this.choose = choose;
    this.writer = must(this.regions[0]);
  }

  append(row: Pick<LogRow, 'key' | 'value' | 'operation'>): SimulatedEntry {
    const { log } = this.writer;
    const entry = { ...row, epoch: this.epoch, lsn: log.length + 1, previous: endOfLog(log) };
    log.push(entry);
    this.commit();
    return entry;
  }

  has(entry: SimulatedEntry): boolean {
    return this.writer.log[entry.lsn - 1] === entry;
  }

  commit(): void {
    const { log } = this.writer;
    for (let entry = log[this.committed]; entry !== undefined; entry = log[this.committed]) {
      if (entry.committedAt === undefined && !this.#mayCommit(entry)) return;
      entry.committedAt ??= this.clock;
      this.committed += 1;
    }
  }

  #mayCommit(entry: SimulatedEntry): boolean {
    const { level, bound } = this.options;
    if (level === 'Strong') return this.regions.every(({ log }) => log[entry.lsn - 1] === entry);
    if (level !== 'BoundedStaleness') return true;
    return this.regions.every((region) => {
      const shared = this.shared(region);
      return shared >= entry.lsn - bound.versions && this.#isTimely(shared);
    });
  }

  /** Whether a region that has so much of the log lacks nothing that was committed more than T ago. */
  #isTimely(length: number): boolean {
    const committedAt = this.writer.log[length]?.committedAt ?? Infinity;
    return committedAt >= this.clock - this.options.bound.ms;
  }

  shared({ log }: SimulatedRegion): number {
    const end = Math.min(log.length, this.writer.log.length);
    let length = end;
    while (length > 0 && log[length - 1] !== this.writer.log[length - 1]) length -= 1;
    return length;
  }

  /** What a read at this region is answered from; undefined while it has to wait. */
  serve(region: SimulatedRegion, token: Position | undefined): readonly SimulatedEntry[] | undefined {
    switch (this.options.level) {
      case 'Strong':
        return this.writer.log.slice(0, this.committed);
      case 'BoundedStaleness': {
        const isReady = region.epoch === this.epoch && this.#isTimely(region.log.length);
        return region === this.writer || isReady ? region.log.slice() : undefined;
      }
      case 'Session':
        return positionOrder(endOfLog(region.log), token ?? BEFORE_ALL) >= 0 ? region.log.slice() : undefined;
      case 'ConsistentPrefix':
        return region.log.slice();
      default:
        return region.log.slice(0, this.choose(region.log.length + 1));
    }
  }

  replicate(region: SimulatedRegion, entries: number): void {
    if (region === this.writer) return;
    const shared = this.shared(region);
    for (const entry of region.log.slice(shared)) this.undone.push({ ...entry, region: region.name });
    region.log = this.writer.log.slice(0, shared + entries);
    region.epoch = this.epoch;
    this.commit();
  }

  failOver(): void {
    const others = this.regions.filter((region) => region !== this.writer);
    this.writer = must(others[this.choose(others.length)]);
    this.epoch += 1;
    this.writer.epoch = this.epoch;
    const open = this.writer.log.findIndex(({ committedAt }) => committedAt === undefined);
    this.committed = open < 0 ? this.writer.log.length : open;
    if (this.choose(2) === 0) this.append({});
  }

  heal(): void {
    for (const region of this.regions) this.replicate(region, Infinity);
    this.commit();
  }
}

export function endOfLog(log: readonly Position[]): Position {
  const last = log.at(-1);
  return last === undefined ? BEFORE_ALL : { epoch: last.epoch, lsn: last.lsn };
}

export function simulateRun(options: RunOptions, choose: Choose): SimulatedRun {
  const store = new SimulatedStore(options, choose);
  const clients = new RunClients(store);
  while (clients.isBusy()) {
    store.clock += choose(4);
    if (choose(1000) < options.failovers) store.failOver();
    else if (choose(3) === 0) store.replicate(must(store.regions[choose(3)]), 1 + choose(4));
    else clients.step();
  }
  store.heal();
  const quietFrom = clients.finish();
  const isFinal = ({ epoch, lsn }: Position) => store.writer.log[lsn - 1]?.epoch === epoch;
  return {
    operations: clients.operations,
    log: store.writer.log.map(rowOfEntry),
    undone: store.undone.map((entry) => ({
      ...rowOfEntry(entry),
      region: entry.region,
      previous: entry.previous,
      closed: isFinal(entry),
    })),
    quietFrom,
  };
}

function rowOfEntry({ epoch, lsn, key, value, operation }: SimulatedEntry): LogRow {
  return { epoch, lsn, key, value, operation };
}
