/** `baton history`: every change of a write region, and why it happened. */
import type { Command } from 'commander';
import { type HistoryEntry, sentenceOf } from '../../failover/index.ts';
import {
  type CommonFlags,
  type Context,
  operatorCommand,
  running,
  type ScopeFlags,
  scopedNames,
  watching,
  type WatchFlags,
  wholeNumber,
  withScope,
  withWatch,
} from './command.ts';
import { pretty, type Report, right, type Row, table, type Tone } from './output.ts';
import { readHistory } from './records.ts';
import type { HistoryRecord } from './shapes.ts';
import type { Stage } from './stage.ts';

interface HistoryFlags extends CommonFlags, ScopeFlags, WatchFlags {
  readonly limit: string;
}

export function historyCommand(stage: Stage): Command {
  return withWatch(
    withScope(
      operatorCommand('history', 'Show the changes of write regions and their causes.', [
        'baton history',
        'baton history --partition-set items-03 --limit 500 -f json',
      ]),
    ),
  )
    .option('--limit <n>', 'number of changes to show, latest last', '50')
    .action(
      running(
        stage,
        (context, flags: HistoryFlags) =>
          watching(context, flags, async () => ({ report: await historyReport(context, flags) })),
        ([flags]) => flags,
      ),
    );
}

async function historyReport({ cluster }: Context, flags: HistoryFlags): Promise<Report> {
  const limit = wholeNumber(flags.limit, '--limit');
  const names = await scopedNames(cluster, flags);
  const { changes, hasMore } = await readHistory(cluster, names, limit);
  const rows = table(['TIME', 'PARTITION-SET', right('GCN'), 'WHAT', 'WHY'], changes.map(rowOf));
  return {
    value: { history: changes.map((change) => ({ ...change, sentence: sentence(change) })), hasMore },
    table: rows,
    pretty: (paint) => {
      if (changes.length === 0) return 'Nothing has changed yet.\n';
      const more = hasMore ? `\nThere are earlier changes; --limit ${limit * 2} shows more.\n` : '';
      return `${pretty(rows, paint)}${more}`;
    },
  };
}

const TONES: Readonly<Record<string, Tone>> = {
  raised: 'bad',
  elected: 'good',
  began: 'dim',
  switched: 'good',
  'gave up': 'warning',
};

function rowOf(change: HistoryRecord): Row {
  const { at, partitionSet, from, to, what } = change;
  const gcn = from === to ? String(to) : `${from} to ${to}`;
  return { cells: [at, partitionSet, gcn, what, sentence(change)], tone: TONES[what] ?? 'plain' };
}

function sentence(change: HistoryRecord): string {
  // What happened, or why, may be a word that only a newer version knows: then the word itself is shown.
  const text = sentenceOf(change as HistoryEntry);
  const time = `${change.at}: `;
  return text.startsWith(time) ? text.slice(time.length) : `${change.what}: ${change.why}.`;
}
