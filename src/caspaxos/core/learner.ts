/**
 * The learner (paper 4.3.1, Figure 4): decides when a value is chosen. It counts acknowledgements of one ballot;
 * an acknowledgement of another ballot counts for that ballot only, whatever its value is (rule 6). Two minorities
 * of different ballots are not a majority, even if they hold the same value.
 */
import { type Ballot, BALLOT_ZERO, compareBallots, type Phase2bMessage } from '../../protocol/index.ts';
import { type AcceptorMask, maskOf, type QuorumSystem } from './quorum.ts';

export interface LearnerState {
  /** The ballot whose acknowledgements are being counted: the highest seen. */
  readonly ballot: Ballot;
  readonly acknowledged: AcceptorMask;
}

export const INITIAL_LEARNER_STATE: LearnerState = Object.freeze({ ballot: BALLOT_ZERO, acknowledged: 0 });

export interface Learned<V> {
  readonly ballot: Ballot;
  readonly value: V;
}

export class LearnerStateMachine<V> {
  readonly #quorum: QuorumSystem;
  #state: LearnerState;

  constructor(quorum: QuorumSystem, state: LearnerState = INITIAL_LEARNER_STATE) {
    this.#quorum = quorum;
    this.#state = state;
  }

  /** The chosen value, once a quorum has acknowledged one ballot; empty before. Lower ballots are old news. */
  learn(message: Phase2bMessage<V>): Learned<V> | undefined {
    const order = compareBallots(message.ballot, this.#state.ballot);
    if (order < 0) return undefined;
    const acknowledged = (order === 0 ? this.#state.acknowledged : 0) | maskOf(message.acceptor);
    this.#state = { ballot: message.ballot, acknowledged };
    if (!this.#quorum.isPhase2Quorum(acknowledged)) return undefined;
    return { ballot: message.ballot, value: message.value };
  }

  get state(): LearnerState {
    return this.#state;
  }
}
