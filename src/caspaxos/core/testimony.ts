/**
 * What the acceptors say in one attempt, and how far it is believed (DESIGN: CASPaxos rule 11). An acceptor may be broken or
 * hostile. The roles cannot do without trust: who invents a value under a likely ballot is believed. But a minority of acceptors
 * must not be able to stop a register, so
 *
 * - what an honest acceptor cannot have said is no answer;
 * - what it is unlikely to have said (a ballot far ahead of every clock, a value that nobody can read) is set aside. It counts
 *   as no answer while a quorum is possible without it; when none is, it is believed;
 * - where two values are said to have been accepted under one ballot, all acceptors are heard, and the larger number counts.
 */
import {
  type Ballot,
  BALLOT_ZERO,
  compareBallots,
  isZeroBallot,
  type NakMessage,
  type Phase1bMessage,
  sameBallot,
} from '../../protocol/index.ts';
import type { BallotSource } from './ballots.ts';
import { type AcceptorMask, everyone, maskOf, type QuorumSystem } from './quorum.ts';

export type Doubt =
  /** An answer that contradicts itself. */
  | 'impossible'
  | 'ballot far ahead'
  | 'value unreadable'
  /** Two values under one ballot. */
  | 'two values';

interface SetAside<V> {
  readonly acceptor: number;
  readonly reply: Phase1bMessage<V> | NakMessage;
}

export class Testimony<V> {
  readonly #ballots: BallotSource;
  readonly #quorum: QuorumSystem;
  readonly #isReadable: (value: V) => boolean;
  #aside: SetAside<V>[] = [];
  /** The highest accepted ballot that was told of, and its value. */
  #highest: Ballot = BALLOT_ZERO;
  #value: V | undefined;
  /** In an attempt in which all are heard before any is believed. */
  #heard: Phase1bMessage<V>[] | undefined;

  constructor(ballots: BallotSource, quorum: QuorumSystem, isReadable: (value: V) => boolean = () => true) {
    this.#ballots = ballots;
    this.#quorum = quorum;
    this.#isReadable = isReadable;
  }

  /** A new attempt. With `careful`, every acceptor is heard before any promise counts. */
  begin(careful: boolean): void {
    if (this.#aside.length > 0) this.#aside = [];
    this.#highest = BALLOT_ZERO;
    this.#value = undefined;
    this.#heard = careful ? [] : undefined;
  }

  get isCareful(): boolean {
    return this.#heard !== undefined;
  }

  doubtOfPromise({ ballot, accepted, value }: Phase1bMessage<V>): Doubt | undefined {
    if (isZeroBallot(accepted) !== (value === undefined)) return 'impossible';
    // It has just promised that ballot, so what it accepted before is lower.
    if (compareBallots(accepted, ballot) >= 0) return 'impossible';
    if (value !== undefined && !this.#isReadable(value)) return 'value unreadable';
    if (this.#heard !== undefined) return undefined;
    const order = compareBallots(accepted, this.#highest);
    if (order === 0 && value !== this.#value) return 'two values';
    if (order > 0) {
      this.#highest = accepted;
      this.#value = value;
    }
    return undefined;
  }

  doubtOfRefusal({ ballot, promised }: NakMessage): Doubt | undefined {
    if (compareBallots(promised, ballot) < 0 || !this.#ballots.isPossible(promised)) return 'impossible';
    return this.#ballots.isNear(promised) ? undefined : 'ballot far ahead';
  }

  setAside(acceptor: number, reply: Phase1bMessage<V> | NakMessage): void {
    this.#aside.push({ acceptor, reply });
  }

  /** The promises that were set aside: there is no quorum without them. */
  takePromises(): readonly Phase1bMessage<V>[] {
    const promises = this.#aside.map(({ reply }) => reply).filter((reply) => reply.type === '1b');
    if (promises.length > 0) this.#aside = this.#aside.filter(({ reply }) => reply.type !== '1b');
    return promises;
  }

  /** Of the refusals that were set aside the lowest: as many as it takes to have a quorum of those who can be won. */
  neededRefusals(failed: AcceptorMask): readonly NakMessage[] {
    const refusals = this.#aside
      .filter((said): said is SetAside<V> & { reply: NakMessage } => said.reply.type === 'nak')
      .sort((a, b) => compareBallots(a.reply.promised, b.reply.promised));
    const needed: NakMessage[] = [];
    let left = everyone(this.#quorum.size) & ~failed;
    for (const { acceptor, reply } of refusals) {
      if (this.#quorum.isPhase1Quorum(left) && this.#quorum.isPhase2Quorum(left)) break;
      needed.push(reply);
      left |= maskOf(acceptor);
    }
    return needed;
  }

  /** In a careful attempt: keeps a promise until all are heard. */
  hear(promise: Phase1bMessage<V>): void {
    this.#heard?.push(promise);
  }

  /** Whom nobody contradicts, or fewer than agree with it. */
  credible(): readonly Phase1bMessage<V>[] {
    const heard = this.#heard ?? [];
    return heard.filter((promise) => {
      const rivals = heard.filter(({ accepted }) => sameBallot(accepted, promise.accepted));
      const agreeing = rivals.filter(({ value }) => value === promise.value).length;
      return rivals.every(
        ({ value }) =>
          value === promise.value || rivals.filter((other) => other.value === value).length < agreeing,
      );
    });
  }

  get heardFrom(): AcceptorMask {
    let mask: AcceptorMask = 0;
    for (const { acceptor } of this.#heard ?? []) mask |= maskOf(acceptor);
    return mask;
  }
}
