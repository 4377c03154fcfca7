import { setImmediate } from 'node:timers/promises';
import { afterEach, expect, test, vi } from 'vitest';
import type { SeededRun, SeededSimulation } from '../../sim/index.ts';
import { type FuzzCampaign, runFuzz } from './fuzz-campaign.ts';

/** Every seed acknowledges ten writes and fails over twice; those in `failing` break a promise, those in `weak` show little. */
function played(failing: readonly number[], weak: readonly number[] = []): SeededSimulation {
  return {
    name: 'played',
    mustOccur: ['crash x steady'],
    run: async (seed, schedule): Promise<SeededRun> => ({
      seed,
      configuration: ['regions: 3'],
      schedule: schedule ?? [{ kind: 'crash', fromMs: 1, untilMs: 2, targets: ['region-0'], strength: 0 }],
      trace: '0123456789abcdef',
      events: 10,
      virtualMs: 1000,
      counts: {
        'acknowledged writes': 10,
        'crash x steady': 1,
        'failover: silence': 1,
        'failover: planned, operator': 1,
        'failover: taken': 5,
        'plan write: ok': 7,
        'plan: hedged': 3,
        'plan: retried elsewhere': 4,
        ...(weak.includes(seed) && { 'weak seed': 1 }),
      },
      ...(failing.includes(seed) && { failure: { check: 'strong.kept', message: 'A write is gone.' } }),
    }),
  };
}

/** Lets timers run between seeds, as a worker does. */
const inThisProcess = (simulation: SeededSimulation) => ({
  run: async (seed: number) => {
    await setImmediate();
    return simulation.run(seed);
  },
  close: async () => {},
});

async function printed(campaign: Partial<FuzzCampaign>): Promise<{ text: string; code: number }> {
  let text = '';
  vi.spyOn(process.stdout, 'write').mockImplementation((part) => {
    text += String(part);
    return true;
  });
  const common = { first: 1, count: 5, minutes: undefined, workers: 2, twice: false, stopAtFirst: false };
  await runFuzz({ simulation: played([]), json: false, startRunner: inThisProcess, ...common, ...campaign });
  vi.restoreAllMocks();
  return { text, code: Number(process.exitCode ?? 0) };
}

afterEach(() => {
  process.exitCode = undefined;
});

test('counts acknowledged writes, failovers by kind, and which fault met which phase', async () => {
  const { text, code } = await printed({});
  expect(code).toBe(0);
  expect(text).toMatch(/^fault, by phase +steady$/m);
  expect(text).toMatch(/^crash +5$/m);
  expect(text).toMatch(/^50 acknowledged writes; 10 failovers: 5 planned, operator, 5 silence\.$/m);
  expect(text).toMatch(/^Plans of the SDK: 15 hedged, 20 retried elsewhere\.$/m);
  expect(text).toMatch(/^0 violations; 0 weak seeds of 5\.$/m);
});

test('says the same as JSON', async () => {
  const { text } = await printed({ json: true });
  expect(JSON.parse(text)).toMatchObject({
    seeds: 5,
    acknowledgedWrites: 50,
    failovers: 10,
    failoversByKind: { silence: 5, 'planned, operator': 5 },
    plans: { hedged: 15, 'retried elsewhere': 20 },
    violations: 0,
    weakSeeds: 0,
    passed: true,
  });
});

test('a seed that fails is told with its configuration, its shrunk schedule, and how to see it again', async () => {
  const { text, code } = await printed({ simulation: played([4]) });
  expect(code).toBe(1);
  expect(text).toMatch(
    /^Seed 4 FAILED: strong\.kept\n {2}A write is gone\.\n\nWhat it used:\n {2}regions: 3$/m,
  );
  expect(text).toMatch(/^Its schedule, shrunk from 1 fault to 0, still failing strong\.kept:\n\[\]$/m);
  expect(text).toContain("echo '[]' | baton sim played --seed 4 --schedule -");
  expect(text).toMatch(/^1 violation; /m);
});

test('too many weak seeds fail a campaign, a few do not', async () => {
  const weak = Array.from({ length: 40 }, (_, at) => at + 1);
  const few = await printed({ simulation: played([], weak.slice(0, 10)), count: 40 });
  expect(few.code).toBe(0);
  const many = await printed({ simulation: played([], weak.slice(0, 20)), count: 40, json: true });
  expect(many.code).toBe(1);
  expect(JSON.parse(many.text)).toMatchObject({ weakSeeds: 20, passed: false });
});

test('ends when its time is over, and has passed then', async () => {
  const { text, code } = await printed({ count: 4_000_000_000, minutes: 0.001, json: true });
  expect(code).toBe(0);
  const { seeds, passed } = JSON.parse(text) as { seeds: number; passed: boolean };
  expect(passed).toBe(true);
  expect(seeds).toBeLessThan(4_000_000_000);
});
