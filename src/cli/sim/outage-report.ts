/** What `baton sim outage` says at its end: to people as tables, to programs as JSON. Both say all that was used. */
import { PROFILES } from '../../failover/index.ts';
import {
  AZURE_REGIONS,
  BUCKET_MS,
  busyIntervals,
  calmRequests,
  durationMs,
  type Durations,
  type Flap,
  flapsOf,
  OUTAGE_KINDS,
  type OutageCase,
  type OutageCounts,
  outageTimes,
  RECOVERY_PARTS,
  type RecoveryPart,
} from '../../sim/index.ts';
import { aligned } from '../table.ts';

export interface OutageOutcome {
  readonly outageCase: OutageCase;
  /** How many were asked for; fewer were simulated when somebody stopped it. */
  readonly partitionSets: number;
  readonly counts: OutageCounts;
  readonly elapsedSeconds: number;
  /** Of the processors, on all threads: what a shared machine does not change much. */
  readonly cpuSeconds: number;
  /** At the most, of the process with all its threads. */
  readonly rssBytes: number;
  /** Of a region that dies whenever it has the writes again; for the kind `flapping`. */
  readonly deaths: readonly Flap[];
}

const HOUR_MS = 3_600_000;
const SHARES = { p50: 0.5, p90: 0.9, p99: 0.99, max: 1 } as const;

/** What must never be seen, however the outage went. */
export function isUnsafe({ counts, outageCase }: OutageOutcome): boolean {
  return counts.doubleWriters > 0 || (outageCase.consistency === 'Strong' && counts.lostWrites > 0);
}

export function outageJson(outcome: OutageOutcome): object {
  const { outageCase, counts, deaths } = outcome;
  const { affected, recovered, doubleWriters, lostWrites, failovers } = counts;
  return {
    partitionSets: counts.partitionSets,
    affected,
    recovered,
    recoverySeconds: percentiles(counts.recovery),
    detectSeconds: percentiles(counts.detect),
    failbackSeconds: percentiles(counts.failback),
    failbackGapSeconds: percentiles(counts.failbackGap),
    breakdownSeconds: Object.fromEntries(RECOVERY_PARTS.map((part) => [part, partOf(counts[part])])),
    doubleWriters,
    lostWrites,
    failovers,
    acceptorRequestsPerHour: requestsPerHour(outcome),
    mostAcceptorRequests: {
      intervals: busyIntervals(outageCase),
      requests: counts.mostRequests,
      ofTheCalm: hundredths(counts.mostRequests / calmRequests(outageCase)),
    },
    ...(outageCase.kind === 'flapping' && {
      flaps: flapRows(outcome),
      provedSeconds: deaths.map(({ provedMs }) => tenths(provedMs)),
    }),
    elapsedSeconds: outcome.elapsedSeconds,
    cpuSeconds: outcome.cpuSeconds,
    partitionSetsPerSecond: counts.partitionSets / outcome.elapsedSeconds,
    rssBytes: outcome.rssBytes,
    figures: figuresOf(outcome),
    used: usedOf(outcome),
  };
}

/** What the paper's Figures 6 to 8 are drawn from; the web page draws them from here. */
function figuresOf({ outageCase, counts }: OutageOutcome): object {
  const bins = (durations: Durations): object => durations.snapshot().bins;
  return {
    bucketSeconds: BUCKET_MS / 1000,
    serving: counts.serving,
    outages: outageTimes(outageCase).map(({ fromMs, untilMs }) => ({
      fromSeconds: fromMs / 1000,
      untilSeconds: untilMs / 1000,
    })),
    // Tenths of a second, and how many.
    recovery: bins(counts.recovery),
    detect: bins(counts.detect),
    failback: bins(counts.failback),
  };
}

function percentiles(durations: Durations): Readonly<Record<keyof typeof SHARES, number>> {
  const { p50, p90, p99, max } = SHARES;
  const seconds = (share: number): number => tenths(durations.percentile(share));
  return { p50: seconds(p50), p90: seconds(p90), p99: seconds(p99), max: seconds(max) };
}

