/** Where a feed of items goes on: behind which item of which range. Nothing in it is secret, and nothing in it is trusted. */
import { type DocumentKey, idProblem, LIMITS } from '../../../engine/index.ts';
import { badRequest } from '../errors.ts';
import type { ItemRange, Target } from './target.ts';

export interface Continuation {
  readonly rangeId: string;
  readonly after: DocumentKey | undefined;
}

const VERSION = 1;

export function formatContinuation(
  { number }: Target,
  { id }: ItemRange,
  after: DocumentKey | undefined,
): string {
  const place = after === undefined ? [] : [after.epk, after.id];
  return Buffer.from(JSON.stringify([VERSION, number, id, ...place])).toString('base64url');
}

/** Throws 400. */
export function parseContinuation(text: string, { number, ranges }: Target): Continuation {
  const [version, container, rangeId, epk, id] = fieldsIn(text);
  if (typeof version === 'number' && version > VERSION)
    throw badRequest('The continuation was made by a newer version.');
  const isOurs = version === VERSION && container === number && ranges.some((range) => range.id === rangeId);
  const after = epk === undefined ? undefined : keyIn(epk, id);
  if (!isOurs || after === 'damaged')
    throw badRequest('The continuation is damaged, or belongs to another container.');
  return { rangeId: rangeId as string, after };
}

function keyIn(epk: unknown, id: unknown): DocumentKey | 'damaged' {
  const isKey = typeof epk === 'string' && /^[0-9A-F]{32}$/.test(epk) && idProblem(id, LIMITS) === undefined;
  return isKey ? { epk, id: id as string } : 'damaged';
}

function fieldsIn(text: string): readonly unknown[] {
  try {
    const fields: unknown = JSON.parse(Buffer.from(text, 'base64url').toString());
    return Array.isArray(fields) ? fields : [];
  } catch {
    return [];
  }
}
