/** `baton switchover`: the planned move. The writer stops, the target has everything, the target writes: nothing is lost. */
import type { Command } from 'commander';
import { inParallel } from './cluster.ts';
import {
  type CommonFlags,
  type Context,
  type DangerFlags,
  knownRegion,
  operatorCommand,
  positive,
  running,
  withDanger,
  withScope,
} from './command.ts';
import type { ExitCode } from './errors.ts';
import { conditionOf, lagOf, lagText } from './health.ts';
import type { PartitionSet } from './merge.ts';
import { byWriter, gapOf, meant, type Moved, type MoveFlags, movedReport, moveExit } from './moves.ts';
import { plural } from './output.ts';
import { confirm, type Stage } from './stage.ts';
import { exitFor, type Fate, mayBeInForce, send, type Sent, sentReport, waitUntil } from './wishes.ts';

interface SwitchoverFlags extends CommonFlags, MoveFlags, DangerFlags {
  readonly to: string;
  readonly timeout: string;
  readonly wait: boolean;
}

export function switchoverCommand(stage: Stage): Command {
  return withDanger(
    withScope(
      operatorCommand('switchover', 'Move the writes to another region as planned, without losing any.', [
        'baton switchover --to east --partition-set items-03',
        'baton switchover --to east --from west      # drain a region before maintenance',
        'baton switchover --to west --all --force',
      ]),
    ),
  )
    .requiredOption('--to <region>', 'the new write region')
    .option('--from <region>', 'only partition-sets whose write region this is')
    .option('--all', 'every partition-set', false)
    .option('--timeout <seconds>', 'how long to wait for the move', '60')
    .option('--no-wait', 'do not wait for the move')
    .action(running(stage, switchover, ([flags]) => flags));
}

async function switchover(context: Context, flags: SwitchoverFlags): Promise<ExitCode> {
  const { cluster, stage } = context;
  const timeoutMs = positive(flags.timeout, '--timeout') * 1000;
  const view = await cluster.look();
  const target = knownRegion(view, flags.to);
  const all = meant(view, flags);
  const there = all.filter(({ state }) => state?.writeRegion === target && state.phase === 'Steady');
  const sets = all.filter((one) => !there.includes(one));
  const what = `Switchover to ${target}`;
  const intent = () => ({ kind: 'switchover', target }) as const;
  if (flags.dryRun) {
    for (const warning of warningsFor(sets, target)) context.note(warning);
    const sent = await send(context, view, sets, intent, { dryRun: true, bound: true });
    context.print(sentReport(what, sent, true));
    return exitFor(sent);
  }
  if (sets.length > 0 && flags.partitionSet === undefined) {
    const plan = `This moves the writes of ${plural(sets.length, 'partition-set')} (${byWriter(sets)}) to ${target}, without loss; each pauses briefly.`;
    await confirm(stage, [...warningsFor(sets, target), plan].join('\n'), flags.force);
  }
  const sent = await send(context, view, sets, intent, { dryRun: false, bound: true });
  const moved = flags.wait
    ? await followed(context, sent, target, timeoutMs)
    : sent.map((one) => ({ sent: one }));
  context.print(movedReport(what, moved, there, target));
  return moveExit(moved);
}

async function followed(
  context: Context,
  sent: readonly Sent[],
  target: string,
  timeoutMs: number,
): Promise<readonly Moved[]> {
  const ids = new Map(sent.filter(mayBeInForce).map((one) => [one.set.name, one]));
  const waited = await waitUntil(context, [...ids.keys()], timeoutMs, (set) =>
    fateOf(set, target, ids.get(set.name)!),
  );
  return inParallel(sent, async (one): Promise<Moved> => {
    if (!mayBeInForce(one)) return { sent: one };
    const end = waited.get(one.set.name) ?? { set: one.set, fate: 'pending' as const };
    const gapMs = end.fate === 'done' ? await gapOf(context, end.set) : undefined;
    return { sent: one, waited: end, ...(gapMs !== undefined && { gapMs }) };
  });
}

function fateOf({ state }: PartitionSet, target: string, { id, set }: Sent): Fate {
  if (state === undefined) return 'pending';
  const isOpen = state.intents.open.some((intent) => intent.id === id);
  if (state.writeRegion === target && state.phase === 'Steady' && !isOpen) return 'done';
  const end = state.intents.recent.find((intent) => intent.id === id)?.end;
  if (end === 'cancelled') return { failed: 'it was cancelled: another intent or a failover came first' };
  const isOvertaken = state.gcn > (set.state?.gcn ?? Infinity) && state.phase === 'Steady' && !isOpen;
  return isOvertaken
    ? { failed: `${state.writeRegion} has the writes now: a failover came first` }
    : 'pending';
}

/** What may make it take longer than people expect. */
function warningsFor(sets: readonly PartitionSet[], target: string): readonly string[] {
  const down = sets.filter((one) => conditionOf(one, target) !== 'running');
  const outside = sets.filter(({ state }) => state !== undefined && !state.leaseSet.includes(target));
  const late = sets.find((one) => (lagOf(one, target)?.entries ?? 0) > 1000);
  const example = late && `${late.name}: ${lagText(lagOf(late, target))}`;
  return [
    ...(down.length > 0
      ? [`Warning: ${target} is not running in ${plural(down.length, 'partition-set')}.`]
      : []),
    ...(outside.length > 0
      ? [
          `Warning: ${target} is not in the lease set of ${plural(outside.length, 'partition-set')}; it must catch up first.`,
        ]
      : []),
    ...(example === undefined ? [] : [`Warning: ${target} lags (${example}); it must catch up first.`]),
  ];
}
