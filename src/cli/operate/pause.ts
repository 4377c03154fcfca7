/** `baton pause` and `baton resume`: whether partition-sets fail over by themselves. */
import type { Command } from 'commander';
import {
  chosen,
  type CommonFlags,
  type Context,
  operatorCommand,
  running,
  type ScopeFlags,
  withScope,
} from './command.ts';
import type { ExitCode } from './errors.ts';
import { plural } from './output.ts';
import type { Stage } from './stage.ts';
import { exitFor, isAccepted, send, sentReport } from './wishes.ts';

interface PauseFlags extends CommonFlags, ScopeFlags {
  readonly dryRun: boolean;
}

export function pauseCommand(stage: Stage): Command {
  return command(
    stage,
    'pause',
    'Pause automatic failovers, for example during maintenance; baton chaos pause freezes processes instead.',
    ['baton pause', 'baton pause --container items'],
  );
}

export function resumeCommand(stage: Stage): Command {
  return command(
    stage,
    'resume',
    'Resume automatic failovers; baton chaos resume continues frozen processes instead.',
    ['baton resume', 'baton resume --partition-set items-03'],
  );
}

function command(
  stage: Stage,
  kind: 'pause' | 'resume',
  description: string,
  examples: readonly string[],
): Command {
  return withScope(operatorCommand(kind, description, examples))
    .option('--dry-run', 'show what would happen without doing it', false)
    .action(
      running(
        stage,
        (context, flags: PauseFlags) => run(context, kind, flags),
        ([flags]) => flags,
      ),
    );
}

async function run(context: Context, kind: 'pause' | 'resume', flags: PauseFlags): Promise<ExitCode> {
  const view = await context.cluster.look();
  const sets = chosen(view, flags);
  const what = kind === 'pause' ? 'Pausing automatic failovers' : 'Resuming automatic failovers';
  const sent = await send(context, view, sets, () => ({ kind }), { dryRun: flags.dryRun });
  context.print(sentReport(what, sent, flags.dryRun));
  if (kind === 'pause' && !flags.dryRun && sent.some(isAccepted) && context.format === 'pretty') {
    const count = plural(sent.filter(isAccepted).length, 'partition-set');
    context.note(`If a write region fails now, ${count} cannot be written until you run \`baton resume\`.`);
  }
  return exitFor(sent);
}
