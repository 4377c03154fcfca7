/** What a run says at its end, real beside simulated: to people as tables, to programs as JSON in the form of `baton sim outage`. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus } from 'node:os';
import { join } from 'node:path';
import { BUCKET_MS, durationFigure, type Durations, figureSix, type OutageCounts } from 'baton/sim';
import { type Calm, coresInAll } from './calm.ts';
import { MOST_LOAD } from './load.ts';
import { GOALS, REGIONS } from './plan.ts';
import type { RealResult } from './round.ts';

export interface Compared {
  readonly name: string;
  readonly real: number;
  readonly simulated: number;
  /** Of the simulated one. */
  readonly difference: number;
  readonly agrees: boolean;
}

/** Further apart than this, and the simulator does not know the system. */
const TOLERANCE = 0.2;
const HOUR_MS = 3_600_000;
const SHARES = { p50: 0.5, p90: 0.9, p99: 0.99, max: 1 } as const;

export function compare({ counts }: RealResult, simulated: OutageCounts): readonly Compared[] {
  return (['p50', 'p99'] as const).map((share) => {
    const real = counts.recovery.percentile(SHARES[share]) / 1000;
    const other = simulated.recovery.percentile(SHARES[share]) / 1000;
    const difference = other === 0 ? (real === 0 ? 0 : Infinity) : Math.abs(real - other) / other;
    return { name: share, real, simulated: other, difference, agrees: difference <= TOLERANCE };
  });
}

/** Why this run cannot be called a success; empty: it can. */
export function shortcomings(result: RealResult, compared: readonly Compared[]): readonly string[] {
  const { plan, counts, away, lostWrites } = result;
  const reasons: string[] = [];
  if (plan.consistency === 'Strong' && lostWrites > 0)
    reasons.push(`${lostWrites} acknowledged writes were lost`);
  if (counts.doubleWriters > 0)
    reasons.push(`one GCN was given to two regions ${counts.doubleWriters} times`);
  const { load = 0 } = result;
  if (!canWriteOn(plan) && load > MOST_LOAD)
    reasons.push(`the acceptors were asked ${load.toFixed(2)} times as much as in the calm`);
  if (canWriteOn(plan) && counts.recovered < counts.affected)
    reasons.push(
      `writes did not resume in ${counts.affected - counts.recovered} of ${counts.affected} cases`,
    );
  if (plan.kind === 'region') {
    const { halfMs, allMs } = GOALS[plan.profile];
    const expected = plan.partitionSets * plan.outages;
    if (counts.affected < expected)
      reasons.push(`writes stopped in only ${counts.affected} of ${expected} cases`);
    const half = counts.recovery.percentile(0.5);
    const all = counts.recovery.percentile(1);
    if (half > halfMs)
      reasons.push(`half recovered within ${seconds(half)} s, the goal is ${halfMs / 1000} s`);
    if (all > allMs) reasons.push(`all recovered within ${seconds(all)} s, the goal is ${allMs / 1000} s`);
    if (away > 0)
      reasons.push(
        `${away} partition-sets were not back in ${REGIONS[0]} within ${plan.calmMinutes} minutes`,
      );
  }
  for (const { name, real, simulated, agrees } of compared)
    if (!agrees)
      reasons.push(`${name} is ${real.toFixed(1)} s here and ${simulated.toFixed(1)} s in the simulator`);
  return reasons;
}

/** Without a majority of the acceptors writes are back when that is; what counts is what its loss makes of the load. */
function canWriteOn({ kind }: RealResult['plan']): boolean {
  return kind !== 'acceptors-majority';
}

