import { expect, test } from 'vitest';
import { Random } from '../core/index.ts';
import { describeConfiguration, drawConfiguration } from './configuration.ts';
import { AIM, drawFaults, FUZZ_FAULTS } from './faults.ts';
import { FUZZ_PHASES } from './phases.ts';

const SEEDS = Array.from({ length: 300 }, (_, at) => at + 1);
const WINDOW = { fromMs: 5000, untilMs: 20_000 };

test('seeds draw every number of regions, every level, every kind of link and every fault', () => {
  const all = SEEDS.map((seed) => drawConfiguration(new Random(seed), undefined));
  expect(new Set(all.map(({ regions }) => regions))).toEqual(new Set([2, 3, 5]));
  expect(new Set(all.map(({ level }) => level)).size).toBe(5);
  expect(new Set(all.map(({ links }) => links)).size).toBe(2);
  expect(new Set(all.flatMap(({ faults }) => [...faults]))).toEqual(new Set(FUZZ_FAULTS));
  for (const { acceptors, losable } of all) expect(losable.length).toBeLessThan(acceptors / 2);
});

test('a schedule has only faults that are on, within its window, some of them aimed at a phase', () => {
  const aims = SEEDS.flatMap((seed) => {
    const random = new Random(seed);
    const configuration = drawConfiguration(random, 'Strong');
    const schedule = drawFaults(configuration, WINDOW, random);
    for (const { kind, fromMs } of schedule) {
      expect([...configuration.faults]).toContain(kind);
      expect(fromMs).toBeGreaterThanOrEqual(WINDOW.fromMs);
      expect(fromMs).toBeLessThanOrEqual(WINDOW.untilMs);
    }
    return schedule.flatMap(({ targets }) => targets.filter((target) => target.startsWith(AIM)));
  });
  expect(new Set(aims)).toEqual(new Set(FUZZ_PHASES.map((phase) => `${AIM}${phase}`)));
});

test('a configuration is told in full', () => {
  const lines = describeConfiguration(drawConfiguration(new Random(1), 'BoundedStaleness'));
  for (const name of ['regions', 'level', 'links', 'staleness', 'trim', 'faults', 'clock drifts'])
    expect(lines.some((line) => line.startsWith(`${name}: `))).toBe(true);
});
