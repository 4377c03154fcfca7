/** How long an acceptor takes, one call after the other: what a heartbeat waits for. */

export interface Latency {
  readonly what: string;
  readonly samples: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

export interface Pace {
  /** Monotonic. */
  readonly now: () => number;
  readonly samples: number;
  /** A slow acceptor is not measured for longer than this, once there are a few samples. */
  readonly budgetMs: number;
}

const FEWEST = 5;

export async function measure(
  what: string,
  { now, samples, budgetMs }: Pace,
  call: (at: number) => Promise<unknown>,
): Promise<Latency> {
  const times: number[] = [];
  const startedAt = now();
  while (times.length < samples) {
    const before = now();
    if (times.length >= FEWEST && before - startedAt > budgetMs) break;
    await call(times.length);
    times.push(now() - before);
  }
  return { what, samples: times.length, p50Ms: percentile(times, 50), p99Ms: percentile(times, 99) };
}

/** The smallest time that so many percent of the times do not exceed; of a few, p99 is the longest. */
export function percentile(times: readonly number[], percent: number): number {
  const sorted = times.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil((sorted.length * percent) / 100) - 1)] ?? 0;
}
