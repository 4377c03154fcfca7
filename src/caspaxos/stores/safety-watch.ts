/**
 * What a store remembers, from one connection to the next, of a server that became unsafe while it was in use.
 *
 * A server that does not keep what it answers is refused until that is mended. If it is the same life of the server then, its memory is
 * whole: the mending writes all of it to disk. If that life has ended, nobody knows what was kept of the moments between the last good look
 * and the bad one: the server may have come back with an older memory under the right identity. It counts as one that was put back from an
 * old copy then (rule 8), for good.
 */
import type { Lineage } from './lineage.ts';

export class SafetyWatch {
  readonly #lineage: Lineage;
  /** The life in which it was last found safe, and so was used. */
  #used: string | undefined;
  #unsafe: { readonly life: string; readonly what: string } | undefined;

  constructor(lineage: Lineage) {
    this.#lineage = lineage;
  }

  get life(): string | undefined {
    return this.#used;
  }

  /** What the server tells of its line of memory; undefined: nothing. */
  line(line: string | undefined): void {
    if (line !== undefined) this.#lineage.saw(line);
  }

  /** In this life, which has a name that the server got when it started, it was found safe: perhaps too late. */
  safe(life: string): void {
    if (this.#unsafe !== undefined && this.#unsafe.life !== life)
      this.#lineage.forgot(
        `it ended after it was seen that it ${this.#unsafe.what}, and may have forgotten what it answered`,
      );
    this.#used = life;
    this.#unsafe = undefined;
  }

  /** In this life it may forget what it answers. `what` is a clause about it, with the way out after a colon or semicolon. */
  unsafe(life: string, what: string): void {
    if (this.#used === life) this.#unsafe ??= { life, what: what.split(/[:;]/, 1)[0]! };
  }
}
