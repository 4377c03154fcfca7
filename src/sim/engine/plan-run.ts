/** Runs the plan of one operation in virtual time, as the SDK does, and notices what a plan may never do. */
import {
  type NodeAnswer,
  type OperationOptions,
  type PlannedAttempt,
  PlanRun,
  type PlanRan,
  type RegionCache,
  type Said,
} from '../../client/index.ts';
import type { Timer } from '../../protocol/index.ts';
import type { SimProcess } from '../process.ts';

export interface SimulatedPlan<A extends NodeAnswer> {
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

/** Timers are in whole milliseconds, on a clock that drifts. */
const ROUNDING_MS = 2;

export function runPlan<A extends NodeAnswer>(plan: SimulatedPlan<A>): Promise<PlanRan<A>> {
  const { process, cache, options, deadlineAtMs, abortAfterMs, send, onWrong } = plan;
  return new Promise((resolve, reject) => {
    let giveUp: Timer | undefined;
    const run = new PlanRun<A>({
      host: process,
      cache,
      options,
      attempt: (attempt, tell) => {
        if (process.now() >= deadlineAtMs) onWrong('an attempt started after the deadline');
        send(attempt, tell);
      },
      onMapOutdated: () => onWrong('a node was said not to know a partition-set that all have'),
      onDone: (ran) => {
        process.cancel(giveUp);
        if (process.now() > deadlineAtMs + ROUNDING_MS) onWrong('an operation went on after its deadline');
        resolve(ran);
      },
      onDefect: reject,
    });
    if (abortAfterMs !== undefined) giveUp = process.after(abortAfterMs, () => run.abort());
    run.start();
  });
}
