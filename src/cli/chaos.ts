/** `baton chaos`: breaks and mends a cluster that `baton up` runs. */
import { Argument, Command, Option } from 'commander';
import { ACTIONS, type Action, CUT_FROM, DIRECTIONS, type Order, sendOrder } from '../server/index.ts';
import { UsageError } from './errors.ts';
import { dataDirectory, refuseLocal } from './local.ts';
import { orderText } from './up-text.ts';

interface ChaosFlags {
  readonly data?: string;
  readonly from?: NonNullable<Order['from']>;
  readonly direction?: NonNullable<Order['direction']>;
  readonly json: boolean;
}

export function chaosCommand(): Command {
  return new Command('chaos')
    .description('Break and mend a cluster that `baton up` runs on this machine.')
    .addArgument(new Argument('<action>', 'what to do').choices(ACTIONS))
    .argument('[name]', 'a region, a node, an acceptor or dns; `heal` without a name mends everything')
    .option('--data <dir>', 'the data directory of the cluster (default: $BATON_DATA or ./baton-data)')
    .addOption(new Option('--from <whom>', 'for cut: whom it cannot reach (default: all)').choices(CUT_FROM))
    .addOption(
      new Option('--direction <way>', 'for cut: what is lost, seen from NAME (default: both)').choices(
        DIRECTIONS,
      ),
    )
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

Examples:
  baton chaos kill west
  baton chaos cut west --from acceptors --direction out
  baton chaos heal
`,
    )
    .action((action: Action, name: string | undefined, flags: ChaosFlags) =>
      run(action, name, flags).catch(refuseLocal),
    );
}

async function run(action: Action, name: string | undefined, flags: ChaosFlags): Promise<void> {
  const { from, direction } = flags;
  if (name === undefined && action !== 'heal')
    throw new UsageError(`\`baton chaos ${action}\` needs the name of a region, a node or an acceptor.`);
  if (action !== 'cut' && (from !== undefined || direction !== undefined))
    throw new UsageError('--from and --direction go with `baton chaos cut`.');
  const order: Order = {
    action,
    ...(name !== undefined && { target: name }),
    ...(from && { from }),
    ...(direction && { direction }),
  };
  const { processes } = await sendOrder(dataDirectory(flags.data), order);
  const done = `${orderText(order)}: ${processes.join(', ') || 'nothing to do'}`;
  const text = flags.json ? JSON.stringify({ ...order, processes }) : done;
  process.stdout.write(`${text}\n`);
}