export function jsonOf(
  result: RealResult,
  simulated: OutageCounts | undefined,
  reasons: readonly string[],
): object {
  const { plan, counts, parts, outages, startMs, durationMs, usages } = result;
  return {
    ...figures(counts),
    breakdownSeconds: {
      untilRaised: percentiles(parts.untilRaised),
      untilElected: percentiles(parts.untilElected),
      untilWritten: percentiles(parts.untilWritten),
    },
    serviceRecoverySeconds: percentiles(parts.service),
    acceptorRequestsPerHour: Math.round(perHour(result)),
    ...(result.load !== undefined && { acceptorLoad: rounded(result.load, 2) }),
    acknowledged: result.acknowledged,
    lostWrites: result.lostWrites,
    unknown: result.unknown,
    refused: result.refused,
    notHome: result.away,
    updateMs: rounded(result.calm.updateMs, 1),
    calm: calmOf(result.calm),
    elapsedSeconds: Math.round(durationMs / 1000),
    processes: usages,
    figures: {
      bucketSeconds: BUCKET_MS / 1000,
      serving: counts.serving,
      outages: outages.map(({ fromMs, untilMs }) => ({
        fromSeconds: (fromMs - startMs) / 1000,
        untilSeconds: (untilMs - startMs) / 1000,
      })),
      recovery: counts.recovery.snapshot().bins,
      detect: counts.detect.snapshot().bins,
      failback: counts.failback.snapshot().bins,
    },
    ...(simulated && { simulated: figures(simulated) }),
    shortcomings: reasons,
    used: { ...plan, regions: REGIONS, machine: machine() },
  };
}

function figures(counts: OutageCounts): object {
  const { partitionSets, affected, recovered, doubleWriters, lostWrites, failovers } = counts;
  return {
    partitionSets,
    affected,
    recovered,
    recoverySeconds: percentiles(counts.recovery),
    detectSeconds: percentiles(counts.detect),
    failbackSeconds: percentiles(counts.failback),
    failbackGapSeconds: percentiles(counts.failbackGap),
    doubleWriters,
    lostWrites,
    failovers,
  };
}

export function textOf(
  result: RealResult,
  simulated: OutageCounts | undefined,
  compared: readonly Compared[],
  reasons: readonly string[],
): string {
  const { plan, counts, parts, usages } = result;
  const { kind, profile, outages, minutes, consistency, acceptors, writeEveryMs } = plan;
  const rows: readonly (readonly [string, Durations | undefined, Durations | undefined])[] = [
    ['clients: writes stopped to writes again', counts.recovery, simulated?.recovery],
    ['service: outage to a writer elected', parts.service, undefined],
    ['power back to state known in it', counts.detect, simulated?.detect],
    ['power back to writes in it again', counts.failback, simulated?.failback],
    ['without writes while they moved back', counts.failbackGap, simulated?.failbackGap],
    ['until the GCN was raised', parts.untilRaised, undefined],
    ['from there until the election', parts.untilElected, undefined],
    ['from there until a client had written', parts.untilWritten, undefined],
  ];
  return [
    `${count(plan.partitionSets)} partition-sets; ${outages} x ${minutes} min of ${kind}; profile ${profile}, ${consistency}, ${acceptors} acceptors, ${plan.nodesPerRegion} node(s) a region, a write every ${writeEveryMs} ms in each; ${machine()}.`,
    '',
    line(['seconds', 'how many', 'p50', 'p90', 'p99', 'max', 'sim p50', 'sim p99', 'sim max']),
    ...rows.map(([name, real, other]) =>
      line([name, count(real?.count ?? 0), ...cells(real), ...cells(other).filter((_, at) => at !== 1)]),
    ),
    '',
    ...processTable(usages, result.calm),
    '',
    `${count(result.acknowledged)} writes acknowledged, ${count(result.lostWrites)} of them lost; ${count(result.unknown)} of unknown outcome, ${count(result.refused)} refused.`,
    `Writes stopped ${count(counts.affected)} times, and were back during the outage ${count(counts.recovered)} times; ${count(counts.failovers)} raises of a GCN.`,
    `${count(Math.round(perHour(result)))} acceptor requests for each partition-set and hour, in ${count(batches(usages))} batches in all.`,
    ...(result.load === undefined
      ? []
      : [
          `In the outage the acceptors that lived were asked ${result.load.toFixed(2)} times what they were asked in the calm.`,
        ]),
    told(result.calm),
    ...compared.map(
      ({ name, real, simulated: other, difference, agrees }) =>
        `${name}: ${real.toFixed(1)} s here, ${other.toFixed(1)} s in the simulator, ${(100 * difference).toFixed(0)} % apart${agrees ? '' : ': too far'}.`,
    ),
    reasons.length === 0 ? 'All goals met.' : `Goals missed: ${reasons.join('; ')}.`,
    '',
  ].join('\n');
}

