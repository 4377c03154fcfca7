#!/usr/bin/env node
/**
 * The `baton` command. Each subcommand is a file of its own, and only the one that is asked for is loaded: most of what a
 * short command takes is loading. Errors are one line with their code.
 */
import { Command } from 'commander';
import { endingInUsage, reportError } from './errors.ts';
import { version } from './version.ts';

type Load = () => Promise<Command>;

/** In the order of the help. */
const COMMANDS: Readonly<Record<string, Load>> = {
  up: async () => (await import('./up.ts')).upCommand(),
  chaos: async () => (await import('./chaos.ts')).chaosCommand(),
  node: async () => (await import('./node.ts')).nodeCommand(),
  acceptor: async () => (await import('./acceptor.ts')).acceptorCommand(),
  acceptors: async () => (await import('./acceptors/command.ts')).acceptorsCommand(),
  gateway: async () => (await import('./gateway.ts')).gatewayCommand(),
  dns: async () => (await import('./dns.ts')).dnsCommand(),
  certs: async () => (await import('./certs.ts')).certsCommand(),
  demo: async () => (await import('./demo/command.ts')).demoCommand(),
  sim: simCommand,
};

async function simCommand(): Promise<Command> {
  const [{ duelCommand }, { fuzzCommand }, { outageCommand }, { registersCommand }] = await Promise.all([
    import('./sim/duel.ts'),
    import('./sim/fuzz.ts'),
    import('./sim/outage.ts'),
    import('./sim/registers.ts'),
  ]);
  return new Command('sim')
    .description('Experiments in virtual time, with the real state machines.')
    .addCommand(duelCommand())
    .addCommand(fuzzCommand())
    .addCommand(outageCommand())
    .addCommand(registersCommand());
}

/** What the first word names; everything when it names nothing, for the help and for who mistyped. */
async function commandsFor(word: string | undefined): Promise<readonly Command[]> {
  const load = word !== undefined && Object.hasOwn(COMMANDS, word) ? COMMANDS[word] : undefined;
  if (load !== undefined) return [await load()];
  const { operatorCommands } = await import('./operate/index.ts');
  const operators = operatorCommands();
  const named = operators.filter((command) => command.name() === word);
  if (named.length > 0) return named;
  return [...(await Promise.all(Object.values(COMMANDS).map((one) => one()))), ...operators];
}

const program = new Command('baton')
  .description(
    'Per-partition automatic failover for single-writer data, and the CASPaxos registers under it.',
  )
  .version(version())
  .showHelpAfterError('(baton --help shows the commands)');

try {
  for (const command of await commandsFor(process.argv[2])) program.addCommand(command);
  await endingInUsage(program).parseAsync();
} catch (error) {
  reportError(error);
}
