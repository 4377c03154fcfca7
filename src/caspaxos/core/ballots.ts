/**
 * Where a proposer's ballots come from (DESIGN: CASPaxos rule 1). Only the counter's growth is a choice, so that is
 * what is injected:
 *
 * - `sequential` counts. A proposer that was idle while others worked starts too low and learns the right height
 *   from its first refusal.
 * - `hybrid` follows a clock, so a first attempt is not refused merely for being stale. The clock may jump, stop or
 *   run backwards: the counter still only grows, and nothing but the number of refusals depends on it.
 */
import { assert, type Ballot, MAX_COUNTER, MAX_PROPOSER_LENGTH } from '../../protocol/index.ts';

export interface ProposerIdentity {
  readonly proposer: string;
  readonly incarnation: number;
}

/** The next counter, given the highest one ever seen or used. Must exceed `floor`. */
export type CounterSource = (floor: number) => number;

export const sequential: CounterSource = (floor) => floor + 1;

/** `nowMs`: any clock that mostly grows at the same pace everywhere, usually milliseconds since 1970. */
export function hybrid(nowMs: () => number): CounterSource {
  return (floor) => Math.max(floor + 1, Math.floor(nowMs()));
}

/** Makes the ballots of one proposer for one register: each higher than all it made or saw before. */
export class BallotSource {
  readonly #identity: ProposerIdentity;
  readonly #counter: CounterSource;
  #floor = 0;

  constructor(identity: ProposerIdentity, counter: CounterSource = sequential) {
    assert(identity.proposer.length > 0, 'a proposer needs an id');
    assert(identity.proposer.length <= MAX_PROPOSER_LENGTH, 'a proposer id is at most 64 characters');
    assert(
      Number.isSafeInteger(identity.incarnation) && identity.incarnation > 0,
      'an incarnation is drawn at start',
    );
    this.#identity = identity;
    this.#counter = counter;
  }

  /** Somebody else's ballot was seen: stay above it. */
  observe(ballot: Ballot): void {
    if (ballot.counter > this.#floor) this.#floor = ballot.counter;
  }

  /** Whether a ballot is one of this proposer's, in this life. */
  owns(ballot: Ballot): boolean {
    return ballot.proposer === this.#identity.proposer && ballot.incarnation === this.#identity.incarnation;
  }

  next(): Ballot {
    const counter = this.#counter(this.#floor);
    assert(counter > this.#floor, 'a counter source must grow');
    assert(counter <= MAX_COUNTER, 'ballot counters are exhausted');
    this.#floor = counter;
    return { counter, proposer: this.#identity.proposer, incarnation: this.#identity.incarnation };
  }
}
