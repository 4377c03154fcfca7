/** `baton intents`: what operators wish for, and what became of it; a wish that has not come true yet can be withdrawn. */
import type { Command } from 'commander';
import {
  chosen,
  type CommonFlags,
  type Context,
  operatorCommand,
  running,
  type ScopeFlags,
  watching,
  type WatchFlags,
  withScope,
  withWatch,
} from './command.ts';
import { type ExitCode, OperateError } from './errors.ts';
import type { ClusterView, PartitionSet } from './merge.ts';
import { plural, pretty, type Report, type Row, someOf, table, type Tone } from './output.ts';
import { type Stage, timeOfId } from './stage.ts';
import { exitFor, send, sentReport } from './wishes.ts';

interface IntentFlags extends CommonFlags, ScopeFlags, WatchFlags {
  readonly open: boolean;
}

interface WithdrawFlags extends CommonFlags {
  readonly dryRun: boolean;
}

interface KnownIntent {
  readonly id: string;
  readonly kind: string;
  readonly state: string;
  readonly target?: string;
  /** Of those that are open. */
  readonly who?: string;
  readonly madeAt?: string;
}

export function intentsCommand(stage: Stage): Command {
  return withWatch(
    withScope(
      operatorCommand('intents', 'Show open and recent intents of operators, and their outcome.', [
        'baton intents',
        'baton intents --open -f json',
      ]),
    ),
  )
    .option('--open', 'only open intents', false)
    .enablePositionalOptions()
    .addCommand(withdrawCommand(stage))
    .action(
      running(
        stage,
        (context, flags: IntentFlags) =>
          watching(context, flags, async () => ({
            report: intentsReport(await context.cluster.look(), flags),
          })),
        ([flags]) => flags,
      ),
    );
}

function withdrawCommand(stage: Stage): Command {
  const examples = ['baton intents withdraw switchover-m1x2y3z4-0a1b2c3d4e5f'];
  return operatorCommand('withdraw', 'Withdraw an open intent.', examples)
    .argument('<id>', 'ID of the intent, as `baton intents` shows it')
    .option('--dry-run', 'show what would happen without doing it', false)
    .action(running(stage, withdraw, ([, flags]: [string, WithdrawFlags]) => flags));
}

function intentsOf({ state }: PartitionSet): readonly KnownIntent[] {
  const { open = [], recent = [] } = state?.intents ?? {};
  return [
    ...recent.map(({ id, kind, end }) => ({ id, kind, state: end, ...madeAt(id) })),
    ...open.map(({ id, kind, who, target }) => ({
      id,
      kind,
      state: 'open',
      ...(target !== undefined && { target }),
      who,
      ...madeAt(id),
    })),
  ];
}

function madeAt(id: string): { readonly madeAt?: string } {
  const time = timeOfId(id);
  return time === undefined ? {} : { madeAt: new Date(time).toISOString() };
}

function intentsReport(view: ClusterView, flags: IntentFlags): Report {
  const all = chosen(view, flags)
    .flatMap((one) => intentsOf(one).map((intent) => ({ partitionSet: one.name, ...intent })))
    .filter(({ state }) => !flags.open || state === 'open');
  const heads = ['MADE', 'WISH', 'BY', 'STATE', 'PARTITION-SETS', 'ID'];
  return {
    value: { intents: all },
    table: table(
      heads,
      all.map((intent) => rowOf(intent, intent.partitionSet)),
    ),
    pretty: (paint) => {
      if (all.length === 0)
        return flags.open ? 'There are no open intents.\n' : 'There are no open or recent intents.\n';
      return pretty(table(heads, together(all)), paint);
    },
  };
}

/** One wish goes to many partition-sets under one id. */
function together(all: readonly (KnownIntent & { readonly partitionSet: string })[]): readonly Row[] {
  const groups = new Map<string, { first: KnownIntent; names: string[] }>();
  for (const intent of all) {
    const key = `${intent.id}\t${intent.state}`;
    const group = groups.get(key) ?? { first: intent, names: [] };
    group.names.push(intent.partitionSet);
    groups.set(key, group);
  }
  return [...groups.values()]
    .sort((a, b) => compare(a.first.madeAt ?? '', b.first.madeAt ?? ''))
    .map(({ first, names }) => {
      const count = names.length > 1 ? `${plural(names.length, 'partition-set')}: ` : '';
      return rowOf(first, `${count}${someOf(names)}`);
    });
}

const TONES: Readonly<Record<string, Tone>> = { open: 'warning', honoured: 'good', cancelled: 'dim' };

function rowOf({ id, kind, target, who = '', state, madeAt: made = '' }: KnownIntent, where: string): Row {
  const wish = target === undefined ? kind : `${kind} ${target}`;
  return { cells: [made, wish, who, state, where, id], tone: TONES[state] ?? 'plain' };
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

async function withdraw(context: Context, id: string, { dryRun }: WithdrawFlags): Promise<ExitCode> {
  const view = await context.cluster.look();
  const sets = view.partitionSets.filter(
    ({ state }) => state?.intents.open.some((intent) => intent.id === id) === true,
  );
  if (sets.length === 0) throw new OperateError('REFUSED', `There is no open intent ${id}.`);
  const sent = await send(context, view, sets, () => ({ kind: 'withdraw', intent: id }), { dryRun });
  context.print(sentReport(`Withdrawing ${id}`, sent, dryRun));
  return exitFor(sent);
}
