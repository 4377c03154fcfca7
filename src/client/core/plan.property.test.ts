/**
 * Operations in a small world of regions that are up, down, silent or busy, with a writer that moves, connections that break
 * and answers that are lost. What really happened to a write is hidden from the plan and known to the world.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { epochOf, type OperationResult, type Position } from '../../engine/core/index.ts';
import { HedgeBudget } from './hedging.ts';
import type { AttemptFailure, NodeAnswer, Repeatable } from './judging.ts';
import {
  type OperationOptions,
  OperationPlan,
  type PlanEvent,
  type PlanOutput,
  type PlanResult,
} from './plan.ts';
import { RegionCache } from './regions.ts';

const REGIONS = ['west', 'east', 'south'] as const;
type Region = (typeof REGIONS)[number];
type Answer =
  | { outcome: 'done'; position: Position; results?: readonly OperationResult[] }
  | { outcome: 'refused'; code: string; retryAfterMs?: number; writer?: { region: string; gcn: number } }
  | { outcome: 'unknown' };

class Chance {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** In 0 .. 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  is(probability: number): boolean {
    return this.next() < probability;
  }

  between(low: number, high: number): number {
    return low + Math.floor(this.next() * (high - low + 1));
  }

  pick<T>(values: readonly T[]): T {
    return values[Math.floor(this.next() * values.length)]!;
  }
}

interface WorldOptions {
  readonly seed: number;
  /** No fault happens from then on, and whoever was down or silent is back. */
  readonly calmAtMs: number;
  /** How bad it is before. */
  readonly faults: number;
  /** Whether documents change so that writes are rejected. */
  readonly rejects?: boolean;
}

interface Request {
  readonly id: number;
  readonly region: Region;
  readonly repeatable: Repeatable;
  readonly isRead: boolean;
}

interface Started {
  readonly id: number;
  readonly region: string;
  readonly atMs: number;
  readonly hedge: boolean;
  /** Earlier ones that the plan had no proof of not being carried out when it started this. */
  readonly inDoubt: number;
  /** The plan was told that it was not carried out; or was not told yet that it is on its way. */
  isHarmless: boolean;
}

/** One operation of one client. */
class World {
  now = 0;
  applied = 0;
  result: PlanResult<Answer> | undefined;
  doneAtMs = Infinity;
  readonly started: Started[] = [];
  readonly #chance: Chance;
  readonly #options: WorldOptions;
  readonly #events: { atMs: number; order: number; run: () => void }[] = [];
  #order = 0;
  #writer: Region | undefined = 'west';
  #gcn = 1;
  #state = new Map<Region, 'up' | 'down' | 'silent'>(REGIONS.map((region) => [region, 'up']));
  #held: Request[] = [];
  #isUnmet = false;
  #timer = 0;
  #sending: (attempt: number) => void = () => {};
  readonly #cancelled = new Set<number>();

  constructor(options: WorldOptions) {
    this.#options = options;
    this.#chance = new Chance(options.seed);
    for (let changes = options.faults === 0 ? 0 : 4; changes > 0; changes -= 1) this.#change();
    this.#plan(0);
  }

