/**
 * One operation on one partition-set, from the call to its answer, as a pure state machine: events in, outputs out, the time and a
 * random number with every event. Whoever runs it opens connections and sets timers; it decides.
 *
 * Writes go where they last worked. A region that says it is not the writer, or cannot be reached, sends the operation on at once;
 * when all of them have, it waits a little, longer each time, and goes round again: that is how a failover of some seconds looks
 * from here. What one operation learns of the new writer wakes the others that wait. A region that says nothing is left after a while but not given up: the write may be on its way, so its answer still
 * counts, and while it may come nothing can be called "not applied".
 *
 * A write whose outcome is unknown is sent again only if that is harmless (`repeatable`). One that is not waits for its only
 * answer until the deadline. Reads are always harmless; they go to the nearest region, and may be hedged.
 *
 * A write may come with a door (`core/door.ts`): then one region is asked, and the others only to learn the truth.
 *
 * Nothing starts at or after the deadline: the server remembers operation ids as long as its log reaches back, so no operation is
 * taken up again later.
 */
import { isStronger, type ReadLevel, type RegionName } from '../../engine/core/index.ts';
import { assert } from '../../protocol/index.ts';
import { type Attempt, type AttemptDiagnostics, Attempts } from './attempts.ts';
import { type Choice, orderForRead, orderForWrite, type Why, withPreferred, withWriter } from './choosing.ts';
import { type Door, DoorKeeper } from './door.ts';
import { type ClientErrorCode, type ClientFailure, codeOfStatus, failureOf } from './errors.ts';
import type { HedgeBudget } from './hedging.ts';
import {
  agreedRefusal,
  type AttemptFailure,
  codeOf,
  type DoneAnswer,
  judgeAnswer,
  judgeFailure,
  type NodeAnswer,
  type Repeatable,
  speaksAgainstMap,
  type Verdict,
} from './judging.ts';
import { backoffMs, holdMs, patienceMs, PLAN_SETTINGS, type PlanSettings } from './pacing.ts';
import type { OperationKind, RegionCache } from './regions.ts';

export interface OperationOptions {
  readonly partitionSet: string;
  readonly kind: OperationKind;
  /** On the clock that the events are timed with. */
  readonly deadlineAtMs: number;
  /** Of a write; a read always is. */
  readonly repeatable?: Repeatable;
  /** Of a read, and of the account: a read may ask for less, never for more. */
  readonly level?: ReadLevel;
  readonly accountLevel?: ReadLevel;
  readonly hedge?: { readonly afterMs: number | 'p95'; readonly budget: HedgeBudget };
  /** Of a write. */
  readonly door?: Door;
  /** Of a read: asked first, however near the others are. */
  readonly preferred?: RegionName;
  /** `sending` is called for every attempt that is sent; until then it certainly is not carried out. */
  readonly tellsSending?: boolean;
  /** `findWriter` is carried out, and what is found goes into the cache. */
  readonly findsWriters?: boolean;
  readonly settings?: Partial<PlanSettings>;
}

export type PlanEvent<A extends NodeAnswer> =
  | { readonly type: 'start' }
  | { readonly type: 'answered'; readonly attempt: number; readonly answer: A; readonly node?: string }
  | {
      readonly type: 'failed';
      readonly attempt: number;
      readonly failure: AttemptFailure;
      readonly node?: string;
    }
  | { readonly type: 'timer' }
  /** Another operation has learnt of a writer: the cache has it. */
  | { readonly type: 'news' }
  | { readonly type: 'abort' };

/** The writer judged the write and did nothing. The position of its answer belongs to the session too. */
export interface Rejected<A extends NodeAnswer> {
  readonly ok: false;
  readonly error: ClientFailure;
  readonly answer: DoneAnswer<A>;
  readonly region: RegionName;
}

export type PlanResult<A extends NodeAnswer> =
  | { readonly ok: true; readonly answer: DoneAnswer<A>; readonly region: RegionName }
  | Rejected<A>
  | {
      readonly ok: false;
      readonly error: ClientFailure;
      readonly answer?: undefined;
      readonly region?: undefined;
    };

