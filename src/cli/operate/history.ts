/** `baton history`: every change of a write region, and why it happened. */
import type { Command } from 'commander';
import { type HistoryEntry, sentenceOf } from '../../failover/index.ts';
import { inParallel } from './cluster.ts';
import {
  chosen,
  type CommonFlags,
  type Context,
  operatorCommand,
  positive,
  running,
  type ScopeFlags,
  watching,
  type WatchFlags,
  withScope,
  withWatch,
} from './command.ts';
import { plural, pretty, type Report, right, type Row, table, type Tone } from './output.ts';
import type { HistoryRecord } from './shapes.ts';
import type { Stage } from './stage.ts';

interface HistoryFlags extends CommonFlags, ScopeFlags, WatchFlags {
  readonly limit: string;
}

interface Change extends HistoryRecord {
  readonly partitionSet: string;
}

export function historyCommand(stage: Stage): Command {
  return withWatch(
    withScope(
      operatorCommand('history', 'Show every change of a write region, and what caused it.', [
        'baton history',
        'baton history --partition-set items-03 -f json',
      ]),
    ),
  )
    .option('--limit <n>', 'the last so many', '50')
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
  const limit = positive(flags.limit, '--limit');
  const sets = chosen(await cluster.look(), flags);
  const all = await inParallel(sets, async (one) =>
    (await cluster.history(one)).map((entry): Change => ({ partitionSet: one.name, ...entry })),
  );
  const changes = all.flat().sort(byTime);
  const shown = changes.slice(-limit);
  const rows = table(['TIME', 'PARTITION-SET', right('GCN'), 'WHAT', 'WHY'], shown.map(rowOf));
  return {
    value: { history: shown.map((change) => ({ ...change, sentence: sentence(change) })) },
    table: rows,
    pretty: (paint) => {
      if (changes.length === 0) return 'Nothing has changed yet.\n';
      const left = changes.length - shown.length;
      const more = left === 0 ? '' : `\n${plural(left, 'earlier change')}; --limit shows more.\n`;
      return `${pretty(rows, paint)}${more}`;
    },
  };
}

/** By the clocks of those who made the changes; within a partition-set the GCN decides. */
function byTime(a: Change, b: Change): number {
  if (a.partitionSet === b.partitionSet && a.to !== b.to) return a.to - b.to;
  return a.at < b.at ? -1 : a.at > b.at ? 1 : 0;
}

const TONES: Readonly<Record<string, Tone>> = {
  raised: 'bad',
  elected: 'good',
  began: 'dim',
  switched: 'good',
  'gave up': 'warning',
};

function rowOf(change: Change): Row {
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
