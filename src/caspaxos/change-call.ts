/** One call of `change` while it is under way: what its register works on, and what ends it early. */
import type { Host } from '../protocol/index.ts';
import type { Backoff, ProposalResult, RegisterChange } from './core/index.ts';
import type { Deadlines, Expiring } from './deadlines.ts';
import { type JsonOutcome, outcomeOf } from './editing.ts';
import { CasPaxosError } from './errors.ts';
import type { UnknownOperation } from './outcomes.ts';
import type { Job, Register } from './register.ts';

export interface ChangeCallOptions {
  readonly change: RegisterChange;
  readonly register: Register;
  readonly force: boolean;
  readonly uncertain: boolean;
  readonly backoff: Backoff | undefined;
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
  readonly deadlines: Deadlines;
  readonly host: Host;
  /** The error of a deadline that passed, given what the change was still waiting for. */
  readonly late: (timeoutMs: number, waitsFor: string) => CasPaxosError;
}

export class ChangeCall implements Job, Expiring {
  readonly change: RegisterChange;
  readonly force: boolean;
  readonly uncertain: boolean;
  readonly backoff: Backoff | undefined;
  readonly startedAt: number;
  readonly deadlineAt: number;
  readonly #options: ChangeCallOptions;
  readonly #resolve: (outcome: JsonOutcome) => void;
  #endedBecause: CasPaxosError | undefined;

  constructor(options: ChangeCallOptions, resolve: (outcome: JsonOutcome) => void) {
    this.change = options.change;
    this.force = options.force;
    this.uncertain = options.uncertain;
    this.backoff = options.backoff;
    this.startedAt = options.host.now();
    this.deadlineAt = this.startedAt + options.timeoutMs;
    this.#options = options;
    this.#resolve = resolve;
  }

  start(): void {
    const { deadlines, signal, register } = this.#options;
    deadlines.add(this);
    signal?.addEventListener('abort', this, { once: true });
    if (register.run(this)) return;
    this.#endedBecause = new CasPaxosError(
      'OVERLOADED',
      'Too many changes of this register wait for their turn: make fewer at a time.',
    );
    this.finish({ outcome: this.uncertain ? 'unknown' : 'rejected' });
  }

  finish(result: ProposalResult<string>, because?: CasPaxosError): void {
    const { deadlines, signal } = this.#options;
    deadlines.remove(this);
    signal?.removeEventListener('abort', this);
    this.#resolve(outcomeOf(result, this.change, this.#endedBecause ?? because));
  }

  expire(why: 'late' | 'closed'): void {
    const { late, timeoutMs, register } = this.#options;
    this.#end(why === 'closed' ? closedError() : late(timeoutMs, register.whatKeeps(this)));
  }

  giveUp(): void {
    const { host, late, register } = this.#options;
    this.#end(late(host.now() - this.startedAt, register.whatKeeps(this)));
  }

  /** The signal aborted. */
  handleEvent(): void {
    this.#end(abortedError());
  }

  #end(error: CasPaxosError): void {
    this.#endedBecause ??= error;
    this.#options.register.cancel(this);
  }
}

export function closedError(): CasPaxosError {
  return new CasPaxosError('CLOSED', 'The cluster was closed.');
}

export function abortedError(): CasPaxosError {
  return new CasPaxosError('ABORTED', 'The caller aborted.');
}

/** Ended before it began. What a retried operation did before that is as unknown as it was. */
export function notBegun(
  { code, message }: CasPaxosError,
  retryOf: UnknownOperation | undefined,
): JsonOutcome {
  if (retryOf === undefined) return { outcome: 'rejected', error: new CasPaxosError(code, message) };
  return {
    outcome: 'unknown',
    error: new CasPaxosError(code, message, { outcome: 'unknown' }),
    operation: retryOf,
  };
}