  run(cache: RegionCache, options: OperationOptions): this {
    const plan = new OperationPlan<Answer>(cache, options);
    this.#sending = (id) => {
      plan.sending(id);
      this.started[id - 1]!.isHarmless = false;
    };
    const tell = (event: PlanEvent<Answer>): void => {
      this.#note(event);
      for (const output of plan.handle(event, this.now, this.#chance.next()))
        this.#take(output, options, tell);
    };
    this.#at(0, () => tell({ type: 'start' }));
    for (let event = this.#first(); event !== undefined; event = this.#first()) {
      this.now = Math.max(this.now, event.atMs);
      event.run();
    }
    // Whatever is still in doubt may be carried out in the end.
    for (const request of this.#held) if (this.#chance.is(0.5)) this.#apply(request);
    return this;
  }

  #note(event: PlanEvent<Answer>): void {
    const isRefused = event.type === 'answered' && event.answer.outcome === 'refused';
    const isUnsent = event.type === 'failed' && event.failure.outcome === 'not sent';
    if (isRefused || isUnsent) this.started[event.attempt - 1]!.isHarmless = true;
  }

  #take(
    output: PlanOutput<Answer>,
    options: OperationOptions,
    tell: (event: PlanEvent<Answer>) => void,
  ): void {
    if (output.type === 'done') {
      expect(this.result, 'an operation ends once').toBeUndefined();
      this.result = output.result;
      this.doneAtMs = this.now;
    } else if (output.type === 'setTimer') {
      const timer = ++this.#timer;
      const late = this.#chance.is(0.2) ? this.#chance.between(0, 15) : 0;
      this.#at(output.inMs + late, () => {
        if (timer === this.#timer && this.result === undefined) tell({ type: 'timer' });
      });
    } else if (output.type === 'attempt') {
      const { id, hedge } = output;
      const inDoubt = this.started.filter(({ isHarmless }) => !isHarmless).length;
      const { repeatable = 'no', kind, tellsSending: isHarmless = false } = options;
      this.started.push({ id, region: output.region, atMs: this.now, hedge, inDoubt, isHarmless });
      const request = { id, region: output.region as Region, repeatable, isRead: kind === 'read' };
      if (isHarmless) this.#connect(request, output.timeoutMs, tell);
      else this.#send(request, output.timeoutMs, tell);
    } else if (output.type === 'cancel') this.#cancelled.add(output.attempt);
  }

  /** It is sent when there is a connection, unless it was given up meanwhile. */
  #connect(request: Request, timeoutMs: number, tell: (event: PlanEvent<Answer>) => void): void {
    this.#at(this.#is(0.3) ? this.#chance.between(1, 1500) : 0, () => {
      if (this.#cancelled.has(request.id)) return;
      if (this.#state.get(request.region) !== 'down') this.#sending(request.id);
      this.#send(request, timeoutMs, tell);
    });
  }

  /** Changes of the world until it is calm. */
  #plan(sinceMs: number): void {
    const { calmAtMs, faults } = this.#options;
    const atMs = sinceMs + this.#chance.between(1, 800);
    if (faults === 0 || atMs >= calmAtMs) {
      this.#at(calmAtMs, () => this.#calm());
      return;
    }
    this.#at(atMs, () => this.#change());
    this.#plan(atMs);
  }

  #change(): void {
    const region = this.#chance.pick(REGIONS);
    const dice = this.#chance.next();
    if (dice < 0.3) this.#state.set(region, this.#chance.pick(['down', 'silent']));
    else if (dice < 0.6) this.#wake(region);
    else if (dice < 0.75) this.#writer = undefined;
    else this.#elect(region);
    if (this.#options.rejects === true && this.#chance.is(0.3)) this.#isUnmet = !this.#isUnmet;
  }

  #elect(region: Region): void {
    this.#writer = region;
    this.#gcn += 1;
  }

  #calm(): void {
    this.#writer ??= this.#chance.pick(REGIONS);
    for (const region of REGIONS) this.#wake(region);
  }

  #wake(region: Region): void {
    this.#state.set(region, 'up');
    const [mine, others] = [
      this.#held.filter((request) => request.region === region),
      this.#held.filter((request) => request.region !== region),
    ];
    this.#held = others;
    for (const request of mine) this.#wakers.get(request)?.();
  }

  readonly #wakers = new Map<Request, () => void>();

  #is(probability: number): boolean {
    const isCalm = this.now >= this.#options.calmAtMs;
    return !isCalm && this.#chance.is(probability * this.#options.faults);
  }

  #send(request: Request, timeoutMs: number, tell: (event: PlanEvent<Answer>) => void): void {
    const { id, region } = request;
    const fail = (failure: AttemptFailure, inMs: number): void =>
      this.#at(inMs, () => tell({ type: 'failed', attempt: id, failure }));
    if (this.#state.get(region) === 'down') {
      fail({ outcome: 'not sent', code: 'UNREACHABLE' }, this.#chance.between(0, 5));
      return;
    }
    if (this.#chance.is(0.5)) fail({ outcome: 'unknown', code: 'TIMED_OUT' }, timeoutMs);
    if (this.#is(0.1)) {
      // The connection breaks before or after the request arrives; or it is carried out long after that.
      fail({ outcome: 'unknown', code: 'CONNECTION_LOST' }, this.#chance.between(0, 50));
      if (this.#chance.is(0.5)) this.#at(this.#chance.between(0, 3000), () => this.#handle(request));
      return;
    }
    if (this.#is(0.05)) return;
    const arrive = (): void => {
      const state = this.#state.get(region);
      if (state === 'silent') {
        this.#held.push(request);
        this.#wakers.set(request, arrive);
        return;
      }
      if (state === 'down') {
        fail({ outcome: 'unknown', code: 'CONNECTION_LOST' }, 0);
        return;
      }
      const answer = this.#handle(request);
      if (this.#is(0.1)) fail({ outcome: 'unknown', code: 'CONNECTION_LOST' }, this.#chance.between(0, 30));
      else if (!this.#is(0.1)) {
        this.#at(this.#chance.between(0, 60), () => tell({ type: 'answered', attempt: id, answer }));
      }
    };
    this.#at(this.#chance.between(0, 60), arrive);
  }

  #handle(request: Request): Answer {
    const position = { epoch: epochOf(this.#gcn), lsn: 1 };
    if (this.#is(0.1)) return { outcome: 'refused', code: 'TOO_MANY_REQUESTS', retryAfterMs: 20 };
    if (request.isRead) {
      if (this.#is(0.3))
        return { outcome: 'refused', code: this.#chance.pick(['NOT_READY', 'SESSION_AHEAD', 'DAMAGED']) };
      return { outcome: 'done', position };
    }
    if (this.#writer !== request.region) {
      const gcn = Math.max(1, this.#gcn - this.#chance.between(0, 2));
      const region = gcn === this.#gcn ? this.#writer : this.#chance.pick(REGIONS);
      const writer = region === undefined || this.#chance.is(0.5) ? {} : { writer: { region, gcn } };
      return { outcome: 'refused', code: 'NOT_WRITER', ...writer };
    }
    const status = this.#apply(request);
    if (this.#is(0.1)) return { outcome: 'unknown' };
    return { outcome: 'done', position, results: [{ status }] };
  }

  /** The writer judges it, and keeps the operation ids of what it did. */
  #apply({ repeatable }: Request): number {
    if (this.applied > 0 && repeatable === 'by operation id') return 200;
    if (this.applied > 0 && repeatable === 'by condition') return 412;
    if (this.#isUnmet) return 409;
    this.applied += 1;
    return 200;
  }

  #at(inMs: number, run: () => void): void {
    this.#events.push({ atMs: this.now + inMs, order: (this.#order += 1), run });
  }

  #first(): { atMs: number; run: () => void } | undefined {
    let best = 0;
    for (const [at, event] of this.#events.entries()) {
      const other = this.#events[best]!;
      if (event.atMs < other.atMs || (event.atMs === other.atMs && event.order < other.order)) best = at;
    }
    return this.#events.splice(best, 1)[0];
  }
}

const seeds = fc.integer({ min: 0, max: 2 ** 31 });
const kinds = fc.constantFrom<Repeatable>('by operation id', 'by condition', 'no');
const check = { seed: 20, numRuns: 3000 };
const write = (repeatable: Repeatable, deadlineAtMs: number): OperationOptions => ({
  partitionSet: 'items-00',
  kind: 'write',
  repeatable,
  deadlineAtMs,
});

describe('a write in a world of faults', () => {
  test('what it is reported to have done is what happened', () => {
    const seen = { done: 0, notApplied: 0, unknown: 0, rejected: 0 };
    fc.assert(
      fc.property(seeds, kinds, fc.nat({ max: 4000 }), (seed, repeatable, deadlineAtMs) => {
        const world = new World({ seed, calmAtMs: 5000, faults: 1, rejects: true });
        const options = { ...write(repeatable, deadlineAtMs), tellsSending: seed % 2 === 0 };
        const { result, applied } = world.run(new RegionCache(REGIONS), options);
        expect(applied, 'carried out at most once').toBeLessThanOrEqual(1);
        if (result?.ok === true) {
          expect(applied, 'done').toBe(1);
          seen.done += 1;
        } else {
          const { error, answer } = result!;
          if (error.outcome === 'notApplied') expect(applied, 'not applied').toBe(0);
          seen[error.outcome] += 1;
          if (answer !== undefined) seen.rejected += 1;
        }
      }),
      check,
    );
    expect(Math.min(...Object.values(seen)), JSON.stringify(seen)).toBeGreaterThan(100);
  });

  test('with a door it is attempted elsewhere only after a doubt, and what it is reported to have done is what happened', () => {
    const seen = { here: 0, elsewhere: 0, notHere: 0, unknown: 0 };
    const doors = fc.record({ region: fc.constantFrom(...REGIONS), holdMs: fc.nat({ max: 1500 }) });
    fc.assert(
      fc.property(seeds, kinds, doors, fc.nat({ max: 4000 }), (seed, repeatable, door, deadlineAtMs) => {
        const world = new World({ seed, calmAtMs: 5000, faults: 1, rejects: true });
        const options = { ...write(repeatable, deadlineAtMs), door, tellsSending: seed % 2 === 0 };
        const { result, applied, started } = world.run(new RegionCache(REGIONS), options);
        const firstDoubt = started.findIndex(({ inDoubt }) => inDoubt > 0);
        const sure = firstDoubt < 0 ? started : started.slice(0, firstDoubt);
        for (const { region } of sure) expect(region, 'nothing was in doubt').toBe(door.region);
        expect(applied, 'carried out at most once').toBeLessThanOrEqual(1);
        if (result?.ok === true) {
          expect(applied, 'done').toBe(1);
          seen[result.region === door.region ? 'here' : 'elsewhere'] += 1;
          return;
        }
        const { code, outcome } = result!.error;
        if (outcome === 'notApplied') expect(applied, 'not applied').toBe(0);
        else seen.unknown += 1;
        if (code !== 'NOT_WRITER_HERE') return;
        expect(outcome).toBe('notApplied');
        expect(sure).toBe(started);
        seen.notHere += 1;
      }),
      check,
    );
    expect(Math.min(...Object.values(seen)), JSON.stringify(seen)).toBeGreaterThan(100);
  });

  test('nothing starts at its deadline or after', () => {
    fc.assert(
      fc.property(seeds, kinds, fc.nat({ max: 3000 }), (seed, repeatable, deadlineAtMs) => {
        const world = new World({ seed, calmAtMs: 10_000, faults: 1 });
        const { started, doneAtMs } = world.run(new RegionCache(REGIONS), write(repeatable, deadlineAtMs));
        for (const { atMs } of started) expect(atMs).toBeLessThan(deadlineAtMs);
        expect(doneAtMs).toBeLessThanOrEqual(deadlineAtMs + 15);
      }),
      check,
    );
  });

  test('without an operation id it is attempted again only on proof that nothing was done', () => {
    let again = 0;
    fc.assert(
      fc.property(seeds, (seed) => {
        const world = new World({ seed, calmAtMs: 5000, faults: 1 });
        const { started } = world.run(new RegionCache(REGIONS), write('no', 4000));
        for (const { inDoubt } of started) expect(inDoubt).toBe(0);
        again += started.length - 1;
      }),
      check,
    );
    expect(again).toBeGreaterThan(1000);
  });

  test('ends well soon after the faults have ended', () => {
    let waited = 0;
    fc.assert(
      fc.property(seeds, fc.nat({ max: 5000 }), (seed, calmAtMs) => {
        const world = new World({ seed, calmAtMs, faults: 1 });
        const options = write('by operation id', calmAtMs + 60_000);
        const { result, doneAtMs } = world.run(new RegionCache(REGIONS), options);
        expect(result!.ok).toBe(true);
        expect(doneAtMs - calmAtMs).toBeLessThan(2500);
        if (doneAtMs > calmAtMs) waited += 1;
      }),
      check,
    );
    expect(waited).toBeGreaterThan(100);
  });

  test('is attempted a bounded number of times', () => {
    fc.assert(
      fc.property(seeds, fc.integer({ min: 1, max: 6 }), (seed, maxAttempts) => {
        const world = new World({ seed, calmAtMs: 5000, faults: 1 });
        const options = { ...write('by operation id', 4000), settings: { maxAttempts } };
        expect(world.run(new RegionCache(REGIONS), options).started.length).toBeLessThanOrEqual(maxAttempts);
      }),
      { ...check, numRuns: 500 },
    );
  });

  test('goes round no faster than the backoff allows while there is no writer', () => {
    const plan = new OperationPlan<NodeAnswer>(new RegionCache(REGIONS), write('by operation id', 10_000));
    let attempts = 0;
    let now = 0;
    let timerAtMs = 0;
    let events: PlanEvent<NodeAnswer>[] = [{ type: 'start' }];
    while (!plan.isDone) {
      if (events.length === 0) {
        now = timerAtMs;
        events.push({ type: 'timer' });
      }
      const outputs = events.flatMap((event) => plan.handle(event, now, 0));
      events = [];
      for (const output of outputs) {
        if (output.type === 'attempt') {
          attempts += 1;
          events.push({
            type: 'answered',
            attempt: output.id,
            answer: { outcome: 'refused', code: 'NOT_WRITER' },
          });
        } else if (output.type === 'setTimer') timerAtMs = now + output.inMs;
      }
    }
    expect(attempts).toBeGreaterThan(3 * 60);
    expect(attempts).toBeLessThan(3 * (10_000 / 125 + 5));
  });
});

describe('a read in a world of faults', () => {
  const read = (deadlineAtMs: number, hedge?: OperationOptions['hedge']): OperationOptions => ({
    partitionSet: 'items-00',
    kind: 'read',
    level: 'Session',
    accountLevel: 'Strong',
    deadlineAtMs,
    ...(hedge && { hedge }),
  });

  test('ends well soon after the faults have ended, and never starts late', () => {
    fc.assert(
      fc.property(seeds, fc.nat({ max: 3000 }), (seed, calmAtMs) => {
        const world = new World({ seed, calmAtMs, faults: 2 });
        const options = read(calmAtMs + 60_000);
        const { result, doneAtMs } = world.run(new RegionCache(REGIONS), options);
        expect(result!.ok).toBe(true);
        expect(doneAtMs - calmAtMs).toBeLessThan(4500);
        const hedge = { afterMs: 29, budget: new HedgeBudget() };
        const short = new World({ seed, calmAtMs, faults: 2 }).run(new RegionCache(REGIONS), read(30, hedge));
        for (const { atMs } of short.started) expect(atMs).toBeLessThan(30);
      }),
      { ...check, numRuns: 1500 },
    );
  });

  test('is hedged once, and no more often than the budget allows', () => {
    fc.assert(
      fc.property(seeds, fc.integer({ min: 1, max: 60 }), (seed, reads) => {
        const budget = new HedgeBudget({ ratio: 0.1, saved: 3 });
        const cache = new RegionCache(REGIONS);
        let hedges = 0;
        for (let at = 0; at < reads; at += 1) {
          const world = new World({ seed: seed + at, calmAtMs: 1000, faults: 1 });
          const { started } = world.run(cache, read(5000, { afterMs: 20, budget }));
          const mine = started.filter(({ hedge }) => hedge);
          expect(mine.length).toBeLessThanOrEqual(1);
          for (const hedge of mine) expect(hedge.region).not.toBe(started[0]!.region);
          hedges += mine.length;
        }
        expect(hedges).toBeLessThanOrEqual(1 + reads * 0.1 + 1e-9);
        if (reads > 40) expect(hedges).toBeGreaterThan(1);
      }),
      { ...check, numRuns: 40 },
    );
  });
});
