/** `baton doctor`: is everything as it should be, and if not, what to do; and what would happen if a region died. */
import type { Command } from 'commander';
import { CertificateError, describeCertificates, readPem } from '../../server/index.ts';
import { CHECKS, type Evidence, type Finding } from './checks.ts';
import {
  chosen,
  type CommonFlags,
  type Context,
  knownRegion,
  operatorCommand,
  positive,
  running,
  type ScopeFlags,
  watching,
  withScope,
} from './command.ts';
import { EXIT, type ExitCode, OperateError } from './errors.ts';
import { ifDies, type Prediction } from './if-dies.ts';
import { MANY } from './list.ts';
import type { ClusterView } from './merge.ts';
import { plural, pretty, type Report, table, type Tone } from './output.ts';
import type { Stage } from './stage.ts';

interface DoctorFlags extends CommonFlags, ScopeFlags {
  readonly ifDies?: string;
  readonly maxLag: string;
}

export function doctorCommand(stage: Stage): Command {
  return withScope(
    operatorCommand('doctor', 'Look for what is wrong: what it means, and what to do.', [
      'baton doctor',
      'baton doctor --if-dies west     # what would happen',
    ]),
  )
    .option('--if-dies <region>', 'say what the death of this region would do, instead')
    .option('--max-lag <writes>', 'a region that lags more is reported', '10000')
    .action(
      running(
        stage,
        (context, flags: DoctorFlags) =>
          watching(context, {}, () =>
            flags.ifDies === undefined ? examine(context, flags) : predict(context, flags),
          ),
        ([flags]) => flags,
      ),
    );
}

interface Result {
  readonly report: Report;
  readonly exit: ExitCode;
}

async function examine(context: Context, flags: DoctorFlags): Promise<Result> {
  const evidence = await gather(context, flags);
  const results = Object.entries(CHECKS).map(([check, find]) => ({ check, findings: find(evidence) }));
  const isDead = !evidence.view.nodes.some(({ facts }) => facts !== undefined);
  const count = results.flatMap(({ findings }) => findings).length;
  return {
    report: doctorReport(evidence.view, results),
    exit: isDead ? EXIT.unreachable : count > 0 ? EXIT.problem : EXIT.ok,
  };
}

async function gather({ cluster, stage }: Context, flags: DoctorFlags): Promise<Evidence> {
  const maxLag = positive(flags.maxLag, '--max-lag');
  const whole = await cluster.look({ evenIfDead: true });
  const view = { ...whole, partitionSets: chosen(whole, flags) };
  const lostWrites = await cluster.lostWrites().catch((error: unknown) => {
    if (error instanceof OperateError) return undefined;
    throw error;
  });
  return {
    view,
    found: cluster.found,
    ...(lostWrites && { lostWrites }),
    certificates: await certificatesHere(cluster.found.config.tls),
    now: stage.now(),
    maxLag,
  };
}

/** Of the authority, and of everybody if all have the same: other files lie on other machines. */
async function certificatesHere(
  tls: { readonly ca: string; readonly cert: string } | undefined,
): Promise<Evidence['certificates']> {
  const files = tls === undefined ? [] : [tls.ca, tls.cert].filter((file) => !file.includes('{name}'));
  const all = await Promise.all(
    files.map(async (file) => {
      try {
        return describeCertificates(await readPem(file)).map((facts) => ({ ...facts, file }));
      } catch (error) {
        if (error instanceof CertificateError) return [];
        throw error;
      }
    }),
  );
  return all.flat();
}

interface CheckResult {
  readonly check: string;
  readonly findings: readonly Finding[];
}

function doctorReport({ cluster, at }: ClusterView, results: readonly CheckResult[]): Report {
  const all = results.flatMap(({ check, findings }) => findings.map((finding) => ({ check, ...finding })));
  return {
    value: {
      cluster,
      at,
      healthy: all.length === 0,
      checks: results.map(({ check }) => check),
      findings: all,
    },
    table: table(
      ['SEVERITY', 'CHECK', 'FINDING', 'MEANS', 'DO'],
      all.map(({ severity, check, finding, means, remedy }) => ({
        cells: [severity, check, finding, means, remedy],
      })),
    ),
    pretty: (paint) => {
      const blocks = all.map(({ severity, check, finding, means, remedy }) => {
        const tone: Tone = severity === 'critical' ? 'bad' : 'warning';
        return `${paint(`${severity}: ${finding}`, tone)} [${check}]\n  It means: ${means}\n  To do: ${remedy}\n`;
      });
      const well = results.filter(({ findings }) => findings.length === 0).map(({ check }) => check);
      const good = well.length === 0 ? '' : paint(`Well: ${well.join(', ')}.\n`, 'good');
      const verdict =
        all.length === 0
          ? `Cluster ${cluster}: nothing is wrong (${plural(results.length, 'check')}).\n`
          : `Cluster ${cluster}: ${plural(all.length, 'finding')} in ${plural(results.length, 'check')}.\n`;
      return [...blocks, `${good}${verdict}`].join('\n');
    },
  };
}

const TONES: Readonly<Record<Prediction['effect'], Tone>> = {
  nothing: 'plain',
  'short stall': 'plain',
  failover: 'plain',
  outage: 'bad',
  unknown: 'warning',
};

/** An outage is a problem that was found, before it has happened. */
async function predict({ cluster }: Context, flags: DoctorFlags): Promise<Result> {
  const view = await cluster.look();
  const region = knownRegion(view, flags.ifDies!);
  const predictions = chosen(view, flags).map((one) => ifDies(one, region));
  const rowOf = ({ partitionSet, effect, sentence }: Prediction) => ({
    cells: [partitionSet, effect, sentence],
    tone: TONES[effect],
  });
  const heads = ['PARTITION-SET', 'EFFECT', 'WHAT HAPPENS'];
  const isBad = ({ effect }: Prediction): boolean => effect === 'outage' || effect === 'unknown';
  const shown = predictions.length > MANY ? predictions.filter(isBad) : predictions;
  return {
    report: {
      value: { ifDies: region, partitionSets: predictions },
      table: table(heads, predictions.map(rowOf)),
      pretty: (paint) =>
        `${shown.length === 0 ? '' : `${pretty(table(heads, shown.map(rowOf)), paint)}\n`}If ${region} died: ${countsOf(predictions)}.\n`,
    },
    exit: predictions.some(isBad) ? EXIT.problem : EXIT.ok,
  };
}

function countsOf(predictions: readonly Prediction[]): string {
  const counts = new Map<string, number>();
  for (const { effect } of predictions) counts.set(effect, (counts.get(effect) ?? 0) + 1);
  return [...counts].map(([effect, count]) => `${effect} in ${plural(count, 'partition-set')}`).join(', ');
}
