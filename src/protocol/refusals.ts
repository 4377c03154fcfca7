/**
 * What is refused is said, and not a thousand times: of each kind the first at once, and after that once a minute at most, with the number of
 * those in between. Counting is the metrics' matter.
 */
import type { Host } from './host.ts';

export interface RefusalsSaid {
  readonly kind: string;
  /** Of the last one: why, and from where. */
  readonly reason: string;
  readonly from: string;
  /** How many of that kind since it was said last. */
  readonly count: number;
}

const AGAIN_MS = 60_000;

export class Refusals {
  readonly #host: Pick<Host, 'now'>;
  readonly #say: (said: RefusalsSaid) => void;
  /** Kinds are few, and ours. */
  readonly #kinds = new Map<string, { saidAt: number; count: number }>();

  constructor(host: Pick<Host, 'now'>, say: (said: RefusalsSaid) => void) {
    this.#host = host;
    this.#say = say;
  }

  note(kind: string, reason: string, from: string): void {
    const now = this.#host.now();
    const known = this.#kinds.get(kind) ?? { saidAt: -Infinity, count: 0 };
    known.count += 1;
    this.#kinds.set(kind, known);
    if (now - known.saidAt < AGAIN_MS) return;
    this.#say({ kind, reason, from, count: known.count });
    known.saidAt = now;
    known.count = 0;
  }
}
