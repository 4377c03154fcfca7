/** What went wrong with Cosmos DB, in a sentence. The client's own errors are not passed on: nobody knows what they hold. */
import { CasPaxosError } from '../errors.ts';
import { BrokenConnection } from './cosmos-http.ts';

export interface CosmosPlace {
  readonly url: string;
  readonly database: string;
  readonly container: string;
  readonly timeoutMs: number;
}

export const STATUS = {
  unauthorized: 401,
  forbidden: 403,
  notFound: 404,
  timedOut: 408,
  conflict: 409,
  preconditionFailed: 412,
  tooLarge: 413,
  throttled: 429,
  retryWith: 449,
  unavailable: 503,
} as const;

/** Substatuses. */
const NOT_THE_WRITER = 3;
export const NO_SUCH_PLACE = 1003;

/** What is wrong with one write, or with its moment; the others of its batch may be well. */
const OF_ONE_WRITE = new Set<number>([
  400,
  STATUS.timedOut,
  STATUS.tooLarge,
  STATUS.throttled,
  STATUS.retryWith,
  500,
  STATUS.unavailable,
]);

interface Answer {
  readonly code?: unknown;
  readonly substatus?: unknown;
  readonly message?: unknown;
}

export function statusOf(error: unknown): number | undefined {
  const { code } = error as Answer;
  return typeof code === 'number' ? code : undefined;
}

export function concernsOneWrite(error: unknown): boolean {
  return OF_ONE_WRITE.has(statusOf(error) ?? 0);
}

export function cosmosFailure(place: CosmosPlace, error: unknown): CasPaxosError {
  if (error instanceof CasPaxosError) return error;
  const { url, timeoutMs } = place;
  if (error instanceof BrokenConnection)
    return new CasPaxosError('UNREACHABLE', `Acceptor ${url} cannot be reached (${error.reason}).`);
  const { name } = error as Error;
  const { code, substatus, message } = error as Answer;
  if (name === 'AbortError' || code === 'TimeoutError')
    return new CasPaxosError('TIMED_OUT', `Acceptor ${url} did not answer within ${timeoutMs} ms.`);
  const reason = typeof message === 'string' ? message.split('\n')[0] : String(error);
  switch (code) {
    case STATUS.unauthorized: {
      const way = 'put the right one into the URL (cosmos://:KEY@HOST) or into COSMOS_KEY';
      return new CasPaxosError('UNAUTHORIZED', `Acceptor ${url} does not accept the key: ${way}.`);
    }
    case STATUS.forbidden:
      return substatus === NOT_THE_WRITER ? notTheWriter(url) : notAllowed(place);
    case STATUS.notFound:
      return missingPlace(place);
    case STATUS.timedOut:
      return new CasPaxosError('TIMED_OUT', `Acceptor ${url} did not finish in time.`);
    case STATUS.tooLarge:
      return new CasPaxosError('REQUEST_TOO_LARGE', `Acceptor ${url} does not take a document that large.`);
    case STATUS.throttled: {
      const way = `give the container ${place.container} more throughput`;
      return new CasPaxosError('STORE_FAILED', `Acceptor ${url} is throttled: ${way}.`);
    }
    case STATUS.unavailable:
      return new CasPaxosError('UNREACHABLE', `Acceptor ${url} is not available: ${reason}`);
    default:
      return new CasPaxosError(
        'STORE_FAILED',
        `Acceptor ${url} failed (${statusOf(error) ?? name}): ${reason}`,
      );
  }
}

export function missingPlace({ url, database, container }: CosmosPlace): CasPaxosError {
  return new CasPaxosError(
    'STORE_FAILED',
    `Acceptor ${url} has no container ${container} in a database ${database}: if it was deleted, the acceptor has lost its memory; replace it.`,
  );
}

function notTheWriter(url: string): CasPaxosError {
  const way = 'use the endpoint of an account with one region';
  return new CasPaxosError('STORE_FAILED', `Acceptor ${url} takes no writes in this region: ${way}.`);
}

function notAllowed({ url, database, container }: CosmosPlace): CasPaxosError {
  const way = `grant readMetadata and the items actions on ${database}/${container} (Cosmos DB Built-in Data Contributor), and let an administrator make the container`;
  return new CasPaxosError('UNAUTHORIZED', `Acceptor ${url} does not allow it: ${way}.`);
}
