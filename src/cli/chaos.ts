/** `baton chaos`: breaks and mends a cluster that `baton up` runs. */
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
import { dataDirectory, refuseLocal } from './local.ts';
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
    .description('Break and mend a cluster that `baton up` runs on this machine.')
    .addArgument(new Argument('<action>', 'what to do').choices([...ACTIONS, 'load']))
    .argument(
      '[names...]',
      'regions (their nodes), nodes, acceptors, gateways or dns; `heal` without a name mends everything; `load` is told on or off',
    )
    .option('--data <dir>', 'the data directory of the cluster (default: $BATON_DATA or ./baton-data)')
    .addOption(new Option('--from <whom>', 'for cut: whom it cannot reach (default: all)').choices(CUT_FROM))
    .addOption(
      new Option('--direction <way>', 'for cut: what is lost, seen from NAME (default: both)').choices(
        DIRECTIONS,
      ),
    )
    .option('--per-second <n>', `for load on: writes in a second (default: ${DEFAULT_PER_SECOND})`)
    .option('--json', 'print what was done as JSON', false)
    .addHelpText(
      'after',
      `
  kill     kill -9
  pause    stop it with SIGSTOP: it keeps its connections and says nothing
  resume   let it go on
  stop     ask it to end, with SIGTERM: a region first moves its writes away
  start    start it again
  cut      drop all packets of its links; needs \`baton up --netns\`
  heal     undo all of these
  load     on or off: writes and reads in every partition-set

Examples:
  baton chaos kill west
  baton chaos pause a1 a2 east-gateway
  baton chaos cut west --from acceptors --direction out
  baton chaos heal
  baton chaos load on --per-second 500
`,
    )
    .action((action: Action | 'load', names: readonly string[], flags: ChaosFlags) =>
      run(action, names, flags).catch(refuseLocal),
    );
}

async function run(action: Action | 'load', names: readonly string[], flags: ChaosFlags): Promise<void> {
  const { from, direction, perSecond } = flags;
  if (action !== 'cut' && (from !== undefined || direction !== undefined))
    throw new UsageError('--from and --direction go with `baton chaos cut`.');
  if (action !== 'load' && perSecond !== undefined)
    throw new UsageError('--per-second goes with `baton chaos load on`.');
  const order = action === 'load' ? loadOrder(names, flags) : faultOrder(action, names, flags);
  const obeyed = await sendOrder(dataDirectory(flags.data), order);
  const text = flags.json ? JSON.stringify({ ...order, ...obeyed }) : obeyedText(order, obeyed);
  process.stdout.write(`${text}\n`);
}

function faultOrder(action: Action, names: readonly string[], { from, direction }: ChaosFlags): AnyOrder {
  if (names.length === 0 && action !== 'heal')
    throw new UsageError(`\`baton chaos ${action}\` needs the name of a region or of a process.`);
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
    throw new UsageError('`baton chaos load` is told either on or off.');
  if (perSecond === undefined) return { action: 'load', on: word === 'on' };
  if (word === 'off') throw new UsageError('--per-second goes with `baton chaos load on`.');
  const pace = positiveInteger(perSecond, '--per-second');
  if (pace > MOST_PER_SECOND)
    throw new UsageError(`--per-second is at most ${MOST_PER_SECOND}, not ${pace}.`);
  return { action: 'load', on: true, perSecond: pace };
}
