/**
 * The progress table (paper 5.3): which LSN each epoch began with. An epoch has one writer, which wrote its entries one after
 * the other on top of a log that it held, so (epoch, LSN) names an entry for ever, and two logs tell the same story exactly as
 * far as their tables do. That is how a returning region finds what of its log is false progress without comparing entries.
 */
import type { Epoch, Position } from '../model.ts';
import type { EpochStart } from '../store.ts';

export type ProgressTable = readonly EpochStart[];

/** A log, as far as its history goes. */
export interface History {
  readonly table: ProgressTable;
  readonly tail: Position;
}

/** The table after an entry was appended. The same object when its epoch is known already. */
export function withEntry(table: ProgressTable, { epoch, lsn }: Position): ProgressTable {
  return table.at(-1)?.epoch === epoch ? table : [...table, { epoch, lsn }];
}

/** The table of a log that ends there. */
export function upTo(table: ProgressTable, lsn: number): ProgressTable {
  return table.filter((start) => start.lsn <= lsn);
}

/** The epoch of the entry with that LSN; 0 before the first. */
export function epochAt(table: ProgressTable, lsn: number): Epoch {
  return table.findLast((start) => start.lsn <= lsn)?.epoch ?? 0;
}

/** The last LSN up to which both logs hold the same entries. */
export function sharedUpTo(a: History, b: History): number {
  let shared = 0;
  for (let at = 0; at < Math.min(a.table.length, b.table.length); at += 1) {
    const [one, other] = [a.table[at]!, b.table[at]!];
    if (one.epoch !== other.epoch || one.lsn !== other.lsn) return shared;
    const [end, otherEnd] = [endOf(a, at), endOf(b, at)];
    shared = Math.min(end, otherEnd);
    if (end !== otherEnd) return shared;
  }
  return shared;
}

function endOf({ table, tail }: History, at: number): number {
  const next = table[at + 1];
  return next === undefined ? tail.lsn : next.lsn - 1;
}

/** Whether the history contains that entry. */
export function contains({ table, tail }: History, { epoch, lsn }: Position): boolean {
  return lsn <= tail.lsn && epochAt(table, lsn) === epoch;
}
