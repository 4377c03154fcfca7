/** `baton failover`: the forced move, for when the write region is gone or must be left at once. */
import type { Command } from 'commander';
import {
  type CommonFlags,
  type Context,
  type DangerFlags,
  knownRegion,
  operatorCommand,
  positive,
  running,
  withDanger,
  withScope,
} from './command.ts';
import { EXIT, type ExitCode } from './errors.ts';
import { ifDies, type Prediction } from './if-dies.ts';
import type { PartitionSet } from './merge.ts';
import { byWriter, meant, type Moved, type MoveFlags, movedReport, moveExit } from './moves.ts';
import { plural, pretty, type Report, table } from './output.ts';
import { confirm, type Stage } from './stage.ts';
import { isAccepted, mayBeInForce, outcomeOf, reasonOf, send, type Sent, waitUntil } from './wishes.ts';

interface FailoverFlags extends CommonFlags, MoveFlags, DangerFlags {
  readonly to?: string;
  readonly acceptLoss: boolean;
  readonly timeout: string;
  readonly wait: boolean;
}

export function failoverCommand(stage: Stage): Command {
  return withDanger(
    withScope(
      operatorCommand(
        'failover',
        'Force a failover: take the writes from their region and elect another one. At Strong and bounded staleness no acknowledged write is lost without --accept-loss.',
        [
          'baton failover --from west --dry-run        # whether it would be accepted, and who would be elected',
          'baton failover --partition-set items-03 --to east',
          'baton failover --from west --to north --accept-loss',
        ],
      ),
    ),
  )
    .option(
      '--to <region>',
      'region to elect, if it is eligible (default: the one with the longest log, then by priority)',
    )
    .option('--from <region>', 'only partition-sets whose write region this is')
    .option('--all', 'every partition-set', false)
    .option('--accept-loss', 'allow the election of a region that may lack acknowledged writes', false)
    .option('--timeout <seconds>', 'how long to wait for the election', '60')
    .option('--no-wait', 'do not wait for the election')
    .action(running(stage, failover, ([flags]) => flags));
}

async function failover(context: Context, flags: FailoverFlags): Promise<ExitCode> {
  const { cluster, stage } = context;
  const timeoutMs = positive(flags.timeout, '--timeout') * 1000;
  const view = await cluster.look();
  const target = flags.to === undefined ? undefined : knownRegion(view, flags.to);
  if (flags.from !== undefined) knownRegion(view, flags.from);
  const sets = meant(view, flags);
  const intent = () => ({
    kind: 'failover' as const,
    ...(target !== undefined && { target }),
    ...(flags.acceptLoss && { acceptLoss: true as const }),
  });
  if (flags.dryRun) {
    const sent = await send(context, view, sets, intent, { dryRun: true, bound: true });
    context.print(dryReport(sent, target));
    return sent.every(isAccepted) ? EXIT.ok : EXIT.problem;
  }
  if (sets.length > 0) await confirm(stage, planOf(sets, target, flags.acceptLoss), flags.force);
  const startedAt = stage.now();
  const sent = await send(context, view, sets, intent, { dryRun: false, bound: true });
  const moved = flags.wait
    ? await followed(context, sent, { startedAt, timeoutMs })
    : sent.map((one) => ({ sent: one }));
  context.print(movedReport('Failover', moved, [], target));
  if (sent.some(({ posted }) => posted.kind === 'refused' && posted.message.includes('accept the loss'))) {
    context.note('Use --accept-loss to accept the loss.');
  }
  return moveExit(moved);
}

function planOf(sets: readonly PartitionSet[], target: string | undefined, acceptLoss: boolean): string {
  const where =
    target === undefined ? 'the best region is elected' : `${target} is elected if it is eligible`;
  const weak = sets.filter(({ state }) => isWeak(state?.configuration.consistency)).length;
  return [
    `This takes the writes of ${plural(sets.length, 'partition-set')} (${byWriter(sets)}) from their regions by force; ${where}.`,
    'Writes stop until the election is over, and for up to one lease if the old write region cannot be reached.',
    ...(weak > 0
      ? [`In ${plural(weak, 'partition-set')} the consistency level lets acknowledged writes be lost.`]
      : []),
    ...(acceptLoss ? ['YOU ACCEPT THE LOSS of acknowledged writes that the elected region lacks.'] : []),
    'For a planned move without loss, use `baton switchover`.',
  ].join('\n');
}

function isWeak(consistency: string | undefined): boolean {
  return consistency !== undefined && consistency !== 'Strong' && consistency !== 'BoundedStaleness';
}

/**
 * Until the elected region takes writes: after a forced failover it may have to wait until older leases are over. The gap is
 * measured here, from before the wish was sent.
 */
async function followed(
  context: Context,
  sent: readonly Sent[],
  { startedAt, timeoutMs }: { readonly startedAt: number; readonly timeoutMs: number },
): Promise<readonly Moved[]> {
  const before = new Map(sent.filter(mayBeInForce).map(({ set }) => [set.name, set.state?.gcn ?? 0]));
  const gaps = new Map<string, number>();
  const waited = await waitUntil(context, [...before.keys()], timeoutMs, ({ name, state, seen, writers }) => {
    const writer = state !== undefined && state.gcn > before.get(name)! ? state.writeRegion : null;
    if (writer === null) return 'pending';
    // If its node does not answer here, that it was elected is all there is to know.
    if (seen[writer] === undefined) return 'done';
    if (!writers.includes(writer)) return 'pending';
    gaps.set(name, context.stage.now() - startedAt);
    return 'done';
  });
  return sent.map((one): Moved => {
    if (!mayBeInForce(one)) return { sent: one };
    const gapMs = gaps.get(one.set.name);
    const end = waited.get(one.set.name) ?? { set: one.set, fate: 'pending' as const };
    return { sent: one, waited: end, ...(gapMs !== undefined && { gapMs }) };
  });
}

/** Beside what the machine says to the wish: what the death of the write region would do. */
function dryReport(sent: readonly Sent[], target: string | undefined): Report {
  const predictions = sent.map(({ set }): Prediction => ifDies(set, set.state?.writeRegion ?? ''));
  const rows = sent.map((one, at) => ({
    cells: [
      one.set.name,
      one.set.state?.writeRegion ?? '-',
      target ?? predictions[at]!.newWriteRegion ?? '-',
      outcomeOf(one, true),
      reasonOf(one) || predictions[at]!.sentence,
    ],
    tone: isAccepted(one) ? ('plain' as const) : ('bad' as const),
  }));
  const whole = table(
    ['PARTITION-SET', 'FROM', 'LIKELY TO', 'FORCED', 'WHY, OR WHAT THE DEATH OF FROM WOULD DO'],
    rows,
  );
  return {
    value: {
      command: 'Failover',
      dryRun: true,
      partitionSets: sent.map((one, at) => ({
        name: one.set.name,
        from: one.set.state?.writeRegion ?? null,
        outcome: outcomeOf(one, true),
        ...(!isAccepted(one) && { reason: reasonOf(one) }),
        ifItsWriterDies: predictions[at],
      })),
    },
    table: whole,
    pretty: (paint) => `${pretty(whole, paint)}Nothing was done.\n`,
  };
}
