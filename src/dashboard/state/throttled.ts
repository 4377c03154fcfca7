/**
 * An expensive value, computed again when its version has changed, at most once a second; at once when the user chose something
 * else. Whoever reads it too early is told how long to wait, so that the last change is never left out.
 */

const PAUSE_MS = 1000;

export interface Throttled<T> {
  readonly value: T;
  /** After this time it has to be read again; undefined: it is up to date. */
  readonly staleForMs: number | undefined;
}

export class Throttle<T> {
  #kept:
    | { readonly value: T; readonly version: number; readonly choice: string; readonly at: number }
    | undefined;

  read(compute: () => T, version: number, choice: string, now: number): Throttled<T> {
    const kept = this.#kept;
    if (kept === undefined || kept.choice !== choice) return this.#compute(compute, version, choice, now);
    if (kept.version === version) return { value: kept.value, staleForMs: undefined };
    const waitMs = kept.at + PAUSE_MS - now;
    if (waitMs > 0) return { value: kept.value, staleForMs: waitMs };
    return this.#compute(compute, version, choice, now);
  }

  #compute(compute: () => T, version: number, choice: string, now: number): Throttled<T> {
    const value = compute();
    this.#kept = { value, version, choice, at: now };
    return { value, staleForMs: undefined };
  }
}
