/**
 * Where a proposer's ballots come from (DESIGN: CASPaxos rule 1). Only the counter's growth is a choice, so that is
 * what is injected:
 *
 * - `sequential` counts. A proposer that was idle while others worked starts too low and learns the right height
 *   from its first refusal.
 * - `hybrid` follows a clock, so a first attempt is not refused merely for being stale. The clock may jump, stop or
 *   run backwards: the counter still only grows, and nothing but the number of refusals depends on it.
 *
 * Each register has a source of its own (rule 11): how high the ballots of one register are is nothing to the others.
 */
import {
  assert,
  type Ballot,
  LATEST_CLOCK_MS,
  MAX_COUNTER,
  MAX_PROPOSER_LENGTH,
} from '../../protocol/index.ts';
import { isFar, isNear, isPossible, SECOND_BAND } from './bounds.ts';

export interface ProposerIdentity {
  readonly proposer: string;
  readonly incarnation: number;
}

/** The next counter, given the highest one ever seen or used. Must exceed `floor`. */
export type CounterSource = (floor: number) => number;

export const sequential: CounterSource = (floor) => floor + 1;

/** `nowMs`: any clock that mostly grows at the same pace everywhere, usually milliseconds since 1970. */
export function hybrid(nowMs: () => number): CounterSource {
  return (floor) => Math.max(floor + 1, Math.floor(Math.min(nowMs(), LATEST_CLOCK_MS)));
}

/** Without a clock of its own, a proposer believes what one with a very late clock would. */
const NO_CLOCK = (): number => LATEST_CLOCK_MS;

/** Makes the ballots of one proposer for one register: each higher than all it made or followed before. */
export class BallotSource {
  readonly #identity: ProposerIdentity;
  readonly #counter: CounterSource;
  readonly #nowMs: () => number;
  #floor: number;

  /** `nowMs`: the clock that tells which counters are absurd (`bounds.ts`); `floor`: the counter to begin above. */
  constructor(
    identity: ProposerIdentity,
    counter: CounterSource = sequential,
    nowMs: () => number = NO_CLOCK,
    floor = 0,
  ) {
    assert(identity.proposer.length > 0, 'a proposer needs an id');
    assert(identity.proposer.length <= MAX_PROPOSER_LENGTH, 'a proposer id is at most 64 characters');
    assert(
      Number.isSafeInteger(identity.incarnation) && identity.incarnation > 0,
      'an incarnation is drawn at start',
    );
    this.#identity = identity;
    this.#counter = counter;
    this.#nowMs = nowMs;
    this.#floor = floor;
  }

  get floor(): number {
    return this.#floor;
  }

  /** Whether that ballot may be followed without asking who else has seen it. */
  isNear({ counter }: Ballot): boolean {
    return isNear(counter, this.#floor, this.#nowMs());
  }

  /** Whether an honest acceptor can have promised it. */
  isPossible({ counter }: Ballot): boolean {
    return isPossible(counter, this.#nowMs());
  }

  /** Somebody else's ballot was seen: stay above it. */
  observe(ballot: Ballot): void {
    if (!this.isPossible(ballot)) return;
    if (ballot.counter > this.#floor) this.#floor = ballot.counter;
  }

  /** Whether a ballot is one of this proposer's, in this life. */
  owns(ballot: Ballot): boolean {
    return ballot.proposer === this.#identity.proposer && ballot.incarnation === this.#identity.incarnation;
  }

  next(): Ballot {
    const floor = this.#floor;
    const band = floor > SECOND_BAND || isFar(floor, this.#nowMs()) ? SECOND_BAND : 0;
    const counter = band + this.#counter(Math.max(0, floor - band));
    assert(counter > floor, 'a counter source must grow');
    assert(counter <= MAX_COUNTER, 'ballot counters are exhausted');
    this.#floor = counter;
    return { counter, proposer: this.#identity.proposer, incarnation: this.#identity.incarnation };
  }
}

/** A process' sources of ballots, one for each register that is in use. */
export class BallotSources {
  readonly #identity: ProposerIdentity;
  readonly #counter: CounterSource;
  readonly #nowMs: () => number;
  /** No register that was given back was higher, but for those in `#high`. */
  #floor = 0;
  readonly #high = new Map<string, number>();

  constructor(identity: ProposerIdentity, counter: CounterSource = sequential, nowMs = NO_CLOCK) {
    this.#identity = identity;
    this.#counter = counter;
    this.#nowMs = nowMs;
  }

  /** Its ballots are higher than all that this process made for the register before. */
  take(key: string): BallotSource {
    const floor = this.#high.get(key) ?? this.#floor;
    return new BallotSource(this.#identity, this.#counter, this.#nowMs, floor);
  }

  /** The register is not in use any more. */
  giveBack(key: string, { floor }: BallotSource): void {
    if (isNear(floor, 0, this.#nowMs())) this.#floor = Math.max(this.#floor, floor);
    else this.#high.set(key, floor);
  }
}