export type PlanOutput<A extends NodeAnswer> =
  | {
      readonly type: 'attempt';
      readonly id: number;
      readonly region: RegionName;
      readonly kind: OperationKind;
      /** For how long an answer is of use; the node is told. */
      readonly timeoutMs: number;
      readonly hedge: boolean;
      readonly why: Why;
    }
  | { readonly type: 'cancel'; readonly attempt: number }
  /** Replaces the one that was set before. Whole milliseconds. */
  | { readonly type: 'setTimer'; readonly inMs: number }
  /** A node does not know the partition-set: the container's map may be out of date. */
  | { readonly type: 'refreshMap' }
  /** Nobody that was asked can write: somebody may, within this time. */
  | { readonly type: 'findWriter'; readonly withinMs: number }
  | {
      readonly type: 'done';
      readonly result: PlanResult<A>;
      readonly diagnostics: readonly AttemptDiagnostics[];
    };

const THROTTLES: ReadonlySet<string | undefined> = new Set(['TOO_MANY_REQUESTS', 'BUSY']);

interface Pause {
  readonly untilMs: number;
  /** Where to go on; absent: a new round. */
  readonly region?: RegionName;
}

export class OperationPlan<A extends NodeAnswer> {
  readonly #cache: RegionCache;
  readonly #options: OperationOptions;
  readonly #settings: PlanSettings;
  readonly #attempts: Attempts;
  readonly #door: DoorKeeper;
  #outputs: PlanOutput<A>[] = [];
  #begunAtMs = 0;
  #isDone = false;
  #timerAtMs: number | undefined;
  #hedgeAtMs: number | undefined;
  #pause: Pause | undefined;
  /** Rounds over all regions that ended without an answer. */
  #rounds = 0;
  /** What each region was tried with in this round. */
  readonly #round = new Map<RegionName, string | undefined>();
  #throttledInARow = 0;
  #isSessionAhead = false;
  #hasAskedForMap = false;

  constructor(cache: RegionCache, options: OperationOptions) {
    this.#cache = cache;
    this.#options = options;
    this.#settings = { ...PLAN_SETTINGS, ...options.settings };
    const { tellsSending = false } = options;
    this.#attempts = new Attempts(options.kind, { tellsSending });
    this.#door = new DoorKeeper(options.kind === 'write' ? options.door : undefined);
  }

