/**
 * Runs the plan of one operation (`core/plan.ts`) in a real process: the plan decides, this sets its timer, sends its attempts and
 * tells it what came of them.
 */
import type { Host, Timer } from '../../protocol/index.ts';
import { RpcError } from '../../transport/index.ts';
import {
  type AttemptDiagnostics,
  type AttemptFailure,
  type NodeAnswer,
  OperationPlan,
  type OperationOptions,
  type PlanEvent,
  type PlanOutput,
  type PlanResult,
  type RegionCache,
} from '../core/index.ts';

export interface AttemptCall {
  readonly region: string;
  /** What the node is told. */
  readonly timeoutMs: number;
  /** Until the deadline: an answer that comes late is an answer too. */
  readonly leftMs: number;
  readonly signal: AbortSignal;
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
  readonly onMapOutdated: () => void;
}

export interface Ran<A extends NodeAnswer> {
  readonly result: PlanResult<A>;
  readonly attempts: readonly AttemptDiagnostics[];
}

export function runPlan<A extends NodeAnswer>(running: Running<A>): Promise<Ran<A>> {
  return new Promise((resolve, reject) => {
    new PlanRun(running, resolve, reject).start();
  });
}

class PlanRun<A extends NodeAnswer> {
  readonly #running: Running<A>;
  readonly #plan: OperationPlan<A>;
  readonly #resolve: (ran: Ran<A>) => void;
  readonly #reject: (error: unknown) => void;
  readonly #underWay = new Map<number, AbortController>();
  readonly #events: PlanEvent<A>[] = [];
  #isHandling = false;
  /** Whether any attempt got as far as a connection. */
  #wasSent = false;
  #timer: Timer | undefined;

  constructor(running: Running<A>, resolve: (ran: Ran<A>) => void, reject: (error: unknown) => void) {
    this.#running = running;
    this.#plan = new OperationPlan<A>(running.cache, running.options);
    this.#resolve = resolve;
    this.#reject = reject;
  }

  start(): void {
    const { signals } = this.#running;
    for (const signal of signals) signal.addEventListener('abort', this.#onAbort, { once: true });
    this.#take({ type: signals.some(({ aborted }) => aborted) ? 'abort' : 'start' });
  }

  readonly #onAbort = (): void => this.#take({ type: 'abort' });

  /** One at a time: what an output causes at once waits for the others. */
  #take(event: PlanEvent<A>): void {
    this.#events.push(event);
    if (this.#isHandling) return;
    this.#isHandling = true;
    try {
      for (let next = this.#events.shift(); next !== undefined; next = this.#events.shift()) {
        if (this.#plan.isDone) continue;
        const { host } = this.#running;
        for (const output of this.#plan.handle(next, host.now(), host.random())) this.#carryOut(output);
      }
    } catch (error) {
      this.#fail(error);
    } finally {
      this.#isHandling = false;
    }
  }

  #carryOut(output: PlanOutput<A>): void {
    switch (output.type) {
      case 'attempt':
        void this.#attempt(output);
        return;
      case 'cancel':
        this.#underWay.get(output.attempt)?.abort();
        return;
      case 'setTimer':
        this.#running.host.cancel(this.#timer);
        this.#timer = this.#running.host.after(output.inMs, () => this.#take({ type: 'timer' }));
        return;
      case 'refreshMap':
        this.#running.onMapOutdated();
        return;
      case 'done':
        this.#end();
        this.#resolve({ result: this.#certain(output.result), attempts: output.diagnostics });
    }
  }

  /** The plan takes an attempt that it has made for sent. If none got as far as a connection, nothing was carried out. */
  #certain(result: PlanResult<A>): PlanResult<A> {
    if (result.ok || this.#wasSent) return result;
    return { ...result, error: { ...result.error, outcome: 'notApplied' } };
  }

  #fail(error: unknown): void {
    this.#end();
    this.#reject(error);
  }

  #end(): void {
    const { host, signals } = this.#running;
    host.cancel(this.#timer);
    for (const signal of signals) signal.removeEventListener('abort', this.#onAbort);
    for (const controller of this.#underWay.values()) controller.abort();
    this.#underWay.clear();
  }

  async #attempt({
    id,
    region,
    timeoutMs,
  }: Extract<PlanOutput<A>, { readonly type: 'attempt' }>): Promise<void> {
    const { host, options, send } = this.#running;
    const controller = new AbortController();
    this.#underWay.set(id, controller);
    const leftMs = options.deadlineAtMs - host.now();
    const onSending = (): void => {
      this.#wasSent = true;
    };
    let event: PlanEvent<A>;
    try {
      const answer = await send({ region, timeoutMs, leftMs, signal: controller.signal, onSending });
      event = { type: 'answered', attempt: id, answer };
    } catch (error) {
      if (!(error instanceof RpcError)) {
        this.#fail(error);
        return;
      }
      event = { type: 'failed', attempt: id, failure: failureIn(error) };
    }
    this.#underWay.delete(id);
    const node = this.#running.nodeIn(region);
    this.#take(node === undefined ? event : { ...event, node });
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
