/** Waiting that ends. */
import { setTimeout as sleep } from 'node:timers/promises';

const LOOK_MS = 100;

/** Asks until it is so. What goes wrong while asking means that it is not so yet. */
export async function until(what: string, limitMs: number, isSo: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + limitMs;
  let last = '';
  for (;;) {
    const so = await isSo().catch((error: unknown) => {
      last = ` (${(error as Error).message})`;
      return false;
    });
    if (so) return;
    if (performance.now() > deadline)
      throw new Error(`${what} took over ${Math.round(limitMs / 1000)} s${last}.`);
    await sleep(LOOK_MS);
  }
}

/** Rejects when the promise takes longer; what it does afterwards is nobody's matter. */
export async function within<T>(limitMs: number, what: string, promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} took over ${limitMs} ms`)), limitMs);
  });
  promise.catch(() => {});
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
