/** `baton acceptors`: choosing the stores that acceptors live on (docs/acceptors.md). They need no cluster. */
import { Command } from 'commander';
import { CasPaxosError, type ErrorCode } from '../../caspaxos/index.ts';
import { EXIT, type ExitCode, OperateError } from '../operate/errors.ts';
import { paintFor, readFormat, render, type Report } from '../operate/output.ts';
import { processStage, type Stage } from '../operate/stage.ts';
import { check, type CheckFlags } from './check.ts';
import { type CostFlags, costReport } from './cost-report.ts';
import { recover, type RecoverFlags } from './recover.ts';
import { reportOf } from './report.ts';

export function acceptorsCommand(stage: Stage = processStage()): Command {
  return new Command('acceptors')
    .description('Test the stores that acceptors run on, estimate their cost, and recover a lost majority.')
    .addCommand(checkCommand(stage))
    .addCommand(costCommand(stage))
    .addCommand(recoverCommand(stage));
}

function checkCommand(stage: Stage): Command {
  return new Command('check')
    .description('Test acceptors: races, latency, what is stored, which permissions are needed.')
    .argument('<url...>', 'URLs as in the cluster file; the stores may be in use')
    .option('--timeout-ms <ms>', 'time limit of one call', '5000')
    .option('--races <n>', 'rounds of each race', '25')
    .option('--samples <n>', 'calls per latency measurement', '50')
    .option('--restart', 'ask for a restart of each server, one after the other, and compare what is there')
    .option('--wait <seconds>', 'how long to wait for a restart', '600')
    .option('--token-file <file>', 'file with the token of acceptor services (or BATON_ACCEPTOR_TOKEN)')
    .option(
      '--ca <file>',
      'PEM file with the authorities to trust for acceptor services; for stores, use `ca=` in the URL',
    )
    .option('--cert <file>', 'PEM certificate to show to acceptor services that want one')
    .option('--key <file>', 'PEM private key of that certificate')
    .option('-f, --format <format>', 'output format: pretty, json, yaml or tsv', 'pretty')
    .addHelpText(
      'after',
      `
The test writes a few documents under check/, which acceptors ignore, and leaves them there. Exit code 1: an acceptor must not be
used as it is.

Example:
  baton acceptors check 'postgres://baton@db1/baton' redis://cache1 https://10.0.2.1:7400
`,
    )
    .action((urls: readonly string[], flags: CheckFlags) =>
      ending(stage, flags.format, async () => {
        const { report, exit } = await check(stage, urls, flags);
        return { report: reportOf(report), exit };
      }),
    );
}

function costCommand(stage: Stage): Command {
  return new Command('cost')
    .description('Estimate what heartbeats cost on stores that charge for requests.')
    .option('--partition-sets <n>', 'number of partition-sets', '1')
    .option('--regions <n>', 'number of regions of each partition-set', '3')
    .option('--acceptors <n>', 'number of acceptors with these prices', '1')
    .option('--profile <name>', 'heartbeat interval: paper (30 s) or fast (1 s)', 'paper')
    .option('--price-write <price>', 'price of a million write units', '0')
    .option('--price-read <price>', 'price of a million read units', '0')
    .option('--write-units <n>', 'write units of one conditional write of 2 kB', '1')
    .option('--read-units <n>', 'read units of one consistent read of 2 kB', '1')
    .option('-f, --format <format>', 'output format: pretty, json, yaml or tsv', 'pretty')
    .addHelpText(
      'after',
      `
Example:
  baton acceptors cost --partition-sets 100 --profile paper --price-write 0.7 --write-units 2 --price-read 0.15
`,
    )
    .action((flags: CostFlags) =>
      ending(stage, flags.format, async () => ({ report: costReport(flags), exit: EXIT.ok })),
    );
}

function recoverCommand(stage: Stage): Command {
  return new Command('recover')
    .description(
      'Recover what is left of the registers into new acceptors, when a majority is lost for good.',
    )
    .requiredOption('--from <url...>', 'the acceptors that survived')
    .requiredOption('--to <url...>', 'new, empty acceptors of any kind')
    .option('--changes-may-be-lost', 'accept that changes are gone that only lost acceptors had; do not ask')
    .option('--dry-run', 'show what would happen; change nothing')
    .option('--abandon <cluster>', 'recover the same survivors again, because that cluster was lost as well')
    .option('--timeout-ms <ms>', 'time limit of one call', '10000')
    .option('--token-file <file>', 'file with the token of acceptor services (or BATON_ACCEPTOR_TOKEN)')
    .option(
      '--ca <file>',
      'PEM file with the authorities to trust for acceptor services; for stores, use `ca=` in the URL',
    )
    .option('--cert <file>', 'PEM certificate to show to acceptor services that want one')
    .option('--key <file>', 'PEM private key of that certificate')
    .option('-f, --format <format>', 'output format: pretty, json, yaml or tsv', 'pretty')
    .addHelpText(
      'after',
      `
Stop all nodes and gateways first. The survivors answer nobody of the old cluster any more, and there is no way back to it. If the
command ends early, run it again with the same acceptors.

Example:
  baton acceptors recover --from https://10.0.1.1:7400 --to https://10.0.3.1:7400 https://10.0.4.1:7400 https://10.0.5.1:7400
`,
    )
    .action((flags: RecoverFlags) =>
      ending(
        stage,
        flags.format,
        async () => ({ report: await recover(stage, flags), exit: EXIT.ok }),
        ({ code }) => (OF_COMMAND_LINE.has(code) ? EXIT.usage : EXIT.problem),
      ),
    );
}

/** Mended by naming other URLs. */
const OF_COMMAND_LINE: ReadonlySet<ErrorCode> = new Set([
  'URL_INVALID',
  'SCHEME_UNKNOWN',
  'DUPLICATE_ACCEPTOR',
  'TOO_MANY_ACCEPTORS',
]);

/** A URL that cannot be one is the command line's fault; everything else is in the report. */
async function ending(
  stage: Stage,
  format: string,
  work: () => Promise<{ readonly report: Report; readonly exit: ExitCode }>,
  exitFor: (error: CasPaxosError) => ExitCode = () => EXIT.usage,
): Promise<void> {
  try {
    const form = readFormat(format);
    const { report, exit } = await work();
    stage.out(render(report, form, paintFor(stage.isTerminal, stage.env)));
    stage.end(exit);
  } catch (error) {
    if (!(error instanceof OperateError) && !(error instanceof CasPaxosError)) throw error;
    stage.err(`baton: ${error.message} [${error.code}]\n`);
    stage.end(error instanceof OperateError ? error.exit : exitFor(error));
  }
}
