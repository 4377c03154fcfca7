/**
 * A history is what clients saw: when each operation was called, when its answer came, and what the answer was. It
 * says nothing of what went on inside the system, and that is its worth: a checker that finds no order of the
 * operations that explains it has found a defect that a user could have noticed.
 *
 * An operation whose answer never came (a timeout, a lost connection, a client that died) has no end. It may have
 * taken effect at any moment after its start, even long after its client gave up, or never.
 */
import { assert } from '../protocol/index.ts';

export interface Operation<I, O> {
  /** Who called; for people only. Whether operations overlap is decided by their times. */
  readonly process: string | number;
  /** Operations on different keys are independent of one another and checked apart. */
  readonly key?: string | undefined;
  /** Times are on one clock. When one operation ends at the instant another starts, they count as concurrent. */
  readonly start: number;
  /** Absent or infinite when the outcome is unknown. */
  readonly end?: number | undefined;
  readonly input: I;
  /** Ignored when the outcome is unknown. */
  readonly output?: O | undefined;
}

export type History<I, O> = readonly Operation<I, O>[];

export interface Timed {
  readonly start: number;
  readonly end?: number | undefined;
}

/** When the answer came; infinite if it never did. */
export function endOf(operation: Timed): number {
  const end = operation.end ?? Infinity;
  assert(end >= operation.start, `an operation ends before it starts: ${JSON.stringify(operation)}`);
  return end;
}

/** In the order in which the keys first occur; operations without a key share the key `''`. */
export function partitionByKey<T extends { readonly key?: string | undefined }>(
  operations: readonly T[],
): Map<string, T[]> {
  const partitions = new Map<string, T[]>();
  for (const operation of operations) {
    const key = operation.key ?? '';
    const partition = partitions.get(key);
    if (partition === undefined) partitions.set(key, [operation]);
    else partition.push(operation);
  }
  return partitions;
}

/** For people: `process 3, from 10 to 12`. */
export function formatWhen(operation: Timed & { readonly process: string | number }): string {
  const end = endOf(operation);
  return `process ${operation.process}, from ${operation.start} ${end === Infinity ? 'with no answer' : `to ${end}`}`;
}
