/**
 * Closed-loop load in which every operation counts, also one that takes longer than the whole measurement was meant to: so a
 * slow store has a figure, too. The rate is that of all operations over the time until the last one ended.
 */
export interface Looped {
  readonly changesPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

const WARM_UP_SHARE = 0.25;
const MOST_WARM_UP_SECONDS = 0.5;

export async function runInLoop(
  callers: number,
  seconds: number,
  operate: (caller: number) => Promise<void>,
): Promise<Looped> {
  await loop(callers, Math.min(MOST_WARM_UP_SECONDS, seconds * WARM_UP_SHARE), operate);
  const startedAt = performance.now();
  const took = await loop(callers, seconds, operate);
  const elapsed = performance.now() - startedAt;
  took.sort((a, b) => a - b);
  const percentile = (share: number): number =>
    Math.round(took[Math.min(took.length - 1, Math.floor(took.length * share))]! * 1000) / 1000;
  return {
    changesPerSecond: Math.round((took.length * 1000) / elapsed),
    p50Ms: percentile(0.5),
    p99Ms: percentile(0.99),
  };
}

/** At least one operation of each caller; the milliseconds that each took. */
async function loop(
  callers: number,
  seconds: number,
  operate: (caller: number) => Promise<void>,
): Promise<number[]> {
  const took: number[] = [];
  const end = performance.now() + seconds * 1000;
  const call = async (caller: number): Promise<void> => {
    let before: number;
    do {
      before = performance.now();
      await operate(caller);
      took.push(performance.now() - before);
    } while (performance.now() < end);
  };
  await Promise.all(Array.from({ length: callers }, (_, caller) => call(caller)));
  return took;
}
