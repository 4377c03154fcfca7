/** What a run left behind of one partition-set, as lines of JSON: tests of the checkers go on from such a file. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type {
  ClientOperation,
  ConsistencyLevel,
  CopyDocument,
  CopyRecord,
  FeedRecord,
  LogRow,
  UndoneWrite,
} from 'baton/check';
import type { Evidence, SetEvidence } from './campaign.ts';
import type { JudgedSet } from './verdict.ts';

interface Head {
  readonly level: ConsistencyLevel;
  readonly quietFrom: number | undefined;
  readonly feed: FeedRecord;
}

export interface Recording extends JudgedSet {
  readonly level: ConsistencyLevel;
}

type Line =
  | { readonly head: Head }
  | { readonly operation: ClientOperation }
  | { readonly row: LogRow }
  | { readonly undone: UndoneWrite }
  | {
      readonly copy: Pick<CopyRecord, 'region' | 'log'> & {
        readonly documents: readonly [string, CopyDocument][];
      };
    };

export function formatRecording(level: ConsistencyLevel, { record, feed, final }: SetEvidence): string {
  const { operations, log, undone, quietFrom } = record;
  const lines: Line[] = [
    { head: { level, quietFrom, feed } },
    ...operations.map((operation): Line => ({ operation })),
    ...log.map((row): Line => ({ row })),
    ...undone.map((one): Line => ({ undone: one })),
    ...final.copies.map(({ region, log: entries, documents }): Line => ({
      copy: { region, log: entries, documents: [...documents] },
    })),
  ];
  return `${lines.map((line) => JSON.stringify(line)).join('\n')}\n`;
}

export function parseRecording(text: string): Recording {
  const lines = text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Line);
  const { head } = lines.find((line) => 'head' in line)!;
  return {
    level: head.level,
    feed: head.feed,
    record: {
      operations: lines.flatMap((line) => ('operation' in line ? [line.operation] : [])),
      log: lines.flatMap((line) => ('row' in line ? [line.row] : [])),
      undone: lines.flatMap((line) => ('undone' in line ? [line.undone] : [])),
      quietFrom: head.quietFrom,
    },
    copies: lines.flatMap((line) =>
      'copy' in line ? [{ ...line.copy, documents: new Map(line.copy.documents) }] : [],
    ),
  };
}

/** Beside the data of a run that is kept. */
export function keepHistories({ sets, directory, options }: Evidence): void {
  for (const set of sets)
    writeFileSync(
      join(directory, `history-${set.partitionSet}.jsonl`),
      formatRecording(options.consistency, set),
    );
}
