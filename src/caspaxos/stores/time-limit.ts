/** Ends a call to a store after its time limit, whatever the store's client thinks of it. */
import { setMaxListeners } from 'node:events';
import { CasPaxosError } from '../errors.ts';

export async function withTimeLimit<T>(
  url: string,
  timeoutMs: number,
  call: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const abort = new AbortController();
  // A batch may be many requests, and each listens.
  setMaxListeners(0, abort.signal);
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      const error = new CasPaxosError('TIMED_OUT', `Acceptor ${url} did not answer within ${timeoutMs} ms.`);
      reject(error);
      abort.abort(error);
    }, timeoutMs);
  });
  try {
    return await Promise.race([call(abort.signal), late]);
  } finally {
    clearTimeout(timer);
  }
}
