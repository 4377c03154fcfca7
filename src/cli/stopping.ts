/** When a process that serves is to stop: a signal, or the end of its parent. */

export type StopReason = NodeJS.Signals | 'parent';

/** Resolves at the first; a second signal ends the process at once. */
export function toldToStop({ stopWithParent }: { readonly stopWithParent: boolean }): Promise<StopReason> {
  return new Promise((resolve) => {
    let isTold = false;
    const tell = (reason: StopReason): void => {
      if (isTold && reason !== 'parent') process.exit(1);
      isTold = true;
      process.stdin.destroy();
      resolve(reason);
    };
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => tell(signal));
    if (!stopWithParent) return;
    const gone = (): void => tell('parent');
    process.stdin.resume().once('end', gone).once('error', gone);
  });
}
