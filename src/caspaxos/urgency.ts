/**
 * Who is asked first. A change is done when a quorum has answered, so the acceptors that answer fastest, just enough of
 * them to be a quorum, get their messages at once; the others get theirs a millisecond later, in larger batches. They miss
 * nothing and are never more than that behind, but they do not compete with those that everybody is waiting for: on shared
 * cores and disks that is worth more than it costs, and across oceans it costs nothing.
 *
 * An acceptor that fails, or slows down, falls back in the order by itself.
 */
import { type AcceptorMask, maskOf, type QuorumSystem } from './core/index.ts';

/** How much of an acceptor's typical time a new measurement makes up. */
const WEIGHT = 1 / 16;
/** Looked at again after so many answers. */
const ANSWERS_BETWEEN_LOOKS = 32;
/** An acceptor must be this much faster to take another's place: they should not swap at every breath. */
const CLEARLY = 0.8;

export class Urgency {
  readonly #quorum: QuorumSystem;
  readonly #typicalMs: number[];
  #urgent: AcceptorMask;
  #answers = 0;

  constructor(quorum: QuorumSystem) {
    this.#quorum = quorum;
    this.#typicalMs = Array.from({ length: quorum.size }, () => 1);
    this.#urgent = this.#fastest();
  }

  isUrgent(index: number): boolean {
    return (this.#urgent & maskOf(index)) !== 0;
  }

  /** An acceptor took that long to answer, or to fail. */
  took(index: number, ms: number): void {
    this.#typicalMs[index]! += (ms - this.#typicalMs[index]!) * WEIGHT;
    this.#answers += 1;
    if (this.#answers % ANSWERS_BETWEEN_LOOKS === 0) this.#urgent = this.#fastest();
  }

  /** The request failed: whoever else there is must not be kept waiting. */
  failed(index: number, timeoutMs: number): void {
    this.#typicalMs[index]! += (timeoutMs - this.#typicalMs[index]!) * WEIGHT * 4;
    this.#urgent = this.#fastest();
  }

  #fastest(): AcceptorMask {
    const rank = (index: number): number =>
      this.#typicalMs[index]! * ((this.#urgent & maskOf(index)) === 0 ? 1 : CLEARLY);
    const order = this.#typicalMs.map((_, index) => index).sort((a, b) => rank(a) - rank(b) || a - b);
    let mask = 0;
    for (const index of order) {
      mask |= maskOf(index);
      if (this.#quorum.isPhase1Quorum(mask) && this.#quorum.isPhase2Quorum(mask)) break;
    }
    return mask;
  }
}
