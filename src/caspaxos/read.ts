/** The cheap read over real acceptors: ask all, believe a quorum that agrees (`core/reader.ts`); and what a value says to its reader. */
import { decodeEnvelope, QUERY, QuorumReader, type ReadVerdict, type RegisterReply } from './core/index.ts';
import { isBallot, isZeroBallot } from '../protocol/index.ts';
import { type Codec } from './editing.ts';
import { asCasPaxosError, type CasPaxosError } from './errors.ts';
import type { ReadResult } from './outcomes.ts';
import type { RegisterEnvironment, View } from './register.ts';

/** A change half-way is often all the way a moment later; asking again disturbs nobody. */
const TRIES = 3;

/** The chosen value, or undefined when only an identity change can tell. */
export async function readQuorum(
  key: string,
  environment: RegisterEnvironment,
  sent: () => void = () => {},
): Promise<{ readonly value: string | undefined } | undefined> {
  for (let tried = 1; ; tried += 1) {
    sent();
    const verdict = await ask(key, environment.view(), environment);
    if (verdict.verdict === 'agreed') return verdict;
    if (verdict.verdict === 'unavailable' || tried === TRIES) return undefined;
    const { host, pace } = environment;
    await new Promise<void>((resolve) => {
      host.after(host.random() * pace.roundMs * 2 ** tried, resolve);
    });
  }
}

function ask(key: string, view: View, environment: RegisterEnvironment): Promise<ReadVerdict> {
  return new Promise((resolve, reject) => {
    const reader = new QuorumReader(view.quorum);
    const request = { key, set: view.set, message: QUERY };
    environment.counters.messages += view.batchers.length;
    const take = (index: number, reply: RegisterReply): void => {
      if (reply.type !== 'state') environment.onReply(reply);
      const isSound =
        reply.type === 'state' &&
        isBallot(reply.accepted) &&
        isZeroBallot(reply.accepted) === (reply.value === undefined);
      if (reply.type === 'state' && !isSound) environment.onDoubt(index, key, 'impossible');
      const verdict = isSound ? reader.onState({ ...reply, acceptor: index }) : reader.onMissing(index);
      if (verdict !== undefined) resolve(verdict);
    };
    const onReply = (index: number, reply: RegisterReply): void => {
      try {
        take(index, reply);
      } catch (error) {
        reject(environment.onError(key, error));
      }
    };
    for (const batcher of view.batchers) batcher.send(request, onReply);
  });
}

/** What a codec of the caller's own does not like is the caller's matter. */
export function readEnvelope<T>(key: string, text: string | undefined, codec: Codec<T>): ReadResult<T> {
  const { version, json } = orThrow(
    () => decodeEnvelope(text),
    (error) => unreadable(key, error),
  );
  return readJson(key, json, version, codec);
}

export function readJson<T>(
  key: string,
  json: string | undefined,
  version: number,
  codec: Codec<T>,
): ReadResult<T> {
  if (json === undefined) return { value: undefined, version };
  const value = orThrow(
    () => codec.decode(json),
    (error) => (error instanceof SyntaxError ? unreadable(key, error) : error),
  );
  return { value, version };
}

function unreadable(key: string, error: unknown): CasPaxosError {
  return asCasPaxosError(error, 'CORRUPT_RECORD', `Register ${key} cannot be read`);
}

function orThrow<R>(work: () => R, asError: (error: unknown) => unknown): R {
  try {
    return work();
  } catch (error) {
    throw asError(error);
  }
}
