/** Watching a register by polling it with cheap reads. */
import { setTimeout as sleep } from 'node:timers/promises';
import { CasPaxosError } from './errors.ts';
import type { CallOptions, ReadResult } from './outcomes.ts';

export interface WatchOptions {
  /** Time between two polls: 1000. */
  readonly intervalMs?: number;
  readonly signal?: AbortSignal;
  /** Report only versions after this one; by default the first value read is reported too. */
  readonly afterVersion?: number;
}

interface Readable {
  read<T>(key: string, options?: CallOptions): Promise<ReadResult<T>>;
}

/** Ends when the signal aborts. A poll that fails is tried again at the next interval; bad input is thrown. */
export async function* watchRegister<T>(
  cluster: Readable,
  key: string,
  options: WatchOptions,
): AsyncGenerator<ReadResult<T>, void, undefined> {
  const { signal, intervalMs = 1000 } = options;
  let seen = options.afterVersion ?? -1;
  while (!signal?.aborted) {
    const result = await poll<T>(cluster, key, signal);
    if (result !== undefined && result.version > seen) {
      seen = result.version;
      yield result;
    }
    await sleep(intervalMs, undefined, signal ? { signal } : {}).catch(() => undefined);
  }
}

const PASSING: ReadonlySet<string> = new Set(['DEADLINE_EXCEEDED', 'ABORTED']);

async function poll<T>(
  cluster: Readable,
  key: string,
  signal: AbortSignal | undefined,
): Promise<ReadResult<T> | undefined> {
  try {
    return await cluster.read<T>(key, { signal });
  } catch (error) {
    if (error instanceof CasPaxosError && PASSING.has(error.code)) return undefined;
    throw error;
  }
}
