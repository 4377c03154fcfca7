#!/usr/bin/env node
/** The `baton` command. Each subcommand is a file of its own; errors are one line with their code. */
import { Command } from 'commander';
import { acceptorCommand } from './acceptor.ts';
import { demoCommand } from './demo/command.ts';
import { reportError } from './errors.ts';
import { duelCommand } from './sim/duel.ts';
import { fuzzCommand } from './sim/fuzz.ts';
import { outageCommand } from './sim/outage.ts';
import { registersCommand } from './sim/registers.ts';
import { version } from './version.ts';

const program = new Command('baton')
  .description(
    'Per-partition automatic failover for single-writer data, and the CASPaxos registers under it.',
  )
  .version(version())
  .showHelpAfterError('(baton --help shows the commands)')
  .addCommand(acceptorCommand())
  .addCommand(demoCommand())
  .addCommand(
    new Command('sim')
      .description('Experiments in virtual time, with the real state machines.')
      .addCommand(duelCommand())
      .addCommand(fuzzCommand())
      .addCommand(outageCommand())
      .addCommand(registersCommand()),
  );

try {
  await program.parseAsync();
} catch (error) {
  reportError(error);
}
