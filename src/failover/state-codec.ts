/** How an agent's register is written: the packed form of a failover state, checked when it is read. */
import type { Codec } from '../caspaxos/index.ts';
import { type FailoverState, parseState, storedForm } from './core/index.ts';
import { FailoverError } from './errors.ts';

/**
 * For one call. It knows what it read or wrote last, so that neither what a change has just committed is read again, nor what
 * it leaves alone is written.
 */
export class StateCodec implements Codec<FailoverState> {
  #last: { readonly json: string; readonly state: FailoverState } | undefined;

  decode(json: string): FailoverState {
    if (this.#last?.json !== json) this.#last = { json, state: checked(JSON.parse(json)) };
    return this.#last.state;
  }

  encode(state: FailoverState): string {
    if (this.#last?.state !== state) this.#last = { json: JSON.stringify(storedForm(state)), state };
    return this.#last.json;
  }
}

function checked(value: unknown): FailoverState {
  const parsed = parseState(value);
  if ('value' in parsed) return parsed.value;
  const { code, message, field } = parsed.refusal;
  throw new FailoverError(code, message, field);
}