function partOf(durations: Durations): object {
  return { mean: Math.round(durations.mean) / 1000, ...percentiles(durations) };
}

function usedOf({ outageCase, partitionSets }: OutageOutcome): object {
  const { regions: _, acceptors, regionNames, profile, kind, ...rest } = outageCase;
  const { intervalMs, leaseMs, settleMs } = PROFILES[profile];
  return {
    partitionSets,
    regions: regionNames,
    acceptors: namesOf(acceptors),
    kind,
    kindInWords: OUTAGE_KINDS[kind].what,
    profile,
    intervalSeconds: intervalMs / 1000,
    leaseSeconds: leaseMs / 1000,
    settleSeconds: settleMs / 1000,
    simulatedMinutes: durationMs(outageCase) / 60_000,
    ...rest,
  };
}

export function outageText(outcome: OutageOutcome): string {
  if (outcome.counts.partitionSets === 0) return 'Stopped before the first partition-sets were done.\n';
  return [
    headOf(outcome),
    timesTable(outcome),
    ...(outcome.counts.leaseRemaining.count > 0 ? [breakdownTable(outcome)] : []),
    ...(outcome.outageCase.kind === 'flapping' ? [flapTable(outcome)] : []),
    footOf(outcome),
  ].join('\n');
}

function headOf({ outageCase, partitionSets }: OutageOutcome): string {
  const { regionNames, acceptors, outages, minutes, profile, hints, kind, seed } = outageCase;
  const { consistency, minDurability } = outageCase;
  const { intervalMs, leaseMs, settleMs } = PROFILES[profile];
  const [preferred, ...others] = regionNames;
  return [
    `${number(partitionSets)} partition-sets; ${outages} x ${minutes} min of ${kind}: ${OUTAGE_KINDS[kind].what}.`,
    `Write region ${preferred}, then ${others.join(', ')}; acceptors in ${namesOf(acceptors).join(', ')}.`,
    `Profile ${profile}: interval ${intervalMs / 1000} s, lease ${leaseMs / 1000} s, settling ${settleMs / 1000} s; hints ${hints ? 'on' : 'off'}.`,
    `Consistency ${consistency}, minimum durability ${minDurability}; latencies of the Azure matrix; ${durationMs(outageCase) / 60_000} simulated minutes, seed ${seed}.`,
    '',
  ].join('\n');
}

function timesTable({ counts }: OutageOutcome): string {
  const rows: readonly (readonly [string, Durations])[] = [
    ['writes stopped to writes again', counts.recovery],
    ['power back to first update of the region', counts.detect],
    ['power back to writes in it again', counts.failback],
    ['without writes while they moved back', counts.failbackGap],
  ];
  return aligned([
    ['seconds', 'how many', 'p50', 'p90', 'p99', 'max'],
    ...rows.map(([name, durations]) => [name, number(durations.count), ...cells(durations)]),
  ]);
}

const PART_NAMES: Readonly<Record<RecoveryPart, string>> = {
  leaseRemaining: 'lease remaining',
  waking: 'waking',
  fencing: 'fencing',
  reporting: 'reporting',
  election: 'election',
  takingOver: 'taking over',
};

function breakdownTable({ counts }: OutageOutcome): string {
  const whole = RECOVERY_PARTS.reduce((sum, part) => sum + counts[part].mean, 0);
  return aligned([
    ['of which', 'share', 'mean', 'p50', 'p90', 'p99', 'max'],
    ...RECOVERY_PARTS.map((part) => {
      const { mean } = counts[part];
      const share = `${((100 * mean) / whole).toFixed(1)} %`;
      return [PART_NAMES[part], share, (mean / 1000).toFixed(2), ...cells(counts[part])];
    }),
  ]);
}

