/** Rows as nodes send them, with what a test does not care about filled in. */
import type { HistoryEntry, SetRow } from '../api.ts';

interface RowFields {
  readonly name: string;
  readonly gcn: number;
  readonly writer: string | null;
  readonly canWrite: boolean;
  readonly phase: string;
  readonly step: number;
  readonly cause: string;
}

export function row(fields: Partial<RowFields> = {}): SetRow {
  const {
    name = 's-1',
    gcn = 1,
    writer = 'east',
    canWrite = false,
    phase = 'Steady',
    step = gcn,
    cause = 'creation',
  } = fields;
  return [
    name,
    'items',
    gcn,
    phase,
    writer,
    canWrite ? 1 : 0,
    1,
    ['east', 'west'],
    cause,
    step,
    null,
    null,
    10,
    9,
  ];
}

export function change(fields: Partial<HistoryEntry> = {}): HistoryEntry {
  return {
    n: 1,
    partitionSet: 's-1',
    at: 1000,
    what: 'raised',
    cause: 'silence',
    who: 'west',
    gcn: 2,
    fromGcn: 1,
    from: 'east',
    to: null,
    sentence: 'east is no longer the write region.',
    ...fields,
  };
}
