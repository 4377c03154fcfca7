/** How an agent's register is written: the packed form of a failover state, checked when it is read. */
import type { Codec } from '../caspaxos/index.ts';
import { type FailoverState, parseState, storedForm } from './core/index.ts';
import { FailoverError } from './errors.ts';

/**
 * For one call. It knows what it read or wrote last, so that neither what a change has just committed is read again, nor what
 * it leaves alone is written.
 */
export class StateCodec implements Codec<FailoverState> {
  readonly #known: FailoverState | undefined;
  #last: { readonly json: string; readonly state: FailoverState } | undefined;

  /** `known`: what the caller knew of the register before. */
  constructor(known?: FailoverState) {
    this.#known = known;
  }

  decode(json: string): FailoverState {
    if (this.#last?.json !== json) this.#last = { json, state: checked(JSON.parse(json), this.#known) };
    return this.#last.state;
  }

  encode(state: FailoverState): string {
    if (this.#last?.state !== state) this.#last = { json: JSON.stringify(storedForm(state)), state };
    return this.#last.json;
  }
}

function checked(value: unknown, known: FailoverState | undefined): FailoverState {
  const parsed = parseState(value, known);
  if ('value' in parsed) return parsed.value;
  const { code, message, field } = parsed.refusal;
  throw new FailoverError(code, message, field);
}
