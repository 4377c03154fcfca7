/**
 * What one agent may ask of the acceptors. The load on them must not rise when something fails (paper 7.1): whoever cannot do its work
 * tries again, and a fleet of thousands that all try again is what acceptors that have just come back cannot bear.
 *
 * The unit is a round: one message to every acceptor. In the calm an agent makes two in an interval, its heartbeat's. The budget holds
 * `MOST_ROUNDS` and gains `ROUNDS_PER_INTERVAL`; everything that is sent is paid from it, successful or not. So in any span of
 * `BUSY_INTERVALS` an agent sends at most twice what it sends in the calm, whatever fails and however: 60 of the full
 * budget and 420 gained, where the calm has 240. A failover costs twenty or thirty within seconds, and finds them there.
 *
 * What may be paid depends on what is left, and on what the last round brought. Renewals of the writer's lease may take the last of it, an
 * update that brings something forward leaves some to them, a mere look leaves more. What was asked in vain, because nothing had
 * happened, is asked again from a part of the budget only; and from a smaller one while no quorum answers: then it also gains no more than
 * the calm takes. The rest is kept for when something does happen: then there is much to do, and at once. One update in an
 * interval, a heartbeat's two rounds, is always paid.
 */
export type Purpose = 'renewal' | 'update' | 'look';

export const MOST_ROUNDS = 60;
export const ROUNDS_PER_INTERVAL = 3.5;
/** Where it follows from both that there are at most twice the two rounds in an interval that the calm takes. */
export const BUSY_INTERVALS = 120;
/** While no quorum answers: as many as in the calm. */
export const ROUNDS_UNANSWERED = 2;

/** What the last round brought: something new, nothing new, or no answer. */
type Brought = 'news' | 'nothing' | 'no answer';

/** What is left to others. */
const LEFT: Readonly<Record<Brought, Readonly<Record<Purpose, number>>>> = {
  news: { renewal: 0, update: 6, look: 12 },
  nothing: { renewal: 18, update: 24, look: 24 },
  'no answer': { renewal: 34, update: 40, look: 40 },
};

/** With less than this no planned move begins that can wait: its writes would stand still while the budget gains what it takes. */
const MOVE_ROUNDS = 20;
/** Of whoever has not seen a state yet: so long an interval that it is not too fast for any. */
const FIRST_INTERVAL_MS = 30_000;

export class RequestBudget {
  #intervalMs: number;
  #rounds = MOST_ROUNDS;
  /** When there were so many. */
  #at = -Infinity;
  #brought: Brought = 'news';

  constructor(intervalMs = FIRST_INTERVAL_MS) {
    this.#intervalMs = intervalMs;
  }

  /** The interval of the configuration in force. */
  paceBy(intervalMs: number): void {
    this.#intervalMs = intervalMs;
  }

  /** A message went to the acceptors. */
  spend(now: number): void {
    this.#rounds = this.#left(now) - 1;
    this.#at = now;
  }

  /** A quorum of the acceptors has answered; whether it has brought anything is seen later. */
  answered(): void {
    if (this.#brought === 'no answer') this.#brought = 'news';
  }

  /** What was learned from it was new, or the lease was renewed by it. */
  learned(isNews: boolean): void {
    this.#brought = isNews ? 'news' : 'nothing';
  }

  /** Too few acceptors have answered. */
  unanswered(): void {
    this.#brought = 'no answer';
  }

  /** From when on a round may be sent for that; in the past if it may be now. */
  readyAt(purpose: Purpose): number {
    const needed = 1 + LEFT[this.#brought][purpose];
    if (this.#rounds >= needed) return -Infinity;
    const readyAt = this.#at + ((needed - this.#rounds) / this.#gain) * this.#intervalMs;
    return purpose === 'look' ? readyAt : Math.min(readyAt, this.#at + this.#intervalMs);
  }

  /** Too little for a planned move. */
  isLow(now: number): boolean {
    return this.#left(now) < MOVE_ROUNDS;
  }

  #left(now: number): number {
    if (this.#at === -Infinity) return this.#rounds;
    const gained = ((now - this.#at) / this.#intervalMs) * this.#gain;
    return Math.min(MOST_ROUNDS, this.#rounds + gained);
  }

  /** In an interval. */
  get #gain(): number {
    return this.#brought === 'no answer' ? ROUNDS_UNANSWERED : ROUNDS_PER_INTERVAL;
  }
}
