/** `baton chaos`: injects faults into a cluster that `baton up` runs, and repairs them. */
import { Argument, Command, Option } from 'commander';
import {
  ACTIONS,
  type Action,
  type AnyOrder,
  CUT_FROM,
  DEFAULT_PER_SECOND,
  DIRECTIONS,
  type LoadOrder,
  MOST_PER_SECOND,
  type Order,
  sendOrder,
} from '../server/index.ts';
import { UsageError } from './errors.ts';
import { positiveInteger } from './flags.ts';
import { dataDirectory } from './local.ts';
import { obeyedText } from './up-text.ts';

interface ChaosFlags {
  readonly data?: string;
  readonly from?: NonNullable<Order['from']>;
  readonly direction?: NonNullable<Order['direction']>;
  readonly perSecond?: string;
  readonly json: boolean;
}

export function chaosCommand(): Command {
  return new Command('chaos')
    .description('Inject faults into the cluster that `baton up` runs on this machine, and repair them.')
    .addArgument(new Argument('<action>', 'the action, see below').choices([...ACTIONS, 'load']))
    .argument(
      '[names...]',
      'regions (meaning their nodes), nodes, acceptors, gateways or dns; `heal` without names repairs everything; `load` takes on or off',
    )
    .option('--data <dir>', 'data directory of the cluster (default: $BATON_DATA or ./baton-data)')
    .addOption(
      new Option('--from <whom>', 'for cut: what the target can no longer reach (default: all)').choices(
        CUT_FROM,
      ),
    )
    .addOption(
      new Option(
        '--direction <name>',
        'for cut: the direction in which packets are lost, seen from the target (default: both)',
      ).choices(DIRECTIONS),
    )
    .option('--per-second <n>', `for load on: writes per second (default: ${DEFAULT_PER_SECOND})`)
    .option('--json', 'print what was done as JSON', false)
    .addHelpText(
      'after',
      `
Actions:
  kill     kill the processes at once (SIGKILL)
  pause    freeze them (SIGSTOP): connections stay open, nothing answers; to pause failovers: baton pause
  resume   continue paused processes
  stop     shut them down in order (SIGTERM): a region first moves its writes away
  start    start them again
  cut      drop all packets on their links; needs \`baton up --netns\`
  heal     undo all of the above
  load     on or off: a background load of writes and reads in every partition-set

Examples:
  baton chaos kill west
  baton chaos pause a1 a2 east-gateway
  baton chaos cut west --from acceptors --direction out
  baton chaos heal
  baton chaos load on --per-second 500
`,
    )
    .action(run);
}

async function run(action: Action | 'load', names: readonly string[], flags: ChaosFlags): Promise<void> {
  const { from, direction, perSecond } = flags;
  if (action !== 'cut' && (from !== undefined || direction !== undefined))
    throw new UsageError('--from and --direction are options of `baton chaos cut` only.');
  if (action !== 'load' && perSecond !== undefined)
    throw new UsageError('--per-second is an option of `baton chaos load on` only.');
  const order = action === 'load' ? loadOrder(names, flags) : faultOrder(action, names, flags);
  const obeyed = await sendOrder(dataDirectory(flags.data), order);
  const text = flags.json ? JSON.stringify({ ...order, ...obeyed }) : obeyedText(order, obeyed);
  process.stdout.write(`${text}\n`);
}

function faultOrder(action: Action, names: readonly string[], { from, direction }: ChaosFlags): AnyOrder {
  if (names.length === 0 && action !== 'heal')
    throw new UsageError(`\`baton chaos ${action}\` needs the name of a region or process.`);
  return {
    action,
    ...(names.length > 0 && { targets: names }),
    ...(from && { from }),
    ...(direction && { direction }),
  };
}

function loadOrder(words: readonly string[], { perSecond }: ChaosFlags): LoadOrder {
  const [word] = words;
  if (words.length !== 1 || (word !== 'on' && word !== 'off'))
    throw new UsageError('`baton chaos load` needs either on or off.');
  if (perSecond === undefined) return { action: 'load', on: word === 'on' };
  if (word === 'off') throw new UsageError('--per-second is an option of `baton chaos load on` only.');
  const pace = positiveInteger(perSecond, '--per-second');
  if (pace > MOST_PER_SECOND)
    throw new UsageError(`--per-second must be at most ${MOST_PER_SECOND}, not ${pace}.`);
  return { action: 'load', on: true, perSecond: pace };
}