  /** `random` is in 0 .. 1, and new with every event. */
  handle(event: PlanEvent<A>, nowMs: number, random: number): readonly PlanOutput<A>[] {
    this.#outputs = [];
    this.#take(event, nowMs, random);
    if (!this.#isDone && nowMs >= this.#options.deadlineAtMs) this.#isTooLate(nowMs);
    if (!this.#isDone) this.#goOn(nowMs, random);
    if (!this.#isDone) this.#setTimer(nowMs);
    return this.#outputs;
  }

  /**
   * The attempt is about to be given to a connection. To be called before it is, not when its turn comes: nothing may be said of an
   * operation that is on its way as if it were not. Not of an attempt that was cancelled or has ended.
   */
  sending(attempt: number): void {
    this.#attempts.sent(attempt);
  }

  get isDone(): boolean {
    return this.#isDone;
  }

  #take(event: PlanEvent<A>, nowMs: number, random: number): void {
    switch (event.type) {
      case 'start':
        return this.#start(nowMs);
      case 'answered':
        return this.#answered(event.attempt, event.answer, event.node, nowMs, random);
      case 'failed':
        return this.#failed(event.attempt, event.failure, event.node, nowMs, random);
      case 'timer':
        this.#timerAtMs = undefined;
        return this.#isDone ? undefined : this.#look(nowMs);
      case 'news':
        return this.#isDone ? undefined : this.#heardOfWriter();
      case 'abort':
        return this.#isDone ? undefined : this.#fail('ABORTED', nowMs);
    }
  }

  #start(nowMs: number): void {
    if (this.#isDone) return;
    assert(this.#attempts.count === 0, 'an operation starts once');
    this.#begunAtMs = nowMs;
    const { level, accountLevel, hedge } = this.#options;
    if (level !== undefined && accountLevel !== undefined && isStronger(level, accountLevel)) {
      this.#fail('LEVEL_TOO_STRONG', nowMs);
    }
    hedge?.budget.earn();
  }

  // ---- what comes back

  #answered(id: number, answer: A, node: string | undefined, nowMs: number, random: number): void {
    const attempt = this.#attempts.pending(id);
    if (attempt === undefined) return;
    const { partitionSet, kind } = this.#options;
    const verdict = judgeAnswer(kind, answer);
    const code = codeOf(answer, verdict);
    end(attempt, code, node, nowMs);
    attempt.isAnswered = true;
    const times = { startedAtMs: attempt.startedAtMs, nowMs };
    if (answer.outcome === 'done') {
      if (kind === 'read') this.#cache.read(partitionSet, attempt.region, times);
      else this.#cache.wrote(partitionSet, attempt.region, { ...times, position: answer.position });
    } else if (verdict.type === 'elsewhere' || verdict.type === 'doubtful') {
      this.#cache.refused(partitionSet, attempt.region, kind, code, nowMs);
    }
    if (answer.outcome === 'refused' && answer.writer !== undefined) {
      const isNews = this.#cache.hinted(partitionSet, answer.writer, nowMs);
      if (isNews && kind === 'write') this.#tryAgain(answer.writer.region);
    }
    if (!this.#isDone) this.#judged(attempt, verdict, nowMs, random, answer);
  }

  /** Somebody knows better than this region did when it was asked. */
  #tryAgain(region: RegionName): void {
    this.#round.delete(region);
    if (this.#pause?.region === undefined) this.#pause = undefined;
  }

  /** Who waits for a writer need not wait any longer, nor go round. At a door it is that region that has to say so. */
  #heardOfWriter(): void {
    const region = this.#door.only ?? this.#cache.likelyWriter(this.#options.partitionSet)?.region;
    if (region !== undefined && this.#round.get(region) !== undefined) this.#tryAgain(region);
  }

  #failed(
    id: number,
    failure: AttemptFailure,
    node: string | undefined,
    nowMs: number,
    random: number,
  ): void {
    const attempt = this.#attempts.pending(id);
    if (attempt === undefined) return;
    const { partitionSet, kind } = this.#options;
    const verdict = judgeFailure(kind, failure);
    // That it is silent was noted when it was left.
    const isNews = attempt.state === 'open' && verdict.type !== 'later' && verdict.type !== 'final';
    end(attempt, failure.code, node, nowMs);
    if (this.#isDone) return;
    if (isNews && !speaksAgainstMap(failure.code))
      this.#cache.failed(partitionSet, attempt.region, failure.code, nowMs);
    this.#judged(attempt, verdict, nowMs, random);
  }

  #judged(attempt: Attempt, verdict: Verdict, nowMs: number, random: number, answer?: A): void {
    if (verdict.type !== 'good' && verdict.type !== 'doubtful') attempt.mayBeApplied = false;
    const code = attempt.code!;
    this.#round.set(attempt.region, code);
    if (code === 'SESSION_AHEAD') this.#isSessionAhead = true;
    if (speaksAgainstMap(code) && !this.#hasAskedForMap) {
      this.#hasAskedForMap = true;
      this.#outputs.push({ type: 'refreshMap' });
    }
    switch (verdict.type) {
      case 'good':
        return this.#finish({ ok: true, answer: answer as DoneAnswer<A>, region: attempt.region }, nowMs);
      case 'rejected': {
        const { status, message } = verdict.result;
        const error = failureOf(codeOfStatus(status), this.#attempts.outcome, { status, message });
        const { region } = attempt;
        return this.#finish({ ok: false, error, answer: answer as DoneAnswer<A>, region }, nowMs);
      }
      case 'final':
        return this.#fail(verdict.code, nowMs, verdict);
      case 'doubtful':
        this.#door.open();
        return this.#mayRepeat ? undefined : this.#fail('OUTCOME_UNKNOWN', nowMs);
      case 'later':
        return this.#comeBack(attempt.region, verdict.afterMs, nowMs, random);
      case 'elsewhere':
        this.#throttledInARow = 0;
        if (this.#door.leadsAway(answer, this.#cache, this.#options.partitionSet))
          this.#fail('NOT_WRITER_HERE', nowMs);
    }
  }

  /** A region that is not the writer may be busy too: after some times the others are asked. */
  #comeBack(region: RegionName, afterMs: number, nowMs: number, random: number): void {
    this.#throttledInARow += 1;
    if (this.#throttledInARow % this.#settings.throttlesInARow === 0) return;
    this.#pause = { untilMs: nowMs + Math.max(1, afterMs) * (1 + random / 2), region };
  }

  get #mayRepeat(): boolean {
    return this.#options.kind === 'read' || (this.#options.repeatable ?? 'no') !== 'no';
  }

  // ---- what is done next

  /** Leaves who is silent; sends the hedge. */
  #look(nowMs: number): void {
    for (const attempt of this.#attempts.open()) {
      if (nowMs >= attempt.leaveAtMs) this.#leave(attempt, nowMs);
    }
    if (this.#hedgeAtMs === undefined || nowMs < this.#hedgeAtMs) return;
    this.#hedgeAtMs = undefined;
    const isUnderWay = this.#attempts.count === 1 && this.#attempts.open().length === 1;
    if (!isUnderWay || nowMs >= this.#options.deadlineAtMs) return;
    const choice = this.#next(nowMs);
    if (choice !== undefined && this.#mayAttempt && this.#options.hedge!.budget.spend()) {
      this.#begin(choice.region, 'hedge', nowMs);
    }
  }

  #leave(attempt: Attempt, nowMs: number): void {
    this.#cache.failed(this.#options.partitionSet, attempt.region, 'SILENT', nowMs);
    if (!attempt.isSent && this.#door.only !== undefined) {
      // It has not left yet, and shall not: so nothing is in doubt.
      this.#outputs.push({ type: 'cancel', attempt: attempt.id });
      this.#throttledInARow = 0;
      return end(attempt, 'SILENT', undefined, nowMs);
    }
    attempt.state = 'left';
    this.#door.open();
  }

  get #mayAttempt(): boolean {
    return this.#attempts.count < this.#settings.maxAttempts;
  }

  #goOn(nowMs: number, random: number): void {
    if (this.#attempts.open().length > 0) return;
    if (this.#isLedAway || nowMs >= this.#heldUntilMs) return this.#fail('NOT_WRITER_HERE', nowMs);
    if (!this.#mayAttempt) {
      if (this.#attempts.unfinished().length === 0) this.#fail('ATTEMPTS_EXHAUSTED', nowMs);
      return;
    }
    const pause = this.#pause;
    if (pause !== undefined) {
      if (nowMs < pause.untilMs) return;
      this.#pause = undefined;
      if (pause.region === undefined) this.#round.clear();
      else if (this.#isInTime(pause.region, nowMs))
        return this.#begin(pause.region, 'asked to come back', nowMs);
    }
    const choice = this.#next(nowMs);
    if (choice === undefined) this.#roundIsOver(nowMs, random);
    else this.#begin(choice.region, choice.why, nowMs);
  }

  /** Its region was asked in vain, and another one is known to write. */
  get #isLedAway(): boolean {
    if (this.#attempts.count === 0 || this.#throttledInARow > 0) return false;
    return this.#door.isPassedBy(this.#cache, this.#options.partitionSet);
  }

  /** Every write is tried once; and who is the writer and busy is not told to be none. */
  get #heldUntilMs(): number {
    const isHeld = this.#attempts.count > 0 && this.#throttledInARow === 0;
    return isHeld ? this.#door.heldUntilMs(this.#begunAtMs) : Infinity;
  }

  /** A write that is sent when it can hardly be answered any more only turns "not applied" into "unknown". */
  #isInTime(region: RegionName, nowMs: number): boolean {
    const { kind, deadlineAtMs } = this.#options;
    if (kind === 'read' || this.#attempts.count === 0) return true;
    const usualMs = this.#cache.latency(region, kind).meanMs ?? 0;
    return deadlineAtMs - nowMs > Math.min(usualMs, this.#settings.lastChanceMs);
  }

  #next(nowMs: number): Choice | undefined {
    const order = this.#options.kind === 'write' ? this.#writeOrder(nowMs) : this.#readOrder(nowMs);
    return order.find(
      ({ region }) =>
        !this.#round.has(region) &&
        this.#isInTime(region, nowMs) &&
        !this.#attempts.isBusy(region, nowMs, this.#settings.resendAfterMs),
    );
  }

  #writeOrder(nowMs: number): readonly Choice[] {
    const { only } = this.#door;
    if (only !== undefined) return [{ region: only, why: 'the door of the write' }];
    return orderForWrite(this.#cache, this.#options.partitionSet, nowMs);
  }

  #readOrder(nowMs: number): readonly Choice[] {
    const { partitionSet, preferred } = this.#options;
    let order = withPreferred(orderForRead(this.#cache, partitionSet, nowMs), preferred, (region) =>
      this.#cache.isAvoided(partitionSet, region, 'read', nowMs),
    );
    if (this.#attempts.count > 0)
      order = order.map((choice) => (choice.why === 'nearest' ? { ...choice, why: 'next nearest' } : choice));
    const writer = this.#isSessionAhead ? this.#cache.likelyWriter(partitionSet) : undefined;
    return withWriter(order, writer?.region, this.#rounds);
  }

  #roundIsOver(nowMs: number, random: number): void {
    const { only } = this.#door;
    const asked = only === undefined ? this.#cache.regions : [only];
    const codes = asked.map((region) => this.#round.get(region) ?? '');
    const agreed = agreedRefusal(codes);
    if (agreed !== undefined) return this.#fail(agreed, nowMs);
    const { kind, findsWriters = false } = this.#options;
    // Who is busy is the writer: there is none to be found.
    const isSought = findsWriters && kind === 'write' && !codes.some((code) => THROTTLES.has(code));
    const withinMs = backoffMs(this.#rounds, random, isSought, this.#settings);
    if (isSought) this.#outputs.push({ type: 'findWriter', withinMs });
    this.#pause = { untilMs: nowMs + withinMs };
    this.#rounds += 1;
  }

  #begin(region: RegionName, why: Why, nowMs: number): void {
    const { kind, hedge, deadlineAtMs } = this.#options;
    const leftMs = deadlineAtMs - nowMs;
    const latency = this.#cache.latency(region, kind);
    const patience = this.#mayRepeat
      ? patienceMs(latency, { kind, rounds: this.#rounds, leftMs }, this.#settings)
      : Infinity;
    const isHedge = why === 'hedge';
    const isFirst = this.#attempts.count === 0;
    const { id } = this.#attempts.begin({
      region,
      why,
      isHedge,
      startedAtMs: nowMs,
      leaveAtMs: nowMs + patience,
    });
    this.#round.set(region, undefined);
    if (isFirst && hedge !== undefined && kind === 'read') {
      const afterMs = hedge.afterMs === 'p95' ? (latency.p95Ms ?? patience / 2) : hedge.afterMs;
      this.#hedgeAtMs = nowMs + afterMs;
    }
    // A node holds a read that it cannot answer yet for as long as it is told; a write is told about at the end only.
    const readMs = Math.min(patience, leftMs, holdMs(this.#rounds, this.#settings));
    const timeoutMs = Math.ceil(kind === 'read' ? readMs : leftMs);
    this.#outputs.push({ type: 'attempt', id, region, kind, timeoutMs, hedge: isHedge, why });
  }

  #setTimer(nowMs: number): void {
    const moments = [this.#options.deadlineAtMs, ...this.#attempts.open().map(({ leaveAtMs }) => leaveAtMs)];
    if (this.#hedgeAtMs !== undefined) moments.push(this.#hedgeAtMs);
    if (this.#pause !== undefined) moments.push(this.#pause.untilMs, this.#heldUntilMs);
    const atMs = Math.min(...moments);
    if (atMs === this.#timerAtMs) return;
    this.#timerAtMs = atMs;
    this.#outputs.push({ type: 'setTimer', inMs: Math.ceil(Math.max(0, atMs - nowMs)) });
  }

  // ---- the end

  /** Whoever was silent until the deadline is not the first to be asked the next time. */
  #isTooLate(nowMs: number): void {
    for (const attempt of this.#attempts.open()) this.#leave(attempt, nowMs);
    this.#fail(this.#codeAtDeadline(), nowMs);
  }

  /** Says more than "too late" when every attempt ended in the same way. */
  #codeAtDeadline(): ClientErrorCode {
    if (this.#attempts.allEnded(({ code }) => THROTTLES.has(code))) return 'THROTTLED';
    if (this.#attempts.allEnded(({ isAnswered, mayBeApplied }) => !isAnswered && !mayBeApplied))
      return 'UNREACHABLE';
    return 'DEADLINE';
  }

  #fail(
    code: ClientErrorCode,
    nowMs: number,
    { status, message }: { readonly status?: number; readonly message?: string } = {},
  ): void {
    const last = this.#attempts.lastCode;
    const error = failureOf(code, this.#attempts.outcome, {
      message,
      ...(status !== undefined && { status }),
      ...(last !== undefined && { last }),
    });
    this.#finish({ ok: false, error }, nowMs);
  }

  #finish(result: PlanResult<A>, nowMs: number): void {
    this.#isDone = true;
    for (const { id } of this.#attempts.unfinished()) this.#outputs.push({ type: 'cancel', attempt: id });
    const diagnostics = this.#attempts.diagnostics(this.#begunAtMs, nowMs);
    this.#outputs.push({ type: 'done', result, diagnostics });
  }
}

function end(attempt: Attempt, code: string, node: string | undefined, nowMs: number): void {
  attempt.state = 'over';
  attempt.code = code;
  attempt.node = node;
  attempt.endedAtMs = nowMs;
}
