/** `If-Match` and `If-None-Match`, and what a read answers. */
import { etagOf, type OperationResult, type Version } from '../model.ts';
import type { Conditions } from './request.ts';
import { isAlive, type Readable } from './versions.ts';

export const NOT_FOUND: OperationResult = {
  status: 404,
  message: 'There is no item with this id and partition key.',
};
const PRECONDITION_FAILED: OperationResult = {
  status: 412,
  message: 'The item is not at the version that the request names.',
};
const NOT_MODIFIED: OperationResult = { status: 304 };

/** Of a document that exists. `etag` is undefined while nobody can know it yet: its version is still being made. */
export function unmet(
  { ifMatch, ifNoneMatch }: Conditions,
  etag: string | undefined,
  kind: 'read' | 'write',
): OperationResult | undefined {
  if (ifMatch !== undefined && !names(ifMatch, etag)) return PRECONDITION_FAILED;
  if (ifNoneMatch !== undefined && names(ifNoneMatch, etag)) {
    return kind === 'read' ? NOT_MODIFIED : PRECONDITION_FAILED;
  }
  return undefined;
}

/** What a point read answers; the version is there for 200 and 304. The caller has seen to it that it is committed. */
export function readResult(
  version: Version | undefined,
  conditions: Conditions,
  now: number,
): OperationResult & { readonly version?: Readable<Version> } {
  if (!isAlive(version, now)) return NOT_FOUND;
  const refusal = unmet(conditions, etagOf(version), 'read');
  if (refusal === undefined) return { status: 200, version };
  return refusal.status === 304 ? { ...refusal, version } : refusal;
}

/** Some clients leave out the quotation marks that belong to an etag. */
function names(condition: string, etag: string | undefined): boolean {
  return condition === '*' || condition === etag || `"${condition}"` === etag;
}