function flapTable(outcome: OutageOutcome): string {
  const rows = flapRows(outcome);
  const deaths = outcome.deaths.map(({ provedMs }) => `${(provedMs / 1000).toFixed(0)} s`);
  const table = aligned([
    ['flap', ...rows.map((_, at) => `${at + 1}`)],
    ['failed over', ...rows.map(({ failovers }) => number(failovers))],
    ['failed back', ...rows.map(({ failbacks }) => number(failbacks))],
  ]);
  const how = 'A region that dies whenever it has the writes again gets them back after';
  return `${table}\nThe last failback is in the calm after the outage.\n${how} ${deaths.join(', ')}.\n`;
}

/** Flap by flap, over all outages: a later outage begins when the earlier one is forgiven. */
export function flapRows({ counts, outageCase }: Pick<OutageOutcome, 'counts' | 'outageCase'>): readonly {
  readonly failovers: number;
  readonly failbacks: number;
}[] {
  const perOutage = flapsOf({ fromMs: 0, untilMs: outageCase.minutes }).length;
  return Array.from({ length: perOutage }, (_, flap) => {
    const same = counts.flaps.filter((__, at) => at % perOutage === flap);
    return {
      failovers: same.reduce((sum, { failovers }) => sum + failovers, 0),
      failbacks: same.reduce((sum, { failbacks }) => sum + failbacks, 0),
    };
  });
}

function footOf(outcome: OutageOutcome): string {
  const { counts, elapsedSeconds, cpuSeconds, rssBytes, outageCase, partitionSets } = outcome;
  const { affected, recovered, doubleWriters, lostWrites } = counts;
  const lost = outageCase.consistency === 'Strong' ? `, ${number(lostWrites)} acknowledged writes lost` : '';
  const stopped =
    counts.partitionSets < partitionSets ? ` (stopped; ${number(partitionSets)} asked for)` : '';
  return [
    `${number(counts.partitionSets)} partition-sets${stopped}: writes stopped ${number(affected)} times, and were back during the outage ${number(recovered)} times.`,
    `Two writers at once: ${doubleWriters}${lost}; ${number(counts.failovers)} failovers.`,
    `${number(Math.round(requestsPerHour(outcome)))} acceptor requests for each partition-set and hour.`,
    busiestText(outcome),
    `${elapsedSeconds.toFixed(1)} s, ${cpuSeconds.toFixed(1)} s of processor time, ${(counts.partitionSets / elapsedSeconds).toFixed(1)} partition-sets a second, ${(rssBytes / 1e6).toFixed(0)} MB at the most.`,
    '',
  ].join('\n');
}

function busiestText({ counts: { mostRequests }, outageCase }: OutageOutcome): string {
  const intervals = busyIntervals(outageCase);
  const minutes = (intervals * PROFILES[outageCase.profile].intervalMs) / 60_000;
  const share = (mostRequests / calmRequests(outageCase)).toFixed(2);
  return `At most ${number(mostRequests)} for one of them in ${intervals} intervals (${minutes} min), ${share} times what the calm takes.`;
}

function hundredths(value: number): number {
  return Math.round(value * 100) / 100;
}

function requestsPerHour({ counts, outageCase }: OutageOutcome): number {
  const hours = (counts.partitionSets * durationMs(outageCase)) / HOUR_MS;
  return hours === 0 ? 0 : tenths((1000 * counts.requests) / hours);
}

function cells(durations: Durations): readonly string[] {
  if (durations.count === 0) return Object.keys(SHARES).map(() => '-');
  return Object.values(percentiles(durations)).map((value) => value.toFixed(1));
}

function namesOf(places: readonly number[]): readonly string[] {
  return places.map((place) => AZURE_REGIONS[place]!);
}

function number(value: number): string {
  return value.toLocaleString('en');
}

/** From thousandths to one digit after the point, rounded up: a goal that is missed by little is missed. */
function tenths(thousandths: number): number {
  return Math.ceil(thousandths / 100 - 1e-9) / 10;
}
