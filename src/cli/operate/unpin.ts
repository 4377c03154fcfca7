/** `baton unpin`: writes that a switchover or a failover sent somewhere may go back to the preferred region by themselves. */
import type { Command } from 'commander';
import {
  chosen,
  type CommonFlags,
  type Context,
  type DangerFlags,
  operatorCommand,
  running,
  type ScopeFlags,
  withDanger,
  withScope,
} from './command.ts';
import type { ExitCode } from './errors.ts';
import type { PartitionSet } from './merge.ts';
import { byWriter } from './moves.ts';
import { plural } from './output.ts';
import { confirm, type Stage } from './stage.ts';
import { exitFor, send, sentReport } from './wishes.ts';

interface UnpinFlags extends CommonFlags, ScopeFlags, DangerFlags {}

export function unpinCommand(stage: Stage): Command {
  return withDanger(
    withScope(
      operatorCommand(
        'unpin',
        'Let writes return to the preferred region: a switchover, or a failover with --to, has pinned them where they are.',
        ['baton unpin --partition-set items-03', 'baton unpin --dry-run'],
      ),
    ),
  ).action(running(stage, unpin, ([flags]) => flags));
}

async function unpin(context: Context, flags: UnpinFlags): Promise<ExitCode> {
  const { cluster, stage } = context;
  const view = await cluster.look();
  const sets = chosen(view, flags).filter(({ state }) => state?.pin != null);
  if (sets.length > 0) {
    const plan = planOf(sets);
    if (flags.dryRun) context.note(plan);
    else await confirm(stage, plan, flags.force);
  }
  const sent = await send(context, view, sets, () => ({ kind: 'unpin' }), { dryRun: flags.dryRun });
  const report = sentReport('Unpinning', sent, flags.dryRun);
  context.print(sets.length > 0 ? report : { ...report, pretty: () => 'Nothing is pinned.\n' });
  return exitFor(sent);
}

function planOf(sets: readonly PartitionSet[]): string {
  const moving = sets.filter(mayMove);
  return [
    `This unpins ${plural(sets.length, 'partition-set')} (${byWriter(sets)}).`,
    `The writes of ${plural(moving.length, 'partition-set')} then return to the preferred region automatically and without loss, when it is healthy and failback allows it.`,
  ].join('\n');
}

function mayMove({ state }: PartitionSet): boolean {
  const { failback, priorities } = state!.configuration;
  return state!.writeRegion !== priorities[0] && failback !== 'off' && !state!.pausedAutomatic;
}
