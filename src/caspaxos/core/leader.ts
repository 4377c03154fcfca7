/**
 * The leader (paper 4.3.1, Figure 2). It wins a quorum's promise for a ballot of its own, takes over the value that
 * was accepted under the highest ballot, edits it, and proposes the result under its ballot. What makes this a
 * register that can change, rather than Paxos' single decision, is only the edit.
 *
 * The leader knows nothing of networks or time. It is fed one message at a time; whoever feeds it sends what it
 * returns to all acceptors and decides when to give up and call `startPhase1` again.
 */
import {
  assert,
  type Ballot,
  BALLOT_ZERO,
  compareBallots,
  type NakMessage,
  type Phase1aMessage,
  type Phase1bMessage,
  type Phase2aMessage,
  sameBallot,
} from '../../protocol/index.ts';
import type { BallotSource } from './ballots.ts';
import { type AcceptorMask, isProof, maskOf, type QuorumSystem } from './quorum.ts';

/** Pure: it may run many times for one change (rule 4). `undefined` is the value of a register never written. */
export type ValueEditor<V> = (current: V | undefined) => V;

export class LeaderStateMachine<V> {
  readonly #ballots: BallotSource;
  readonly #quorum: QuorumSystem;

  #ballot: Ballot = BALLOT_ZERO;
  #promises: AcceptorMask = 0;
  #highest: Ballot = BALLOT_ZERO;
  #value: V | undefined = undefined;
  #agreed = true;
  #phase: 'idle' | '1' | '2' = 'idle';

  constructor(ballots: BallotSource, quorum: QuorumSystem) {
    this.#ballots = ballots;
    this.#quorum = quorum;
  }

  /** Begins a new ballot, above the one that a refusal (if there was one) named. Send the result to all acceptors. */
  startPhase1(nak?: NakMessage): Phase1aMessage {
    if (nak !== undefined) this.#ballots.observe(nak.promised);
    this.#begin(this.#ballots.next());
    return { type: '1a', ballot: this.#ballot };
  }

  /**
   * Takes one promise. Empty until a quorum has promised; then, once, the message to send to all acceptors. With
   * `next`, that message also asks for the promise of a further ballot (see `resume`).
   */
  startPhase2(
    message: Phase1bMessage<V>,
    valueEditor: ValueEditor<V>,
    next?: Ballot,
  ): Phase2aMessage<V> | undefined {
    if (this.#phase !== '1' || !sameBallot(message.ballot, this.#ballot)) return undefined;
    const bit = maskOf(message.acceptor);
    if ((this.#promises & bit) !== 0) return undefined;

    const order = compareBallots(message.accepted, this.#highest);
    if (this.#promises !== 0 && order !== 0) this.#agreed = false;
    if (order > 0 || this.#promises === 0) {
      this.#highest = message.accepted;
      this.#value = message.value;
    }
    this.#promises |= bit;
    if (!this.#quorum.isPhase1Quorum(this.#promises)) return undefined;
    return this.#propose(valueEditor, next);
  }

  /**
   * The one-round-trip path: phase 1 of `ballot` was won by the acknowledgements of an earlier phase 2, which
   * carried it as `next`; `value` is what that phase 2 had accepted. The ballot is used here and never again (rule 2).
   */
  resume(ballot: Ballot, value: V, valueEditor: ValueEditor<V>, next?: Ballot): Phase2aMessage<V> {
    this.#begin(ballot);
    this.#value = value;
    this.#agreed = false;
    return this.#propose(valueEditor, next);
  }

  /** Whether the promising acceptors all hold one ballot and so prove that its value is chosen already (rule 5). */
  get quorumAgreed(): boolean {
    return this.#phase === '2' && this.#agreed && isProof(this.#quorum, this.#highest, this.#promises);
  }

  /** The highest accepted ballot among the promises so far: the value it edits was accepted under that one. */
  get found(): Ballot {
    return this.#highest;
  }

  get ballot(): Ballot {
    return this.#ballot;
  }

  #begin(ballot: Ballot): void {
    this.#ballot = ballot;
    this.#promises = 0;
    this.#highest = BALLOT_ZERO;
    this.#value = undefined;
    this.#agreed = true;
    this.#phase = '1';
  }

  #propose(valueEditor: ValueEditor<V>, next: Ballot | undefined): Phase2aMessage<V> {
    // Rule 2, one value per ballot: leaving phase 1 before the editor runs means that not even an editor that
    // throws can lead to a second proposal under this ballot.
    this.#phase = '2';
    const value = valueEditor(this.#value);
    assert(
      next === undefined || compareBallots(next, this.#ballot) > 0,
      'the next ballot is higher than this one',
    );
    return next === undefined
      ? { type: '2a', ballot: this.#ballot, value }
      : { type: '2a', ballot: this.#ballot, value, next };
  }
}
