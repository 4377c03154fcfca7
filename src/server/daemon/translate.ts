/** Errors of the rooms below, as operators are told them: with their own code, and a status that says whose fault it is. */
import { CasPaxosError } from '../../caspaxos/index.ts';
import { EngineError, EngineStorageError } from '../../engine/index.ts';
import { FailoverError } from '../../failover/index.ts';
import { RpcError } from '../../transport/index.ts';
import { type HttpAnswer, HttpError } from '../http/index.ts';

/** Whoever asks again later may be answered. */
const LATER: ReadonlySet<string> = new Set(['NOT_STARTED', 'UPDATE_FAILED']);

export async function translated(answer: () => HttpAnswer | Promise<HttpAnswer>): Promise<HttpAnswer> {
  try {
    return await answer();
  } catch (error) {
    throw httpErrorOf(error);
  }
}

function httpErrorOf(error: unknown): unknown {
  if (error instanceof FailoverError || error instanceof EngineError) {
    const status = LATER.has(error.code) ? 503 : error.code === 'PARTITION_SET_UNKNOWN' ? 404 : 409;
    return new HttpError(status, error.code, error.message);
  }
  const isAway =
    error instanceof CasPaxosError || error instanceof RpcError || error instanceof EngineStorageError;
  return isAway ? new HttpError(503, error.code, error.message) : error;
}
