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
    .option(
      '--limit <n>',
      'number of changes to read, counted for each partition-set; the latest are last',
      '200',
    )
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
  const heads = ['TIME', 'PARTITION-SET', right('GCN'), 'WHAT', 'WHY'];
  const rows = table(
    heads,
    changes.map((change) => rowOf([change])),
  );
  return {
    value: { history: changes.map((change) => ({ ...change, sentence: sentence(change) })), hasMore },
    table: rows,
    pretty: (paint) => {
      if (changes.length === 0) return 'Nothing has changed yet.\n';
      const more = hasMore ? `\nThere are earlier changes; --limit ${limit * 2} shows more.\n` : '';
      return `${pretty(table(heads, together(changes).map(rowOf)), paint)}${more}`;
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

/** The same change of many partition-sets takes no longer than this: a later one has a cause of its own. */
const TOGETHER_MS = 10_000;

/** One event, such as the death of a region, changes many partition-sets: those are one line for people. */
function together(changes: readonly HistoryRecord[]): readonly (readonly HistoryRecord[])[] {
  const groups: HistoryRecord[][] = [];
  const latest = new Map<string, HistoryRecord[]>();
  for (const change of changes) {
    const { what, why, from, to, region, at } = change;
    const key = JSON.stringify([what, why, from, to, region]);
    const group = latest.get(key);
    const isSame =
      group !== undefined &&
      Date.parse(at) - Date.parse(group[0]!.at) <= TOGETHER_MS &&
      !group.some(({ partitionSet }) => partitionSet === change.partitionSet);
    if (isSame) group.push(change);
    else {
      const begun = [change];
      latest.set(key, begun);
      groups.push(begun);
    }
  }
  return groups;
}

function rowOf(changes: readonly HistoryRecord[]): Row {
  const [first] = changes as readonly [HistoryRecord];
  const { at, from, to, what } = first;
  const gcn = from === to ? String(to) : `${from} to ${to}`;
  const [name] = changes.map((change) => change.partitionSet).sort();
  const where = changes.length === 1 ? name! : `${name} and ${changes.length - 1} more`;
  const who = [...new Set(changes.map((change) => change.who))].sort().join(', ');
  return { cells: [at, where, gcn, what, sentence({ ...first, who })], tone: TONES[what] ?? 'plain' };
}

function sentence(change: HistoryRecord): string {
  // What happened, or why, may be a word that only a newer version knows: then the word itself is shown.
  const text = sentenceOf(change as HistoryEntry);
  const time = `${change.at}: `;
  return text.startsWith(time) ? text.slice(time.length) : `${change.what}: ${change.why}.`;
}
