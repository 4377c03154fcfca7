/**
 * Runs the plan of one operation (`core/plan.ts`): the plan decides, this sets its timer, has its attempts made and tells it what came of
 * them. It knows no network and no promises, so that it is the same one in a process and in the simulator; who hosts it says
 * how an attempt is made.
 */
import type { Host, Timer } from '../../protocol/index.ts';
import {
  type AttemptDiagnostics,
  type AttemptFailure,
  type NodeAnswer,
  type OperationOptions,
  OperationPlan,
  type PlanEvent,
  type PlanOutput,
  type PlanResult,
  type RegionCache,
} from '../core/index.ts';

export type PlannedAttempt = Extract<PlanOutput<NodeAnswer>, { readonly type: 'attempt' }>;

/** What came of an attempt; that it is about to be sent, where `tellsSending` is set. */
export type Said<A> =
  | { readonly isSending: true; readonly node?: string }
  | { readonly answer: A; readonly node?: string }
  | { readonly failure: AttemptFailure; readonly node?: string };

export interface PlanRan<A extends NodeAnswer> {
  readonly result: PlanResult<A>;
  readonly attempts: readonly AttemptDiagnostics[];
}

export interface PlanRunOptions<A extends NodeAnswer> {
  readonly host: Pick<Host, 'now' | 'random' | 'after' | 'cancel'>;
  readonly cache: RegionCache;
  readonly options: OperationOptions;
  /** `tell` may be called at once, late, or any number of times. */
  readonly attempt: (attempt: PlannedAttempt, tell: (said: Said<A>) => void) => void;
  /** Nobody listens to that attempt any more. */
  readonly onCancel?: (attempt: number) => void;
  /** A region may say within this time that it can write the partition-set; what is learnt goes into the cache. */
  readonly onWriterWanted?: (withinMs: number) => void;
  readonly onMapOutdated: () => void;
  readonly onDone: (ran: PlanRan<A>) => void;
  /** Something threw: a defect. The run has ended. */
  readonly onDefect: (error: unknown) => void;
}

export class PlanRun<A extends NodeAnswer> {
  readonly #options: PlanRunOptions<A>;
  readonly #plan: OperationPlan<A>;
  readonly #cancelled = new Set<number>();
  readonly #events: PlanEvent<A>[] = [];
  #isHandling = false;
  #hasEnded = false;
  #timer: Timer | undefined;
  #unwatch: (() => void) | undefined;

  constructor(options: PlanRunOptions<A>) {
    this.#options = options;
    this.#plan = new OperationPlan<A>(options.cache, options.options);
  }

  start(): void {
    if (this.#hasEnded) return;
    const { cache, options } = this.#options;
    if (options.kind === 'write') this.#unwatch = cache.watch(options.partitionSet, this.#onNews);
    this.#take({ type: 'start' });
  }

  /** Its own is no news to it. */
  readonly #onNews = (): void => {
    if (!this.#isHandling) this.#take({ type: 'news' });
  };

  /** The caller gives the operation up. Before `start` it ends without an attempt. */
  abort(): void {
    this.#take({ type: 'abort' });
  }

  /** Without a result. */
  end(): void {
    this.#hasEnded = true;
    this.#unwatch?.();
    this.#options.host.cancel(this.#timer);
  }

  /** One at a time: what an output causes at once waits for the others. */
  #take(event: PlanEvent<A>): void {
    this.#events.push(event);
    if (this.#isHandling) return;
    this.#isHandling = true;
    try {
      for (let next = this.#events.shift(); next !== undefined; next = this.#events.shift()) {
        if (this.#hasEnded) continue;
        const { host } = this.#options;
        for (const output of this.#plan.handle(next, host.now(), host.random())) this.#carryOut(output);
      }
    } catch (error) {
      this.end();
      this.#options.onDefect(error);
    } finally {
      this.#isHandling = false;
    }
  }

  #carryOut(output: PlanOutput<A>): void {
    const { host, attempt, onCancel, onWriterWanted, onMapOutdated, onDone } = this.#options;
    switch (output.type) {
      case 'attempt':
        return attempt(output, (said) => this.#told(output.id, said));
      case 'cancel':
        this.#cancelled.add(output.attempt);
        return onCancel?.(output.attempt);
      case 'setTimer':
        host.cancel(this.#timer);
        this.#timer = host.after(output.inMs, () => this.#take({ type: 'timer' }));
        return;
      case 'refreshMap':
        return onMapOutdated();
      case 'findWriter':
        return onWriterWanted?.(output.withinMs);
      case 'done':
        this.end();
        onDone({ result: output.result, attempts: output.diagnostics });
    }
  }

  #told(attempt: number, said: Said<A>): void {
    if (this.#cancelled.has(attempt)) return;
    if ('isSending' in said) return this.#hasEnded ? undefined : this.#plan.sending(attempt);
    const node = said.node === undefined ? {} : { node: said.node };
    if ('answer' in said) this.#take({ type: 'answered', attempt, answer: said.answer, ...node });
    else this.#take({ type: 'failed', attempt, failure: said.failure, ...node });
  }
}
