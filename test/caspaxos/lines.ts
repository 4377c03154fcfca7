/** The lines to a cluster's acceptors, each of which can be cut in either direction while the test runs. */
import type { Acceptor, RegisterRequest } from 'baton/caspaxos';
import { handling } from './clusters.ts';

/** `cut`: nothing arrives. `mute`: everything arrives and is done, and no answer comes back. */
export type Line = 'open' | 'cut' | 'mute';

export class Lines {
  readonly #lines: Line[];
  readonly #only: (request: RegisterRequest) => boolean;
  #met = 0;
  #onMet: (met: number) => void = () => undefined;

  /** `only`: the batches that a line which is not open meets; all by default. */
  constructor(count = 3, only: (request: RegisterRequest) => boolean = () => true) {
    this.#lines = Array.from({ length: count }, () => 'open');
    this.#only = only;
  }

  set(...lines: readonly Line[]): void {
    for (const [at, line] of lines.entries()) this.#lines[at] = line;
  }

  /** Called with the number of batches that have met a line which is not open. */
  onMet(listener: (met: number) => void): void {
    this.#onMet = listener;
  }

  /** For `openAround`. */
  readonly wrap = (acceptor: Acceptor, index: number): Acceptor =>
    handling(acceptor, async (requests, asked) => {
      const line = requests.some((request) => this.#only(request)) ? this.#lines[index] : 'open';
      if (line === 'cut') return this.#fail('the line is cut');
      const replies = await acceptor.handle(requests, asked);
      return line === 'mute' ? this.#fail('no answer') : replies;
    });

  #fail(why: string): never {
    this.#met += 1;
    this.#onMet(this.#met);
    throw new Error(why);
  }
}

export function isAccept({ message }: RegisterRequest): boolean {
  return message.type === '2a';
}

/** Numbers in 0 .. 1 that depend on nothing but the seed. */
export function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
