/** Lost writes of this node's copies: listed, written once more, dismissed. */
import { z } from 'zod';
import type { NodeWriteAnswer } from '../../client/index.ts';
import {
  type EnginePartition,
  type LostWrite,
  lostWrite,
  rewriting,
  type UndoneEntry,
  type WriteRequest,
} from '../../engine/index.ts';
import { badRequest, HttpError } from '../http/index.ts';

export interface LostWriteView extends LostWrite {
  readonly partitionSet: string;
}

export interface LostWriteName {
  readonly partitionSet: string;
  readonly epoch: number;
  readonly lsn: number;
  readonly force: boolean;
}

const count = z.int().min(0);
const form = z.strictObject({
  partitionSet: z.string(),
  epoch: count,
  lsn: count,
  force: z.boolean().optional(),
});
/** An answer is for people; a list without end is not. */
const MOST = 1000;

/** Throws BAD_REQUEST. */
export function lostWriteIn(body: unknown): LostWriteName {
  const parsed = form.safeParse(body);
  if (parsed.success) return { ...parsed.data, force: parsed.data.force ?? false };
  const issue = parsed.error.issues[0]!;
  throw badRequest(`The field ${issue.path.join('.') || 'body'} is wrong: ${issue.message}.`);
}

export function listLostWrites(partitions: readonly EnginePartition[]): {
  readonly lostWrites: readonly LostWriteView[];
  readonly hasMore: boolean;
} {
  const all = partitions.flatMap((partition) =>
    partition.undone().map((undone) => ({ partitionSet: partition.partitionSet, undone })),
  );
  const lostWrites = all
    .slice(0, MOST)
    .map(({ partitionSet, undone }) => ({ partitionSet, ...lostWrite(undone) }));
  return { lostWrites, hasMore: all.length > MOST };
}

/** Throws LOST_WRITE_UNKNOWN or LOST_WRITE_CLOSED. */
function find(partition: EnginePartition, { epoch, lsn }: LostWriteName): UndoneEntry {
  const found = partition.undone().find(({ entry }) => entry.epoch === epoch && entry.lsn === lsn);
  if (found === undefined)
    throw new HttpError(404, 'LOST_WRITE_UNKNOWN', `No lost write (${epoch}, ${lsn}) is kept here.`);
  if (found.closed !== undefined)
    throw new HttpError(409, 'LOST_WRITE_CLOSED', `That write has been seen to: it was ${found.closed}.`);
  return found;
}

/** In the write region, wherever that is; then it is closed here, where it was undone. */
export async function reapply(
  partition: EnginePartition,
  name: LostWriteName,
  write: (request: WriteRequest) => Promise<NodeWriteAnswer>,
): Promise<void> {
  const lost = find(partition, name);
  for (const request of rewriting(lost, partition.core!.store.notes.table, name.force)) {
    const answer = await write(request);
    if (!isGood(answer)) throw new HttpError(409, 'LOST_WRITE_NOT_APPLIED', sentenceFor(answer));
  }
  await partition.closeUndone(name, 'reapplied');
}

export async function dismiss(partition: EnginePartition, name: LostWriteName): Promise<void> {
  find(partition, name);
  await partition.closeUndone(name, 'dismissed');
}

function isGood(answer: NodeWriteAnswer): boolean {
  return answer.outcome === 'done' && answer.results.every(({ status }) => status < 400);
}

function sentenceFor(answer: NodeWriteAnswer): string {
  if (answer.outcome === 'unknown') return 'Whether it was written is not known yet; ask again.';
  if (answer.outcome === 'refused')
    return answer.code === 'NOT_WRITER'
      ? 'No region takes writes of this partition-set now; ask again later.'
      : `The write was refused: ${answer.code}.`;
  const message = answer.results.find(({ status }) => status >= 400)?.message ?? '';
  return `The document was changed since; force writes it all the same. ${message}`.trim();
}
