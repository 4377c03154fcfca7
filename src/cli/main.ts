#!/usr/bin/env node
/** The `baton` command. Each subcommand is a file of its own; errors are one line with their code. */
import { Command } from 'commander';
import { acceptorCommand } from './acceptor.ts';
import { certsCommand } from './certs.ts';
import { chaosCommand } from './chaos.ts';
import { demoCommand } from './demo/command.ts';
import { dnsCommand } from './dns.ts';
import { reportError } from './errors.ts';
import { nodeCommand } from './node.ts';
import { operatorCommands } from './operate/index.ts';
import { duelCommand } from './sim/duel.ts';
import { fuzzCommand } from './sim/fuzz.ts';
import { outageCommand } from './sim/outage.ts';
import { registersCommand } from './sim/registers.ts';
import { upCommand } from './up.ts';
import { version } from './version.ts';

const program = new Command('baton')
  .description(
    'Per-partition automatic failover for single-writer data, and the CASPaxos registers under it.',
  )
  .version(version())
  .showHelpAfterError('(baton --help shows the commands)')
  .addCommand(upCommand())
  .addCommand(chaosCommand())
  .addCommand(nodeCommand())
  .addCommand(acceptorCommand())
  .addCommand(dnsCommand())
  .addCommand(certsCommand())
  .addCommand(demoCommand())
  .addCommand(
    new Command('sim')
      .description('Experiments in virtual time, with the real state machines.')
      .addCommand(duelCommand())
      .addCommand(fuzzCommand())
      .addCommand(outageCommand())
      .addCommand(registersCommand()),
  );

for (const command of operatorCommands()) program.addCommand(command);

try {
  await program.parseAsync();
} catch (error) {
  reportError(error);
}
