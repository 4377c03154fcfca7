/** `baton priority`: which regions shall have the writes, the preferred one first. */
import type { Command } from 'commander';
import {
  chosen,
  type CommonFlags,
  type Context,
  type DangerFlags,
  knownRegion,
  operatorCommand,
  running,
  type ScopeFlags,
  withDanger,
  withScope,
} from './command.ts';
import { type ExitCode, usage } from './errors.ts';
import type { PartitionSet } from './merge.ts';
import { plural } from './output.ts';
import { confirm, type Stage } from './stage.ts';
import { exitFor, send, sentReport } from './wishes.ts';

interface PriorityFlags extends CommonFlags, ScopeFlags, DangerFlags {}

export function priorityCommand(stage: Stage): Command {
  return withDanger(
    withScope(
      operatorCommand('priority', 'Set the order in which regions are preferred as the write region.', [
        'baton priority east,west,north',
        'baton priority east,west,north --container items --dry-run',
      ]),
    ),
  )
    .argument('<regions>', 'all regions, separated by commas, the preferred one first')
    .action(running(stage, priority, ([, flags]) => flags));
}

async function priority(context: Context, list: string, flags: PriorityFlags): Promise<ExitCode> {
  const { cluster, stage } = context;
  const view = await cluster.look();
  const priorities = list.split(',').map((name) => knownRegion(view, name.trim()));
  if (new Set(priorities).size !== priorities.length) throw usage('The list names a region twice.');
  const sets = chosen(view, flags);
  const left = sets
    .flatMap(({ state }) => Object.keys(state?.regions ?? {}))
    .find((name) => !priorities.includes(name));
  if (left !== undefined) throw usage(`The list must name every region; ${left} is missing.`);
  const plan = planOf(sets, priorities);
  if (flags.dryRun) context.note(plan);
  else await confirm(stage, plan, flags.force);
  const intent = () => ({ kind: 'priorities', priorities }) as const;
  const sent = await send(context, view, sets, intent, { dryRun: flags.dryRun });
  context.print(sentReport(`Priorities ${priorities.join(', ')}`, sent, flags.dryRun));
  return exitFor(sent);
}

function planOf(sets: readonly PartitionSet[], priorities: readonly string[]): string {
  const [first] = priorities as [string];
  const elsewhere = sets.filter(({ state }) => state?.writeRegion !== first);
  const moving = elsewhere.filter(
    ({ state }) => state?.configuration.failback !== 'off' && !state?.pausedAutomatic,
  );
  const staying = elsewhere.length - moving.length;
  return [
    `This sets the priorities of ${plural(sets.length, 'partition-set')} to ${priorities.join(', ')}, and removes the pins of operators.`,
    `The writes of ${plural(moving.length, 'partition-set')} then move to ${first} automatically, when it is healthy and failback allows it.`,
    ...(staying > 0
      ? [
          `${plural(staying, 'partition-set')} stay where they are, because failback is off or failovers are paused.`,
        ]
      : []),
  ].join('\n');
}
