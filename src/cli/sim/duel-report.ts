/** What `baton sim duel` says at its end: to people as tables and bars, to programs as JSON. Both say all that was used. */
import { POLICY_ELEMENTS, type SchedulingPolicy } from '../../failover/index.ts';
import {
  combinedDigest,
  type DuelCase,
  type DuelResult,
  failureRate,
  type FigurePoint,
  latencyModel,
  NO_TRACE,
  percentileOf,
  policyOfCase,
  type SweepLine,
  sweepLines,
  terminalBars,
} from '../../sim/index.ts';
import { aligned } from '../table.ts';

export interface DuelOutcome {
  readonly results: readonly DuelResult[];
  /** How many were asked for; fewer were played when somebody stopped it. */
  readonly hours: number;
  readonly sweptMs: number | undefined;
  readonly elapsedSeconds: number;
}

/** The points of Figure 9. Of a sweep: `initial` at its best and at the plausible base, and the others. */
export function pointsOf({ results, sweptMs }: DuelOutcome): readonly FigurePoint[] {
  if (sweptMs === undefined)
    return results.map((result) => pointOf(result, policyOfCase(result.duelCase).name));
  return sweepLines(results, sweptMs).flatMap(({ best, plausible, others }) => [
    pointOf(plausible, `initial, ${sweptMs / 1000} s`),
    pointOf(best, 'initial, best base'),
    ...others.map((result) => pointOf(result, policyOfCase(result.duelCase).name)),
  ]);
}

function pointOf({ duelCase, counts }: DuelResult, policy: string): FigurePoint {
  return { policy, proposers: duelCase.proposers, failureRate: counts.failures / counts.due };
}

export function asJson(outcome: DuelOutcome): object {
  const { results, hours, sweptMs } = outcome;
  return {
    rows: results.map(rowOf),
    ...(sweptMs !== undefined && { sweep: sweepLines(results, sweptMs).map(sweepRowOf) }),
    eventsPerSecond: eventsPerSecond(outcome),
    trace: traceOf(results),
    used: { ...usedOf(results), hours, policies: Object.fromEntries(policiesOf(results).map(policyEntry)) },
  };
}

function rowOf({ duelCase, counts }: DuelResult): object {
  const { due, failures, updates, commitMs, detectionsMs } = counts;
  const { low, high } = failureRate(counts);
  return {
    policy: policyOfCase(duelCase).name,
    proposers: duelCase.proposers,
    hours: counts.hours,
    due,
    failures,
    failureRate: failures / due,
    attemptsPerUpdate: counts.attempts / updates,
    confidence95: [low, high],
    failedHours: counts.failedHours,
    ...(hasBase(duelCase) && { baseSeconds: duelCase.baseMs / 1000 }),
    naksPerUpdate: counts.refusals / updates,
    commitMs: { p50: commitMs.percentile(0.5), p99: commitMs.percentile(0.99) },
    requestsPerUpdate: counts.requests / updates,
    ...(duelCase.writerDies && {
      detectionMs: {
        p50: percentileOf(detectionsMs, 0.5),
        p99: percentileOf(detectionsMs, 0.99),
        undetected: counts.undetected,
      },
    }),
    trace: counts.trace,
  };
}

function sweepRowOf({ proposers, best, plausible, others }: SweepLine): object {
  return {
    proposers,
    best: { baseSeconds: best.duelCase.baseMs / 1000, failureRate: failureRate(best.counts).rate },
    plausible: {
      baseSeconds: plausible.duelCase.baseMs / 1000,
      failureRate: failureRate(plausible.counts).rate,
    },
    ...Object.fromEntries(
      others.map(({ duelCase, counts }) => [
        policyOfCase(duelCase).name,
        { failureRate: failureRate(counts).rate },
      ]),
    ),
  };
}

function policyEntry({ name, ...rest }: SchedulingPolicy): [string, object] {
  return [name, Object.fromEntries(POLICY_ELEMENTS.map((element) => [element, rest[element]]))];
}

function usedOf(results: readonly DuelResult[]): object {
  const duelCase = results[0]?.duelCase;
  if (duelCase === undefined) return {};
  const { acceptors, intervalMs, leaseMs, skewMs, writerDies, seed, latency } = duelCase;
  return {
    acceptors,
    intervalSeconds: intervalMs / 1000,
    leaseSeconds: leaseMs / 1000,
    latency,
    latencyInWords: latencyModel(latency)!.description,
    skewSeconds: skewMs / 1000,
    writerDies,
    seed,
  };
}

export function asText(outcome: DuelOutcome): string {
  const { results, sweptMs, elapsedSeconds } = outcome;
  if (results.length === 0) return 'Stopped before the first hours were done.\n';
  const million = (eventsPerSecond(outcome) / 1e6).toFixed(2);
  const parts = [
    headOf(outcome),
    tableOf(results),
    ...(sweptMs === undefined ? [] : [sweepTable(results, sweptMs)]),
    `${terminalBars(pointsOf(outcome))}\n`,
    `trace ${traceOf(results)}\n${million} million events a second, ${elapsedSeconds.toFixed(1)} s in all.\n`,
  ];
  return parts.join('\n');
}

