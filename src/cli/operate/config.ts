/** `baton config`: what the people who run the partition-sets have decided, and deciding it anew. */
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
import { EXIT, type ExitCode } from './errors.ts';
import type { PartitionSet } from './merge.ts';
import { plural, pretty, type Report, table } from './output.ts';
import { intentsFor, SETTINGS, settingsOf } from './settings.ts';
import { confirm, type Stage } from './stage.ts';
import { exitFor, send, type Sent, sentReport } from './wishes.ts';

interface ShowFlags extends CommonFlags, ScopeFlags {}
interface SetFlags extends CommonFlags, ScopeFlags, DangerFlags {}

export function configCommand(stage: Stage): Command {
  const examples = ['baton config', 'baton config set consistency=Session minimumDurability=2'];
  return withScope(operatorCommand('config', 'Show or change the configuration of partition-sets.', examples))
    .enablePositionalOptions()
    .addCommand(setCommand(stage))
    .action(running(stage, show, ([flags]) => flags));
}

function setCommand(stage: Stage): Command {
  const known = Object.entries(SETTINGS).map(([name, meaning]) => `  ${name.padEnd(18)} ${meaning}\n`);
  return withDanger(
    withScope(
      operatorCommand('set', 'Change settings of all partition-sets, or of those that are named.', [
        'baton config set consistency=Session minimumDurability=2',
        'baton config set failback=22:00-04:00 --container items --dry-run',
      ]),
    ),
  )
    .argument('<name=value...>', 'settings to change, see below')
    .addHelpText('after', `Settings:\n${known.join('')}`)
    .action(running(stage, set, ([, flags]) => flags));
}

async function show({ cluster, print }: Context, flags: ShowFlags): Promise<ExitCode> {
  const view = await cluster.look();
  print(configReport(chosen(view, flags)));
  return EXIT.ok;
}

/** Those that are configured alike stand together. */
export function configReport(sets: readonly PartitionSet[]): Report {
  const alike = new Map<string, PartitionSet[]>();
  for (const one of sets) {
    if (one.state === undefined) continue;
    const key = JSON.stringify(settingsOf(one.state.configuration));
    alike.set(key, [...(alike.get(key) ?? []), one]);
  }
  const groups = [...alike.values()];
  const rows = sets.flatMap(({ name, state }) =>
    state === undefined ? [] : settingsOf(state.configuration).map((pair) => ({ cells: [name, ...pair] })),
  );
  return {
    value: {
      partitionSets: sets.map(({ name, container, state }) => ({
        name,
        container,
        configuration: state?.configuration ?? null,
        paused: state?.pausedAutomatic ?? null,
        ...(state?.pin != null && { pinned: state.pin }),
      })),
    },
    table: table(['PARTITION-SET', 'SETTING', 'VALUE'], rows),
    pretty: (paint) =>
      groups
        .map((group) => {
          const settings = settingsOf(group[0]!.state!.configuration).map((cells) => ({ cells }));
          return `${namesOf(group)}:\n${pretty(table(['SETTING', 'VALUE'], settings), paint)}`;
        })
        .join('\n'),
  };
}

function namesOf(sets: readonly PartitionSet[]): string {
  const [first, last] = [sets[0]!.name, sets.at(-1)!.name];
  return sets.length === 1 ? first : `${plural(sets.length, 'partition-set')}, ${first} to ${last}`;
}

async function set(context: Context, assignments: readonly string[], flags: SetFlags): Promise<ExitCode> {
  const { cluster, stage } = context;
  const makers = intentsFor(assignments);
  const view = await cluster.look();
  const sets = chosen(view, flags).filter(({ state }) => state !== undefined);
  const what = assignments.join(' ');
  const plan = `This sets ${what} in ${plural(sets.length, 'partition-set')}. A change that is not safe yet comes into force when it is.`;
  if (flags.dryRun) context.note(plan);
  else await confirm(stage, plan, flags.force);
  const id = stage.newId();
  const failed = new Map<string, Sent>();
  let last: readonly Sent[] = [];
  for (const maker of makers) {
    const open = sets.filter(({ name }) => !failed.has(name));
    const make = ({ state }: PartitionSet) => maker(state!.configuration);
    last = await send(context, view, open, make, { dryRun: flags.dryRun, id });
    for (const one of last) if (one.posted.kind !== 'accepted') failed.set(one.set.name, one);
  }
  const good = last.filter(({ set: { name } }) => !failed.has(name));
  const sent = [...good, ...failed.values()];
  context.print(sentReport(`Setting ${what}`, sent, flags.dryRun));
  return exitFor(sent);
}
