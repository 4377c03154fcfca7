/** What the journal of an acceptor holds above its last checkpoint, put into its database at the next start. */
import type { RegisterRecord } from '../core/index.ts';
import { CasPaxosError } from '../errors.ts';
import { IN_THE_JOURNAL, replayEntries, unpack } from './codec.ts';
import type { JournalRecord } from './journal.ts';
import type { RecordTable } from './record-table.ts';

export async function restore(table: RecordTable, records: readonly JournalRecord[]): Promise<void> {
  const newest = new Map<string, RegisterRecord>();
  for (const { payload } of records) {
    replayEntries(
      unpack(payload, IN_THE_JOURNAL),
      (key) => newest.get(key) ?? readable(table, key),
      (key, record) => newest.set(key, record),
    );
  }
  await table.restore(newest, records.at(-1)!.sequence);
}

/** One register's record that cannot be read must not keep the whole acceptor from starting. */
function readable(table: RecordTable, key: string): RegisterRecord | undefined {
  try {
    return table.saved(key);
  } catch (error) {
    if (error instanceof CasPaxosError && error.code === 'CORRUPT_RECORD') return undefined;
    throw error;
  }
}
