/** Runs the plan of one operation (`plan-run.ts`) in a real process: attempts are calls that resolve or reject, and can be given up. */
import type { Host } from '../../protocol/index.ts';
import { RpcError } from '../../transport/index.ts';
import type { AttemptFailure, NodeAnswer, OperationOptions, RegionCache } from '../core/index.ts';
import { type PlannedAttempt, PlanRun, type PlanRan, type Said } from './plan-run.ts';

export interface AttemptCall {
  readonly region: string;
  /** What the node is told. */
  readonly timeoutMs: number;
  /** Until the deadline: an answer that comes late is an answer too. */
  readonly leftMs: number;
  readonly signal: AbortSignal;
  /** Throws if the attempt has been given up: then it must not be sent. */
  readonly onSending: () => void;
}

export interface Running<A extends NodeAnswer> {
  readonly host: Host;
  readonly cache: RegionCache;
  readonly options: OperationOptions;
  /** Rejects with an RpcError; anything else is a defect and ends the operation. */
  readonly send: (call: AttemptCall) => Promise<A>;
  /** The name of the node there, for diagnostics. */
  readonly nodeIn: (region: string) => string | undefined;
  readonly signals: readonly AbortSignal[];
  readonly onWriterWanted?: (withinMs: number) => void;
  readonly onMapOutdated: () => void;
}

export function runPlan<A extends NodeAnswer>(running: Running<A>): Promise<PlanRan<A>> {
  return new Promise((resolve, reject) => {
    new CallRun(running, resolve, reject).start();
  });
}

class CallRun<A extends NodeAnswer> {
  readonly #running: Running<A>;
  readonly #run: PlanRun<A>;
  readonly #underWay = new Map<number, AbortController>();
  readonly #reject: (error: unknown) => void;

  constructor(running: Running<A>, resolve: (ran: PlanRan<A>) => void, reject: (error: unknown) => void) {
    const { host, cache, options, onMapOutdated, onWriterWanted } = running;
    this.#running = running;
    this.#reject = reject;
    this.#run = new PlanRun<A>({
      host,
      cache,
      options: { ...options, tellsSending: true, findsWriters: onWriterWanted !== undefined },
      attempt: (attempt, tell) => void this.#attempt(attempt, tell),
      onCancel: (attempt) => this.#underWay.get(attempt)?.abort(),
      onMapOutdated,
      ...(onWriterWanted && { onWriterWanted }),
      onDone: (ran) => {
        this.#end();
        resolve(ran);
      },
      onDefect: (error) => this.#fail(error),
    });
  }

  start(): void {
    const { signals } = this.#running;
    for (const signal of signals) signal.addEventListener('abort', this.#onAbort, { once: true });
    if (signals.some(({ aborted }) => aborted)) this.#run.abort();
    else this.#run.start();
  }

  readonly #onAbort = (): void => this.#run.abort();

  #fail(error: unknown): void {
    this.#run.end();
    this.#end();
    this.#reject(error);
  }

  #end(): void {
    for (const signal of this.#running.signals) signal.removeEventListener('abort', this.#onAbort);
    for (const controller of this.#underWay.values()) controller.abort();
    this.#underWay.clear();
  }

  async #attempt({ id, region, timeoutMs }: PlannedAttempt, tell: (said: Said<A>) => void): Promise<void> {
    const { host, options, send, nodeIn } = this.#running;
    const controller = new AbortController();
    this.#underWay.set(id, controller);
    const leftMs = options.deadlineAtMs - host.now();
    const { signal } = controller;
    const onSending = (): void => {
      if (signal.aborted) throw new RpcError('ABORTED', 'The attempt was given up before it was sent.');
      tell({ isSending: true });
    };
    let said: Said<A>;
    try {
      said = { answer: await send({ region, timeoutMs, leftMs, signal, onSending }) };
    } catch (error) {
      if (!(error instanceof RpcError)) {
        this.#fail(error);
        return;
      }
      said = { failure: failureIn(error) };
    }
    this.#underWay.delete(id);
    const node = nodeIn(region);
    tell(node === undefined ? said : { ...said, node });
  }
}

function failureIn({ code, outcome, retryAfterMs }: RpcError): AttemptFailure {
  return {
    outcome: outcome === 'rejected' ? 'not sent' : 'unknown',
    code,
    ...(retryAfterMs > 0 && { retryAfterMs }),
  };
}

/** What cannot be read was an answer all the same: the request may have been carried out. */
export function decoded<A>(decode: (payload: Buffer) => A, payload: Buffer): A {
  try {
    return decode(payload);
  } catch (error) {
    throw new RpcError('ANSWER_MALFORMED', 'The answer of the node cannot be understood.', {
      outcome: 'unknown',
      cause: error,
    });
  }
}
