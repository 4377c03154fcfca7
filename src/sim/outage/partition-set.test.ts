import { expect, test } from 'vitest';
import { smallOutage } from '../../../test/sim/outage-case.ts';
import { durationMs } from './case.ts';
import { newOutageCounts, type OutageCounts } from './counts.ts';
import { BIN_MS, type Bins, CALM_BINS, crowdFromMs, newBins } from './crowd.ts';
import { runOutages, startSome } from './outage.ts';

const SETS = 8;
const CASE = smallOutage(0.5);

/** Of these processes, from the outage on. */
function waitsOf(waitMs: number, ...processes: readonly number[]): Bins {
  const waits = newBins(CASE);
  for (const process of processes) waits[process]!.fill(waitMs, CALM_BINS);
  return waits;
}

function run(waits?: Bins): OutageCounts {
  const counts = newOutageCounts(CASE);
  runOutages(CASE, 0, SETS, counts, waits);
  return counts;
}

function workWith(waits: Bins, outageCase = CASE): Bins {
  const crowd = { fromMs: crowdFromMs(outageCase), waits, work: newBins(outageCase) };
  for (const one of startSome(outageCase, SETS, crowd)) one.goOn(durationMs(outageCase));
  return crowd.work;
}

const sum = (row: Float64Array): number => row.reduce((total, value) => total + value, 0);
const alone = run();

test('no waits are as good as no crowd', () => {
  expect(run(newBins(CASE))).toEqual(alone);
});

test.each([
  ['the regions', [0, 1, 2]],
  ['the acceptors', [3, 4, 5]],
])('what arrives at %s is dealt with later', (_, processes) => {
  const late = run(waitsOf(100, ...processes));
  expect(late).toMatchObject({ affected: SETS, recovered: SETS, doubleWriters: 0, lostWrites: 0 });
  expect(late.recovery.mean).toBeGreaterThan(alone.recovery.mean + 200);
});

test('a timer rings late, once, whatever else its process does meanwhile; and so does the driver', () => {
  const waitMs = 900;
  const late = run(waitsOf(waitMs, 0, 1, 2));
  expect(late.recovered).toBe(SETS);
  // Woken, and two answers read.
  expect(late.reporting.mean).toBeGreaterThan(3 * waitMs);
  expect(late.reporting.mean).toBeLessThan(3.1 * waitMs);
  expect(late.takingOver.mean).toBeGreaterThan(waitMs);
});

test('a process that gets to nothing does nothing: no message, hint or timer goes past the wait', () => {
  const work = workWith(waitsOf(1e9, 2));
  // Answers still arrive for a moment.
  expect(sum(work[2]!.subarray(CALM_BINS + 10))).toBe(0);
  expect(sum(work[1]!.subarray(CALM_BINS + 10))).toBeGreaterThan(0);
});

test('where updates take long, who only watches asks half as often', () => {
  const work = workWith(newBins(CASE), { ...CASE, oneWayMs: 50 });
  const inCalm = (process: number): number => sum(work[process]!.subarray(0, CALM_BINS));
  for (const watching of [1, 2]) expect(inCalm(watching) / inCalm(0)).toBeCloseTo(1 / 2, 1);
});

test('work is counted where it is done, and the dead have none', () => {
  const work = workWith(newBins(CASE), { ...CASE, oneWayMs: 10 });
  const perSecond = (process: number, from: number, until: number): number =>
    sum(work[process]!.subarray(from, until)) / (((until - from) * BIN_MS) / 1000);
  // Each region asks each of three acceptors twice a second for each partition-set.
  const usual = SETS * 6;
  for (const process of work.keys()) {
    expect(perSecond(process, 0, CALM_BINS)).toBeGreaterThan(0.9 * usual);
    expect(perSecond(process, 0, CALM_BINS)).toBeLessThan(1.1 * usual);
  }
  // The first region and its acceptor are dead, and what was on its way to them is nobody's.
  const outage = [CALM_BINS, CALM_BINS + 3000] as const;
  expect([perSecond(0, ...outage), perSecond(3, ...outage)]).toEqual([0, 0]);
  // Who asks the dead has half of the work.
  const calmAgain = [CALM_BINS + 1000, CALM_BINS + 3000] as const;
  expect(perSecond(1, ...calmAgain) / usual).toBeCloseTo(5 / 6, 1);
  expect(perSecond(4, ...calmAgain) / usual).toBeCloseTo(2 / 3, 1);
});
