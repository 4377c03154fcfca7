/** `baton doctor`: is everything as it should be, and if not, what to do; and what would happen if a region died. */
import { dirname } from 'node:path';
import type { Command } from 'commander';
import { CHECKS, type Evidence, type Finding } from './checks.ts';
import type { OperatedCluster } from './cluster.ts';
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
import { EXIT, type ExitCode } from './errors.ts';
import { type FoundCluster, shownFrom } from './find.ts';
import { shutGateways } from './gateways.ts';
import { problemsOf } from './health.ts';
import { ifDies, type Prediction } from './if-dies.ts';
import { MANY } from './list.ts';
import type { ClusterView } from './merge.ts';
import { plural, pretty, type Report, table, type Tone } from './output.ts';
import type { Stage } from './stage.ts';

const AGAIN_MS = 1000;

interface DoctorFlags extends CommonFlags, ScopeFlags {
  readonly ifDies?: string;
  readonly maxLag: string;
}

export function doctorCommand(stage: Stage): Command {
  return withScope(
    operatorCommand('doctor', 'Check the cluster, and explain each problem and its remedy.', [
      'baton doctor',
      'baton doctor --if-dies west     # what would happen if this region failed',
    ]),
  )
    .option(
      '--if-dies <region>',
      'predict instead what the failure of this region would cause (before a forced move: baton failover --dry-run)',
    )
    .option('--max-lag <writes>', 'report regions that lag by more writes', '10000')
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
  const isStopped = evidence.stoppedIn !== undefined;
  const results = Object.entries(CHECKS).map(([check, find]) => ({
    check,
    findings: isStopped && !OF_THE_FILE.has(check) ? [] : find(evidence),
  }));
  const isDead = !evidence.view.nodes.some(
    ({ facts, isRefused }) => facts !== undefined || isRefused === true,
  );
  const count = results.flatMap(({ findings }) => findings).length;
  return {
    report: doctorReport(evidence.view, results, isStopped ? OF_THE_FILE : WITHOUT_NODES),
    exit: isDead ? EXIT.unreachable : count > 0 ? EXIT.problem : EXIT.ok,
  };
}

async function gather({ cluster, stage }: Context, flags: DoctorFlags): Promise<Evidence> {
  const maxLag = positive(flags.maxLag, '--max-lag');
  const [view, shut] = await Promise.all([
    lookTwice(cluster, stage, flags),
    shutGateways(cluster.found, positive(flags.nodeTimeout, '--node-timeout')),
  ]);
  const { found } = cluster;
  const stoppedIn = await directoryIfStopped(found, view, stage);
  return {
    view,
    found,
    ...(stoppedIn !== undefined && { stoppedIn }),
    shutGateways: shut,
    certificates: await certificatesHere(found.config.tls),
    now: stage.now(),
    maxLag,
  };
}

/** Undefined: somebody answers, or `baton up` runs, or it is no cluster of this machine. */
async function directoryIfStopped(
  { isLocal, config }: FoundCluster,
  { nodes }: ClusterView,
  { cwd }: Stage,
): Promise<string | undefined> {
  if (!isLocal || nodes.some(({ isUp, isRefused }) => isUp || isRefused === true)) return undefined;
  const directory = dirname(config.path);
  const { isUp, readState } = await import('../../server/index.ts');
  const state = await readState(directory).catch(() => undefined);
  if (state === undefined || isUp(state)) return undefined;
  return shownFrom(cwd, directory);
}

/** What is over a moment later is no finding: a move of the writes looks like an outage while it lasts. */
async function lookTwice(cluster: OperatedCluster, stage: Stage, flags: DoctorFlags): Promise<ClusterView> {
  const look = async (): Promise<ClusterView> => {
    const view = await cluster.look({ evenIfDead: true });
    return { ...view, partitionSets: chosen(view, flags) };
  };
  const first = await look();
  if (first.partitionSets.every((one) => problemsOf(one).length === 0)) return first;
  await stage.sleep(AGAIN_MS);
  return look();
}

/** Of the authority, and of everybody if all have the same: other files lie on other machines. */
async function certificatesHere(
  tls: { readonly ca: string; readonly cert: string } | undefined,
): Promise<Evidence['certificates']> {
  const files = tls === undefined ? [] : [tls.ca, tls.cert].filter((file) => !file.includes('{name}'));
  if (files.length === 0) return [];
  const { CertificateError, describeCertificates, readPem } = await import('../../server/certs/index.ts');
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

/** These need nobody to answer. */
const OF_THE_FILE: ReadonlySet<string> = new Set(['nodes', 'certificates', 'exposed ports']);
/** These need no node. */
const WITHOUT_NODES: ReadonlySet<string> = new Set([...OF_THE_FILE, 'gateways']);

function doctorReport(
  { cluster, at, nodes }: ClusterView,
  results: readonly CheckResult[],
  withoutNodes: ReadonlySet<string>,
): Report {
  const all = results.flatMap(({ check, findings }) => findings.map((finding) => ({ check, ...finding })));
  const isSeen = nodes.some(({ facts }) => facts !== undefined);
  const without = results.filter(({ findings }) => findings.length === 0).map(({ check }) => check);
  const blind = isSeen ? [] : without.filter((check) => !withoutNodes.has(check));
  const well = without.filter((check) => !blind.includes(check));
  return {
    value: {
      cluster,
      at,
      healthy: all.length === 0,
      checks: results.map(({ check }) => check).filter((check) => !blind.includes(check)),
      notChecked: blind,
      findings: all,
    },
    advises: true,
    table: table(
      ['SEVERITY', 'CHECK', 'FINDING', 'MEANS', 'DO'],
      all.map(({ severity, check, finding, means, remedy }) => ({
        cells: [severity, check, finding, means, remedy],
      })),
    ),
    pretty: (paint) => {
      const blocks = all.map(({ severity, check, finding, means, remedy }) => {
        const tone: Tone = severity === 'critical' ? 'bad' : 'warning';
        return `${paint(`${severity}: ${finding}`, tone)} [${check}]\n  Meaning: ${means}\n  Remedy: ${remedy}\n`;
      });
      const good = well.length === 0 ? '' : paint(`OK: ${well.join(', ')}.\n`, 'good');
      const unknown =
        blind.length === 0 ? '' : `Not checked, because no node answers: ${blind.join(', ')}.\n`;
      const checks = plural(results.length - blind.length, 'check');
      const verdict =
        all.length === 0
          ? `Cluster ${cluster}: nothing is wrong (${checks}).\n`
          : `Cluster ${cluster}: ${plural(all.length, 'finding')} in ${checks}.\n`;
      return [...blocks, `${good}${unknown}${verdict}`].join('\n');
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
        `${shown.length === 0 ? '' : `${pretty(table(heads, shown.map(rowOf)), paint)}\n`}If ${region} failed: ${countsOf(predictions)}.\n`,
    },
    exit: predictions.some(isBad) ? EXIT.problem : EXIT.ok,
  };
}

function countsOf(predictions: readonly Prediction[]): string {
  const counts = new Map<string, number>();
  for (const { effect } of predictions) counts.set(effect, (counts.get(effect) ?? 0) + 1);
  return [...counts].map(([effect, count]) => `${effect} in ${plural(count, 'partition-set')}`).join(', ');
}
