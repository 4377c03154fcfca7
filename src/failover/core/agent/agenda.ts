/**
 * When an agent does what (DESIGN 4 and 8): a heartbeat each interval; an update at the very moment when a silence has lasted
 * a whole lease or an election has settled; a poll every second while something is going on; a read when a hint that should
 * have come has not; and at once when there is something to say that cannot wait. All of it when there is a round for it in the budget
 * (`budget.ts`).
 */
import { lookAgainMs } from '../scheduling/observer.ts';
import type { PolicyElements } from '../scheduling/policy.ts';
import {
  awakeIn,
  electionWaitMs,
  type FailoverState,
  missedBeats,
  type RegionName,
} from '../machine/index.ts';
import { certainlyOver } from '../time.ts';
import type { Purpose, RequestBudget } from './budget.ts';
import type { Watch } from './watch.ts';

export type Reason = 'heartbeat' | 'soon' | 'silence' | 'settled' | 'poll' | 'overdue' | 'lease' | 'duties';

export interface Due {
  readonly at: number;
  readonly why: Reason;
}

const NEVER: Due = { at: Infinity, why: 'soon' };
const POLL_MS = 1000;
/** A new writer whose readers are about to follow it asks so many times as fast as it may. */
const EAGER_UPDATES = 3;
const SHORTEST_POLL_MS = 100;
/**
 * A beat hint that is late by a tenth of an interval makes the observer read; but not before the lease has an interval left:
 * where intervals are short, a busy moment makes all hints late, and it would be made busier.
 */
const OVERDUE_INTERVALS = 1.1;

/**
 * A region that only watches beats so seldom where updates take long: every other time, so that it keeps its slot between the
 * others' (`policy.ts`). It is not taken for dead over it, as soon as every machine is patient enough (`missedBeats`).
 */
const WATCHING_INTERVALS = 2;

export interface AgendaOptions {
  readonly region: RegionName;
  readonly observer: PolicyElements['observer'];
  /** Whether peers send hints, so that a missing one means something. */
  readonly hints: boolean;
  readonly firstBeatAt: number;
  /** Of the machine that runs here. */
  readonly version: number;
  readonly budget: RequestBudget;
}

export class Agenda {
  readonly #options: AgendaOptions;
  heartbeatAt: number;
  /** From when on an update is wanted out of turn. */
  #soonAt = Infinity;
  #lastUpdateAt = -Infinity;
  #lastReadAt = -Infinity;
  #isReading = false;
  /** Updates one after another that the writer still has no lease after. */
  #inVain = 0;
  /** From when on a read is wanted, whatever else is due. */
  #readSoonAt = Infinity;

  constructor(options: AgendaOptions) {
    this.#options = options;
    this.heartbeatAt = options.firstBeatAt;
  }

  /** From one heartbeat to the next. A hint tells whoever only watches that the writer lives: its own beat can wait, if it must. */
  beatMs(state: FailoverState, isSlow: boolean): number {
    const { intervalMs } = state.configuration.timings;
    const { hints, region, version } = this.#options;
    const mayWatch = isSlow && hints && missedBeats(awakeIn(state, version)) > WATCHING_INTERVALS;
    return mayWatch && isOnlyWatching(state, region) ? intervalMs * WATCHING_INTERVALS : intervalMs;
  }

  /** An update is wanted at that moment, if not before. */
  want(at: number): void {
    this.#soonAt = Math.min(this.#soonAt, at);
  }

