/**
 * The fingerprint of a run. A simulation folds everything that happens in it into a hash, in order; two runs that did the
 * same have the same digest, and one event more, less, later or different gives another. It is what lets "the same seed
 * gives the same run" be checked instead of believed.
 *
 * Two 32-bit lanes of the MurmurHash3 kind with different constants: fast enough to take in every event of a simulation
 * that plays millions a second, and 64 bits against chance. Not against malice.
 */
export class TraceHash {
  readonly #number = new Float64Array(1);
  readonly #words = new Uint32Array(this.#number.buffer);
  #a: number;
  #b: number;
  #count = 0;

  constructor(seed = 0) {
    this.#a = seed | 0;
    this.#b = ~seed;
  }

  /** Any number, whole or not. */
  mix(value: number): void {
    // Adding zero makes -0 the same as 0, as `===` has it.
    this.#number[0] = value + 0;
    const low = this.#words[0]!;
    const high = this.#words[1]!;
    this.#step(low ^ Math.imul(high, 0x9e3779b1), high ^ Math.imul(low, 0x85ebca6b));
  }

  /** The length goes first, so that "ab", "c" is not "a", "bc". */
  mixText(text: string): void {
    this.#step(text.length, ~text.length);
    for (let at = 0; at < text.length; at += 1) this.#step(text.charCodeAt(at), ~text.charCodeAt(at));
  }

  /** 16 hexadecimal digits of all that was mixed in so far; more can be mixed in afterwards. */
  digest(): string {
    return hexOf(finished(this.#a ^ this.#count), finished(this.#b ^ Math.imul(this.#count, 0x9e3779b1)));
  }

  /** One word for each lane. */
  #step(first: number, second: number): void {
    this.#count = (this.#count + 1) | 0;
    let a = Math.imul(first, 0xcc9e2d51);
    a = Math.imul((a << 15) | (a >>> 17), 0x1b873593) ^ this.#a;
    this.#a = (Math.imul((a << 13) | (a >>> 19), 5) + 0xe6546b64) | 0;
    let b = Math.imul(second, 0x239b961b);
    b = Math.imul((b << 16) | (b >>> 16), 0xab0e9789) ^ this.#b;
    this.#b = (Math.imul((b << 17) | (b >>> 15), 5) + 0x561ccd1b) | 0;
  }
}

/** The digest of no run at all, for {@link combinedDigest} to begin with. */
export const NO_TRACE = '0000000000000000';

/**
 * One digest for many runs, whatever order they were made in and however they were shared out. Sums, not exclusive ors: a
 * run that is in it twice does not vanish.
 */
export function combinedDigest(first: string, second: string): string {
  const lane = (digest: string, at: number): number => Number.parseInt(digest.slice(at, at + 8), 16);
  return hexOf(lane(first, 0) + lane(second, 0), lane(first, 8) + lane(second, 8));
}

function hexOf(a: number, b: number): string {
  return [a, b].map((lane) => (lane >>> 0).toString(16).padStart(8, '0')).join('');
}

/** Spreads the last words over all bits. */
function finished(lane: number): number {
  let hash = lane;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}
