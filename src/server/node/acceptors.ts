/** Getting hold of the acceptors. A node that starts while they are away waits for them: it is not its fault, nor for long. */
import { CasPaxosError, type Cluster, type ClusterOptions, type ErrorCode } from '../../caspaxos/index.ts';
import { openAgentCluster } from '../../failover/index.ts';
import type { Host } from '../../protocol/index.ts';

export interface WaitingOptions {
  readonly host: Host;
  /** Told of every attempt that failed; the next follows. Without it the first failure is thrown. */
  readonly onWaiting: ((error: CasPaxosError) => void) | undefined;
  readonly signal: AbortSignal | undefined;
}

/** Mistakes that waiting does not mend. */
const FOR_GOOD: ReadonlySet<ErrorCode> = new Set([
  'URL_INVALID',
  'SCHEME_UNKNOWN',
  'NO_ACCEPTORS',
  'TOO_MANY_ACCEPTORS',
  'DUPLICATE_ACCEPTOR',
  'QUORUMS_INVALID',
  'PROPOSER_INVALID',
]);
const AGAIN_MS = 250;
const AGAIN_AT_MOST_MS = 2000;

export async function openPatiently(
  options: ClusterOptions,
  { host, onWaiting, signal }: WaitingOptions,
): Promise<Cluster> {
  for (let pause = AGAIN_MS; ; pause = Math.min(2 * pause, AGAIN_AT_MOST_MS)) {
    signal?.throwIfAborted();
    try {
      return await openAgentCluster(options);
    } catch (error) {
      const mayPass = error instanceof CasPaxosError && !FOR_GOOD.has(error.code);
      if (!mayPass || onWaiting === undefined) throw error;
      onWaiting(error);
    }
    await slept(pause * (0.5 + host.random() / 2), host, signal);
  }
}

function slept(ms: number, host: Host, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => {
      host.cancel(timer);
      reject(signal!.reason as Error);
    };
    const timer = host.after(ms, () => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    });
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}