  /**
   * The same, but not so soon after the last one: for what will not change from one moment to the next. A writer that is refused its
   * lease waits for others, and they have to get an update through as well: it leaves them more and more room.
   */
  wantAgain(now: number, state: FailoverState | undefined): void {
    const poll = pollMs(state);
    const interval = state?.configuration.timings.intervalMs ?? poll;
    const longer = Math.min(interval, poll * 2 ** Math.max(0, this.#inVain - EAGER_UPDATES));
    this.want(Math.max(now, this.#lastUpdateAt + Math.max(poll, longer)));
  }

  /** What an update of the writer came to. */
  noteLease(hasLease: boolean): void {
    this.#inVain = hasLease ? 0 : this.#inVain + 1;
  }

  updateStarted(): void {
    this.#soonAt = Infinity;
  }

  updateEnded(now: number): void {
    this.#lastUpdateAt = now;
  }

  /** A read is wanted at that moment, or as soon as there is a round for it. */
  wantRead(at: number): void {
    this.#readSoonAt = Math.min(this.#readSoonAt, at);
  }

  /** False when one is under way already. */
  startRead(now: number): boolean {
    if (this.#isReading) return false;
    this.#isReading = true;
    this.#lastReadAt = now;
    this.#readSoonAt = Infinity;
    return true;
  }

  readEnded(): void {
    this.#isReading = false;
  }

  /** The next thing to do, given that no update is under way. `canReport`: fenced up to the GCN in force (rule 7). */
  next(state: FailoverState | undefined, watch: Watch, canReport: boolean, isNew: boolean): Due {
    if (state === undefined)
      return isNew ? this.#paid({ at: this.#soonAt, why: 'soon' }, state) : this.#firstRead();
    if (!canReport) return NEVER;
    const floor = this.#lastUpdateAt + pollMs(state);
    const dues: Due[] = [
      { at: this.heartbeatAt, why: 'heartbeat' },
      { at: this.#soonAt, why: 'soon' },
    ];
    if (!this.#isReading) {
      dues.push({ at: this.#readSoonAt, why: 'overdue' });
      if (isInvolved(state, this.#options.region))
        dues.push({ at: Math.max(floor, this.#lastReadAt + pollMs(state)), why: 'poll' });
    }
    if (state.phase === 'Ungraceful') {
      const settledAt = watch.stepAt + electionWaitMs(state, awakeIn(state, this.#options.version));
      if (settledAt > this.#lastUpdateAt) dues.push({ at: settledAt, why: 'settled' });
    }
    if (state.writer !== null && state.writer !== this.#options.region)
      this.#observe(state, watch, floor, dues);
    return dues.map((due) => this.#paid(due, state)).reduce(earlier, NEVER);
  }

  /** When it is due, and there is a round for it. */
  #paid({ at, why }: Due, state: FailoverState | undefined): Due {
    const isLook = why === 'poll' || why === 'overdue';
    const purpose = isLook ? 'look' : purposeOf(state, this.#options.region);
    return { at: Math.max(at, this.#options.budget.readyAt(purpose)), why };
  }

  #firstRead(): Due {
    if (this.#isReading) return NEVER;
    const at = Math.max(this.#options.firstBeatAt, this.#lastReadAt + POLL_MS);
    return this.#paid({ at, why: 'overdue' }, undefined);
  }

  #observe(state: FailoverState, watch: Watch, floor: number, dues: Due[]): void {
    const learnedAt = watch.learnedAt ?? Infinity;
    if (state.paused !== true) {
      const waitMs = certainlyOver(state.leaseMs);
      const heartbeatInMs = this.heartbeatAt - learnedAt;
      const inMs = lookAgainMs(this.#options.observer, { learnedMsAgo: 0, waitMs, heartbeatInMs });
      dues.push({ at: Math.max(learnedAt + inMs, floor), why: 'silence' });
    }
    if (!this.#options.hints || this.#isReading) return;
    const { intervalMs } = state.configuration.timings;
    const overdueAt = learnedAt + Math.max(intervalMs * OVERDUE_INTERVALS, state.leaseMs - intervalMs);
    dues.push({ at: Math.max(overdueAt, this.#lastReadAt + intervalMs), why: 'overdue' });
  }
}

/** What an update of that region would be for. */
export function purposeOf(state: FailoverState | undefined, region: RegionName): Purpose {
  return state?.phase === 'Steady' && state.writer === region ? 'renewal' : 'update';
}

/** Whether something is going on that waits for this region: a move that goes past it does not. */
export function isInvolved({ phase, writer, target }: FailoverState, region: RegionName): boolean {
  return phase === 'Ungraceful' || (phase === 'Graceful' && (writer === region || target === region));
}

/** Whether nothing is going on, and nobody waits for this region: the writes are where they are wanted more than here. */
function isOnlyWatching(state: FailoverState, region: RegionName): boolean {
  const { phase, writer, pin, leaseSet, configuration } = state;
  if (phase !== 'Steady' || writer === null || pin === region || !leaseSet.includes(region)) return false;
  const { priorities } = configuration;
  return priorities.indexOf(writer) < priorities.indexOf(region);
}

export function earlier(first: Due, second: Due): Due {
  return second.at < first.at ? second : first;
}

/** A second, and less for a fleet whose whole rhythm is faster than that. */
export function pollMs(state: FailoverState | undefined): number {
  const interval = state?.configuration.timings.intervalMs ?? POLL_MS;
  return Math.min(POLL_MS, Math.max(SHORTEST_POLL_MS, interval / 5));
}

const RETRY_SHARE = 0.2;

/** After that many failures in a row: longer each time, and never so long that a lease is lost over it. */
export function retryMs(state: FailoverState | undefined, failures: number): number {
  const poll = pollMs(state);
  const interval = state?.configuration.timings.intervalMs ?? poll;
  return Math.min(poll * 2 ** Math.min(failures - 1, 10), Math.max(poll, interval * RETRY_SHARE));
}