function headOf({ results, hours }: DuelOutcome): string {
  const { acceptors, intervalMs, leaseMs, latency, skewMs, writerDies, seed } = results[0]!.duelCase;
  const policies = policiesOf(results).map((policy) => {
    const elements = POLICY_ELEMENTS.map((element) => `${element} ${policy[element]}`).join(', ');
    return `  ${policy.name}: ${elements}`;
  });
  const withBase = results.map(({ duelCase }) => duelCase).filter(hasBase);
  const bases = [...new Set(withBase.map(({ baseMs }) => baseMs / 1000))].toSorted((a, b) => a - b);
  return [
    `Leases lost by proposers that update one register of ${acceptors} acceptors every ${intervalMs / 1000} s, lease ${leaseMs / 1000} s;`,
    `${hours.toLocaleString('en')} simulated hours for each line, seed ${seed}${bases.length > 0 ? `; static base ${bases.join(', ')} s` : ''}.`,
    `One-way latency ${latency}: ${latencyModel(latency)!.description}.`,
    skewMs === 0 ? 'Clocks agree.' : `Clocks are wrong by up to ${skewMs / 1000} s either way.`,
    ...(writerDies ? ['Near the end of each hour one proposer dies, and the others have to notice.'] : []),
    ...policies,
    '',
  ].join('\n');
}

function policiesOf(results: readonly DuelResult[]): readonly SchedulingPolicy[] {
  const policies = results.map(({ duelCase }) => policyOfCase(duelCase));
  return [...new Map(policies.map((policy) => [policy.name, policy])).values()];
}

type Column = readonly [head: string, cell: (result: DuelResult) => string];

const COLUMNS: readonly Column[] = [
  ['policy', ({ duelCase }) => policyOfCase(duelCase).name],
  ['base s', ({ duelCase }) => (hasBase(duelCase) ? `${duelCase.baseMs / 1000}` : '-')],
  ['proposers', ({ duelCase }) => `${duelCase.proposers}`],
  ['hours', ({ counts }) => counts.hours.toLocaleString('en')],
  ['failed h', ({ counts }) => counts.failedHours.toLocaleString('en')],
  ['failure rate (95 %)', ({ counts }) => rateText(failureRate(counts))],
  ['attempts', ({ counts }) => (counts.attempts / counts.updates).toFixed(3)],
  ['NAKs', ({ counts }) => (counts.refusals / counts.updates).toFixed(2)],
  ['p50 ms', ({ counts }) => counts.commitMs.percentile(0.5).toFixed(0)],
  ['p99 ms', ({ counts }) => counts.commitMs.percentile(0.99).toFixed(0)],
  ['requests', ({ counts }) => (counts.requests / counts.updates).toFixed(1)],
];

const DETECTION: readonly Column[] = [
  ['noticed p50 s', ({ counts }) => secondsText(percentileOf(counts.detectionsMs, 0.5))],
  ['p99 s', ({ counts }) => secondsText(percentileOf(counts.detectionsMs, 0.99))],
  ['never', ({ counts }) => `${counts.undetected}`],
];

function tableOf(results: readonly DuelResult[]): string {
  const columns = results[0]!.duelCase.writerDies ? [...COLUMNS, ...DETECTION] : COLUMNS;
  return aligned([
    columns.map(([head]) => head),
    ...results.map((result) => columns.map(([, cell]) => cell(result))),
  ]);
}

function sweepTable(results: readonly DuelResult[], sweptMs: number): string {
  const lines = sweepLines(results, sweptMs);
  if (lines.length === 0) return 'Stopped before the sweep was done.\n';
  const names = lines[0]!.others.map(({ duelCase }) => policyOfCase(duelCase).name);
  const rate = ({ counts }: DuelResult): string => percent(failureRate(counts).rate);
  return aligned([
    ['proposers', 'initial at its best', 'with base', `initial at ${sweptMs / 1000} s`, ...names],
    ...lines.map(({ proposers, best, plausible, others }) => [
      `${proposers}`,
      rate(best),
      baseText(best.duelCase),
      rate(plausible),
      ...others.map(rate),
    ]),
  ]);
}

function hasBase(duelCase: DuelCase): boolean {
  return policyOfCase(duelCase).statistics === 'none';
}

function baseText({ baseMs }: DuelCase): string {
  return `${baseMs / 1000} s`;
}

function rateText({ rate, low, high }: ReturnType<typeof failureRate>): string {
  return `${percent(rate)} (${percent(low)} .. ${percent(high)})`;
}

/** What is nearly nothing keeps its digits: the goal is zero, and ten thousand hours say how near that one is. */
function percent(value: number): string {
  const digits = value >= 5e-9 && value < 1e-5 ? 6 : 4;
  return `${(100 * value).toFixed(digits)} %`;
}

function secondsText(ms: number | undefined): string {
  return ms === undefined ? '-' : (ms / 1000).toFixed(1);
}

function traceOf(results: readonly DuelResult[]): string {
  return results.reduce((trace, { counts }) => combinedDigest(trace, counts.trace), NO_TRACE);
}

function eventsPerSecond({ results, elapsedSeconds }: DuelOutcome): number {
  return Math.round(results.reduce((total, { counts }) => total + counts.events, 0) / elapsedSeconds);
}