/** What the simulator is told of the machine. */
export function told({ updateMs, cores }: Calm): string {
  const used = coresInAll({ cores }).toFixed(2);
  return `Before the first outage a state update took ${updateMs.toFixed(1)} ms, and the processes used ${used} of ${availableParallelism()} cores (column calm); the simulator is given both.`;
}

function calmOf({ updateMs, cores }: Calm): Calm {
  return {
    updateMs: rounded(updateMs, 1),
    cores: Object.fromEntries(Object.entries(cores).map(([name, some]) => [name, rounded(some, 3)])),
  };
}

export function writeCharts(directory: string, { plan, counts, outages, startMs }: RealResult): void {
  mkdirSync(directory, { recursive: true });
  const charts = {
    'figure-6.svg': figureSix({
      regionNames: REGIONS,
      serving: counts.serving,
      bucketMs: BUCKET_MS,
      partitionSets: plan.partitionSets,
      outages: outages.map(({ fromMs, untilMs }) => ({
        fromMs: fromMs - startMs,
        untilMs: untilMs - startMs,
      })),
    }),
    'figure-7.svg': durationFigure('Time to restore availability', counts.recovery),
    'figure-8.svg': durationFigure('Time to detect recovery of the preferred region', counts.detect),
    'failback.svg': durationFigure('Time to fail back to the preferred region', counts.failback),
  };
  for (const [name, chart] of Object.entries(charts)) writeFileSync(join(directory, name), chart);
}

function processTable(usages: RealResult['usages'], { cores }: RealResult['calm']): readonly string[] {
  return [
    line(['process', 'CPU s', 'calm', 'MB', 'requests', 'batches']),
    ...usages.map(({ name, cpuSeconds, peakBytes, requests, batches: some }) =>
      line([
        name,
        cpuSeconds.toFixed(1),
        (cores[name] ?? 0).toFixed(2),
        (peakBytes / 1e6).toFixed(0),
        requests === 0 ? '' : count(requests),
        some === 0 ? '' : count(some),
      ]),
    ),
  ];
}

function batches(usages: RealResult['usages']): number {
  return usages.reduce((sum, one) => sum + one.batches, 0);
}

function perHour({ counts, durationMs }: RealResult): number {
  return counts.partitionSets === 0 ? 0 : (counts.requests / counts.partitionSets) * (HOUR_MS / durationMs);
}

function percentiles(durations: Durations): object {
  return Object.fromEntries(
    Object.entries(SHARES).map(([name, share]) => [name, Number(seconds(durations.percentile(share)))]),
  );
}

function cells(durations: Durations | undefined): readonly string[] {
  if (durations === undefined || durations.count === 0) return Object.keys(SHARES).map(() => '');
  return Object.values(SHARES).map((share) => seconds(durations.percentile(share)));
}

function line([first = '', ...others]: readonly string[]): string {
  return `${first.padEnd(42)}${others.map((cell) => ` ${cell.padStart(8)}`).join('')}`.trimEnd();
}

function seconds(ms: number): string {
  return (Math.ceil(ms / 100 - 1e-9) / 10).toFixed(1);
}

function rounded(value: number, digits: number): number {
  return Number(value.toFixed(digits));
}

function count(value: number): string {
  return value.toLocaleString('en');
}

function machine(): string {
  const all = cpus();
  return `${all.length} cores (${all[0]?.model ?? 'unknown'}), Node ${process.version}`;
}
