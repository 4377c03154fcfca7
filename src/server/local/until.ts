/** Waiting for something that can only be asked for. */
import { setTimeout as sleep } from 'node:timers/promises';
import { LocalClusterError } from './errors.ts';

const LOOK_MS = 50;

export interface UntilOptions {
  readonly signal?: AbortSignal | undefined;
  /** Whether the time begins anew, because something has come about since it was asked last. */
  readonly hasProgressed?: () => boolean;
}

/** Asks again and again until nothing is lacking, or until it is given up. */
export async function until(
  lacking: () => Promise<string | undefined>,
  timeoutMs: number,
  { signal, hasProgressed = () => false }: UntilOptions = {},
): Promise<void> {
  const startedAt = performance.now();
  let deadline = startedAt + timeoutMs;
  for (;;) {
    const what = await lacking();
    if (what === undefined || signal?.aborted === true) return;
    const now = performance.now();
    if (hasProgressed()) deadline = now + timeoutMs;
    if (now > deadline)
      throw new LocalClusterError('TIMED_OUT', `After ${Math.round((now - startedAt) / 1000)} s: ${what}.`);
    await sleep(LOOK_MS);
  }
}
