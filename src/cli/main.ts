#!/usr/bin/env node
/**
 * The `baton` command. Each subcommand is a file of its own, and only the one that is asked for is loaded, because a short command
 * spends most of its time loading. Every error is one line with its code.
 */
import { Command } from 'commander';
import { endingInUsage, reportError } from './errors.ts';
import { demandNode, version } from './version.ts';

type Load = () => Promise<Command>;
type Group = Readonly<Record<string, Load>>;

/** In the order of the help, under the headings of the help. */
const LOCAL: Group = {
  up: async () => (await import('./up.ts')).upCommand(),
  chaos: async () => (await import('./chaos.ts')).chaosCommand(),
};
const DEPLOYMENT: Group = {
  node: async () => (await import('./node.ts')).nodeCommand(),
  acceptor: async () => (await import('./acceptor.ts')).acceptorCommand(),
  gateway: async () => (await import('./gateway.ts')).gatewayCommand(),
  dns: async () => (await import('./dns.ts')).dnsCommand(),
  certs: async () => (await import('./certs.ts')).certsCommand(),
  acceptors: async () => (await import('./acceptors/command.ts')).acceptorsCommand(),
};
const EXPERIMENTS: Group = {
  demo: async () => (await import('./demo/command.ts')).demoCommand(),
  sim: simCommand,
};
const COMMANDS: Group = { ...LOCAL, ...DEPLOYMENT, ...EXPERIMENTS };

async function simCommand(): Promise<Command> {
  const [{ duelCommand }, { fuzzCommand }, { outageCommand }, { registersCommand }] = await Promise.all([
    import('./sim/duel.ts'),
    import('./sim/fuzz.ts'),
    import('./sim/outage.ts'),
    import('./sim/registers.ts'),
  ]);
  return new Command('sim')
    .description('Run experiments in virtual time with the real state machines.')
    .addCommand(duelCommand())
    .addCommand(fuzzCommand())
    .addCommand(outageCommand())
    .addCommand(registersCommand());
}

/** The command that the first word names; all of them when it names none, for the help and for suggestions. */
async function commandsFor(word: string | undefined): Promise<readonly Command[]> {
  const load = word !== undefined && Object.hasOwn(COMMANDS, word) ? COMMANDS[word] : undefined;
  if (load !== undefined) return [await load()];
  const { operatorCommands } = await import('./operate/index.ts');
  const operators = operatorCommands();
  const named = operators.filter((command) => command.name() === word);
  if (named.length > 0) return named;
  return [
    ...under('Run a cluster on this machine:', await loaded(LOCAL)),
    ...under('Operate a cluster:', operators),
    ...under('Run a cluster on your own machines, one process each:', await loaded(DEPLOYMENT)),
    ...under('Try the algorithms:', await loaded(EXPERIMENTS)),
  ];
}

function loaded(group: Group): Promise<readonly Command[]> {
  return Promise.all(Object.values(group).map((load) => load()));
}

function under(heading: string, commands: readonly Command[]): readonly Command[] {
  for (const command of commands) command.helpGroup(heading);
  return commands;
}

const program = new Command('baton')
  .description(
    'Per-partition automatic failover for single-writer data, and the CASPaxos registers underneath it.',
  )
  .version(version(), '-V, --version', 'print the version')
  .commandsGroup('Help:')
  .helpCommand('help [command]', 'display help for command')
  .addHelpText(
    'after',
    `
Examples:
  baton up                # start a cluster; then, in another terminal:
  baton list              # show every partition-set and its write region
  baton chaos kill west   # kill a region and watch the others take over
`,
  );

try {
  demandNode();
  for (const command of await commandsFor(process.argv[2])) program.addCommand(command);
  await endingInUsage(program).parseAsync();
} catch (error) {
  reportError(error);
}
