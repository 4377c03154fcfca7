/** When a process that serves is to stop: a signal, or the end of its parent. */

export type StopReason = NodeJS.Signals | 'parent';

/**
 * A signal to the whole process group, as a terminal sends it at Ctrl-C, comes more than once: npm, and scripts that start others, pass
 * on what they receive. What follows the first within this time is the same request.
 */
const REPETITION_MS = 1000;

/** Leaves out what only repeats the first request. */
export function withoutRepetitions<A extends readonly unknown[]>(
  tell: (...args: A) => void,
): (...args: A) => void {
  let firstAt: number | undefined;
  return (...args) => {
    const now = performance.now();
    if (firstAt !== undefined && now - firstAt < REPETITION_MS) return;
    firstAt ??= now;
    tell(...args);
  };
}

/** Resolves at the first; a second signal, later than a repetition of it, ends the process at once. */
export function toldToStop({ stopWithParent }: { readonly stopWithParent: boolean }): Promise<StopReason> {
  return new Promise((resolve) => {
    let isTold = false;
    const tell = (reason: StopReason): void => {
      if (isTold && reason !== 'parent') process.exit(1);
      isTold = true;
      process.stdin.destroy();
      resolve(reason);
    };
    const onSignal = withoutRepetitions(tell);
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, onSignal);
    if (!stopWithParent) return;
    const gone = (): void => tell('parent');
    process.stdin.resume().once('end', gone).once('error', gone);
  });
}
