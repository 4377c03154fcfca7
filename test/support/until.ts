/** Waiting for what can only be looked at: the one loop of the tests that does. */
import { setTimeout as sleep } from 'node:timers/promises';
import { inspect } from 'node:util';

const LOOK_MS = 50;

/**
 * Looks until there is something, and returns it; at first at short intervals, for what is almost there. What throws is not there yet.
 * The limit decides how long a test that fails takes, and nothing else: it is far beyond what a busy machine needs.
 */
export async function until<T>(
  what: string,
  look: () => T | Promise<T>,
  ms = 120_000,
): Promise<NonNullable<T>> {
  const deadline = performance.now() + ms;
  for (let pause = 1; ; pause = Math.min(2 * pause, LOOK_MS)) {
    let last: unknown;
    try {
      const seen = await look();
      if (seen) return seen;
      last = seen;
    } catch (error) {
      last = error;
    }
    if (performance.now() > deadline)
      throw new Error(`Waited ${ms / 1000} s in vain: ${what}. Last seen: ${inspect(last)}`, {
        cause: last,
      });
    await sleep(pause);
  }
}
