/** Lost writes of this node's copies: listed, written once more, dismissed. */
import { z } from 'zod';
import type { NodeWriteAnswer } from '../../client/index.ts';
import {
  comparePositions,
  type EnginePartition,
  type LostWrite,
  lostWrite,
  type Position,
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
export const LOST_WRITE_FORM = z.strictObject({
  partitionSet: z.string(),
  epoch: count,
  lsn: count,
  force: z.boolean().optional(),
  /** For the audit trail. */
  who: z.string().min(1).max(64).optional(),
});
/** Of one answer. */
const MOST = 1000;
const MOST_BYTES = 4 * 1024 * 1024;

export interface LostWriteQuery {
  /** The last one of the page before. */
  readonly after?: Position & { readonly partitionSet: string };
  readonly limit?: number;
  readonly isOpen?: boolean;
  readonly maxBytes?: number;
}

export interface LostWritePage {
  readonly lostWrites: readonly LostWriteView[];
  readonly hasMore: boolean;
  /** What to ask for as `after` then. */
  readonly next?: string;
}

/** Throws BAD_REQUEST. */
export function lostWriteIn(body: unknown): LostWriteName {
  const parsed = LOST_WRITE_FORM.safeParse(body);
  if (parsed.success) {
    const { partitionSet, epoch, lsn, force = false } = parsed.data;
    return { partitionSet, epoch, lsn, force };
  }
  const issue = parsed.error.issues[0]!;
  throw badRequest(`The field ${issue.path.join('.') || 'body'} is wrong: ${issue.message}.`);
}

const PLACE = /^(?<partitionSet>.+)\/(?<epoch>\d{1,16})\/(?<lsn>\d{1,16})$/;

/** Throws BAD_REQUEST. */
export function lostWriteQueryIn(query: URLSearchParams): LostWriteQuery {
  const after = query.get('after');
  const { partitionSet = '', epoch, lsn } = PLACE.exec(after ?? '')?.groups ?? {};
  if (after !== null && partitionSet === '')
    throw badRequest('The field after is wrong: it has the form PARTITION-SET/EPOCH/LSN.');
  return {
    ...(after !== null && { after: { partitionSet, epoch: Number(epoch), lsn: Number(lsn) } }),
    limit: limitIn(query, MOST),
    isOpen: query.get('open') === '1' || query.get('open') === 'true',
  };
}

/** How long a page may be: at most, and when nothing is said, `most`. Throws BAD_REQUEST. */
export function limitIn(query: URLSearchParams, most: number, usual = most): number {
  const text = query.get('limit');
  if (text === null) return usual;
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 1)
    throw badRequest('The field limit is wrong: it is a whole number of at least 1.');
  return Math.min(value, most);
}

/** In the order of the partition-sets, then of the log. Throws BAD_REQUEST. */
export function listLostWrites(
  partitions: readonly EnginePartition[],
  { after, limit = MOST, isOpen = false, maxBytes = MOST_BYTES }: LostWriteQuery = {},
): LostWritePage {
  const first =
    after === undefined ? 0 : partitions.findIndex(({ partitionSet }) => partitionSet === after.partitionSet);
  if (first < 0)
    throw badRequest('The field after is wrong: its partition-set is not among those asked for.');
  const lostWrites: LostWriteView[] = [];
  let bytes = 0;
  for (const [at, partition] of partitions.slice(first).entries()) {
    for (const undone of partition.undone()) {
      if (at === 0 && after !== undefined && comparePositions(undone.entry, after) <= 0) continue;
      if (isOpen && undone.closed !== undefined) continue;
      bytes += bytesOf(undone);
      if (lostWrites.length === limit || (lostWrites.length > 0 && bytes > maxBytes)) {
        const { partitionSet, epoch, lsn } = lostWrites.at(-1)!;
        return { lostWrites, hasMore: true, next: `${partitionSet}/${epoch}/${lsn}` };
      }
      lostWrites.push({ partitionSet: partition.partitionSet, ...lostWrite(undone) });
    }
  }
  return { lostWrites, hasMore: false };
}

function bytesOf({ entry: { changes } }: UndoneEntry): number {
  return changes.reduce((sum, { body }) => sum + (body?.length ?? 0), 0);
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
