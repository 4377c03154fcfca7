/**
 * Asking the partitions on behalf of a request. Two answers of theirs are not for clients of this API. A session that was undone by a
 * failover is read without it: the client gets a token of what there is, from the region that said so, because others may not have
 * got as far. And a partition-set that nobody knows may be one of
 * a container that is gone, or was made anew, which this door has not heard of yet.
 */
import { BatonError, type PartitionRead, type PartitionWritten } from '../../../client/index.ts';
import type { Operation, PartitionKey, Position } from '../../../engine/index.ts';
import { failureOf } from '../failures.ts';
import { type Call, timeLeft } from './answers.ts';
import type { Reading } from './session.ts';
import { type ItemRange, rangeOfKey } from './target.ts';

/** The map or the catalogue is out of date: thrown on, so that both are looked at again. */
export class Outdated extends Error {
  override readonly cause: BatonError;

  constructor(cause: BatonError) {
    super(cause.message);
    this.cause = cause;
  }
}

const OUTDATED: ReadonlySet<string> = new Set(['PARTITION_SET_UNKNOWN', 'CONTAINER_UNKNOWN']);

/** Rejects with a GatewayError, or with Outdated. */
export async function asked<T>(call: Call, kind: 'read' | 'write', ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (error instanceof BatonError && OUTDATED.has(error.code) && error.outcome === 'not applied')
      throw new Outdated(error);
    throw failureOf(error, { isWrite: kind === 'write', door: call.context.door });
  }
}

export async function writeTo(
  call: Call,
  partitionKey: PartitionKey,
  operations: readonly Operation[],
): Promise<PartitionWritten> {
  const { context, target, request } = call;
  return asked(call, 'write', () =>
    context.partitions.write({
      container: target.name,
      partitionKey,
      operations,
      returning: true,
      door: context.door,
      timeoutMs: timeLeft(call, 'write'),
      signal: request.signal,
    }),
  );
}

export async function readFrom(
  call: Call,
  reading: Reading,
  partitionKey: PartitionKey,
  id: string,
): Promise<PartitionRead> {
  const { context, target, request } = call;
  const range = rangeOfKey(target, partitionKey);
  return inSession(call, reading, range, (session, preferred) =>
    context.partitions.read({
      container: target.name,
      partitionKey,
      id,
      level: reading.level,
      session,
      preferred,
      timeoutMs: timeLeft(call, 'read'),
      signal: request.signal,
    }),
  );
}

export async function inSession<T>(
  call: Call,
  { sessionOf }: Reading,
  range: ItemRange,
  ask: (session: Position | undefined, preferred?: string) => Promise<T>,
): Promise<T> {
  const session = sessionOf(range);
  return asked(call, 'read', async () => {
    try {
      return await ask(session);
    } catch (error) {
      const isUndone = error instanceof BatonError && error.code === 'SESSION_UNDONE';
      if (!isUndone || session === undefined) throw error;
      const current = error.diagnostics?.attempts.findLast(({ what }) => what === error.code);
      return ask(undefined, current?.region);
    }
  });
}
