/** Waiting for something that can only be asked for. */
import { setTimeout as sleep } from 'node:timers/promises';
import { LocalClusterError } from './errors.ts';

const LOOK_MS = 50;

/** Asks again and again until nothing is lacking, or until it is given up. */
export async function until(
  lacking: () => Promise<string | undefined>,
  timeoutMs: number,
  signal?: AbortSignal,
): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const what = await lacking();
    if (what === undefined || signal?.aborted === true) return;
    if (performance.now() > deadline)
      throw new LocalClusterError('TIMED_OUT', `After ${timeoutMs / 1000} s: ${what}.`);
    await sleep(LOOK_MS);
  }
}
