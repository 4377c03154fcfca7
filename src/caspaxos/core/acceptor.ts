/**
 * The acceptor (paper 4.3.1, Figure 3): the memory of the register. It promises, it accepts, it refuses; it never
 * takes a step back. Its whole state is one small immutable record. The caller's obligation is rule 3: persist
 * `state` before anybody sees the answer.
 */
import {
  type Ballot,
  BALLOT_ZERO,
  compareBallots,
  type NakMessage,
  type Phase1aMessage,
  type Phase1bResult,
  type Phase2aMessage,
  type Phase2bResult,
  sameBallot,
} from '../../protocol/index.ts';

export interface AcceptorState<V> {
  /** Nothing lower is promised or accepted any more. Never lower than `accepted`. */
  readonly promised: Ballot;
  readonly accepted: Ballot;
  readonly value: V | undefined;
}

export const INITIAL_ACCEPTOR_STATE: AcceptorState<never> = Object.freeze({
  promised: BALLOT_ZERO,
  accepted: BALLOT_ZERO,
  value: undefined,
});

export class AcceptorStateMachine<V> {
  #state: AcceptorState<V>;
  readonly #index: number;
  readonly #sameValue: (a: V, b: V) => boolean;

  /** `index` goes into the answers; `sameValue` decides whether a repeated message is the same one (rule 3). */
  constructor(
    state: AcceptorState<V> = INITIAL_ACCEPTOR_STATE,
    index = 0,
    sameValue: (a: V, b: V) => boolean = Object.is,
  ) {
    this.#state = state;
    this.#index = index;
    this.#sameValue = sameValue;
  }

  onPhase1a(message: Phase1aMessage): Phase1bResult<V> {
    const { promised, accepted, value } = this.#state;
    const order = compareBallots(message.ballot, promised);
    if (order < 0) return this.#nak(message.ballot);
    // An equal ballot is the same message again: promise it again, unless it has been used to accept since.
    if (order === 0 && sameBallot(accepted, message.ballot)) return this.#nak(message.ballot);
    if (order > 0) this.#state = { promised: message.ballot, accepted, value };
    return { type: '1b', acceptor: this.#index, ballot: message.ballot, accepted, value };
  }

  onPhase2a(message: Phase2aMessage<V>): Phase2bResult<V> {
    const { promised, accepted, value } = this.#state;
    if (sameBallot(message.ballot, accepted)) {
      // Rule 3. The same proposal again is acknowledged again, with the promise it got then if that still stands.
      if (!this.#sameValue(message.value, value as V)) {
        return { type: 'alarm', acceptor: this.#index, ballot: message.ballot };
      }
      return this.#acknowledge(message, message.next !== undefined && sameBallot(message.next, promised));
    }
    if (compareBallots(message.ballot, promised) < 0) return this.#nak(message.ballot);
    this.#state = {
      promised: message.next ?? message.ballot,
      accepted: message.ballot,
      value: message.value,
    };
    return this.#acknowledge(message, message.next !== undefined);
  }

  get state(): AcceptorState<V> {
    return this.#state;
  }

  #acknowledge(message: Phase2aMessage<V>, withPromise: boolean): Phase2bResult<V> {
    return withPromise
      ? {
          type: '2b',
          acceptor: this.#index,
          ballot: message.ballot,
          value: message.value,
          next: message.next,
        }
      : { type: '2b', acceptor: this.#index, ballot: message.ballot, value: message.value };
  }

  #nak(ballot: Ballot): NakMessage {
    return { type: 'nak', acceptor: this.#index, ballot, promised: this.#state.promised };
  }
}
