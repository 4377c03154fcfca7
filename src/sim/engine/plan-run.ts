/**
 * Runs the plan of one operation in virtual time, as the SDK runs it in a real process: the plan decides, this sets its timer, sends
 * its attempts and tells it what came of them. What the plan may never do is noticed here.
 */
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
} from '../../client/index.ts';
import type { Timer } from '../../protocol/index.ts';
import type { SimProcess } from '../process.ts';

export interface PlanRunOptions<A extends NodeAnswer> {
  readonly process: SimProcess;
  readonly cache: RegionCache;
  readonly options: OperationOptions;
  /** What users are promised: the operation has ended by then, and no attempt starts from then on. */
  readonly deadlineAtMs: number;
  /** The caller gives it up after so long. */
  readonly abortAfterMs?: number | undefined;
  /** `tell` may be called any number of times, also late. */
  readonly send: (attempt: PlannedAttempt, tell: (said: Said<A>) => void) => void;
  readonly onWrong: (sentence: string) => void;
}

export type PlannedAttempt = Extract<PlanOutput<NodeAnswer>, { readonly type: 'attempt' }>;

export type Said<A> = { readonly answer: A } | { readonly failure: AttemptFailure };

export interface PlanRan<A extends NodeAnswer> {
  readonly result: PlanResult<A>;
  readonly attempts: readonly AttemptDiagnostics[];
}

/** Timers are in whole milliseconds, on a clock that drifts. */
const ROUNDING_MS = 2;

export function runPlan<A extends NodeAnswer>(run: PlanRunOptions<A>): Promise<PlanRan<A>> {
  return new Promise((resolve) => {
    new PlanRun(run, resolve).start();
  });
}

class PlanRun<A extends NodeAnswer> {
  readonly #run: PlanRunOptions<A>;
  readonly #plan: OperationPlan<A>;
  readonly #resolve: (ran: PlanRan<A>) => void;
  readonly #cancelled = new Set<number>();
  #timer: Timer | undefined;
  #abort: Timer | undefined;

  constructor(run: PlanRunOptions<A>, resolve: (ran: PlanRan<A>) => void) {
    this.#run = run;
    this.#plan = new OperationPlan<A>(run.cache, run.options);
    this.#resolve = resolve;
  }

  start(): void {
    const { process, abortAfterMs } = this.#run;
    if (abortAfterMs !== undefined)
      this.#abort = process.after(abortAfterMs, () => this.#take({ type: 'abort' }));
    this.#take({ type: 'start' });
  }

  #take(event: PlanEvent<A>): void {
    if (this.#plan.isDone) return;
    const { process } = this.#run;
    for (const output of this.#plan.handle(event, process.now(), process.random())) this.#carryOut(output);
  }

  #carryOut(output: PlanOutput<A>): void {
    const { process, onWrong, deadlineAtMs } = this.#run;
    switch (output.type) {
      case 'attempt':
        if (process.now() >= deadlineAtMs) onWrong('an attempt started after the deadline');
        this.#run.send(output, (said) => this.#told(output.id, said));
        return;
      case 'cancel':
        this.#cancelled.add(output.attempt);
        return;
      case 'setTimer':
        process.cancel(this.#timer);
        this.#timer = process.after(output.inMs, () => this.#take({ type: 'timer' }));
        return;
      case 'refreshMap':
        onWrong('a node was said not to know a partition-set that all have');
        return;
      case 'done':
        process.cancel(this.#timer);
        process.cancel(this.#abort);
        if (process.now() > deadlineAtMs + ROUNDING_MS) onWrong('an operation went on after its deadline');
        this.#resolve({ result: output.result, attempts: output.diagnostics });
    }
  }

  #told(attempt: number, said: Said<A>): void {
    if (this.#cancelled.has(attempt)) return;
    if ('answer' in said) this.#take({ type: 'answered', attempt, answer: said.answer });
    else this.#take({ type: 'failed', attempt, failure: said.failure });
  }
}
