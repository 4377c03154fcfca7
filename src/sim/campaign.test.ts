import { describe, expect, test } from 'vitest';
import {
  type CampaignOptions,
  differenceOf,
  ENOUGH_SEEDS,
  runCampaign,
  SAME_RUN,
  type SeedRunner,
} from './campaign.ts';
import { TraceHash } from './core/index.ts';
import type { SeededRun, SeededSimulation } from './seeded-run.ts';

/** A simulation of nothing: what it counts and where it fails follows from the seed, or is given. */
function toy(make: (seed: number) => Partial<SeededRun> = () => ({})): SeededSimulation {
  return {
    name: 'toy',
    mustOccur: ['loss x phase 1', 'loss x phase 2'],
    run: async (seed) => ({
      seed,
      configuration: [`dice: ${seed % 6}`],
      schedule: [],
      trace: new TraceHash(seed).digest(),
      events: seed,
      virtualMs: 10,
      counts: { 'loss x phase 1': 1, [seed % 2 === 0 ? 'even' : 'odd']: 1 },
      ...make(seed),
    }),
  };
}

/** Runs seeds in this process; the higher ones of a pair of workers come back first. */
function inThisProcess(simulation: SeededSimulation): SeedRunner {
  return {
    run: async (seed) => {
      const run = await simulation.run(seed);
      await new Promise((resolve) => {
        setTimeout(resolve, seed % 3);
      });
      return run;
    },
    close: async () => {},
  };
}

function campaign(simulation: SeededSimulation, options: Partial<CampaignOptions> = {}) {
  return runCampaign({ simulation, first: 1, count: 20, workers: 2, startRunner: inThisProcess, ...options });
}

const failing =
  (...seeds: readonly number[]) =>
  (seed: number): Partial<SeededRun> =>
    seeds.includes(seed) ? { failure: { check: 'once', message: `${seed} happened twice` } } : {};

describe('a campaign', () => {
  test('adds up what happened, and fingerprints all of it', async () => {
    const result = await campaign(toy(), { first: 11 });
    expect(result).toMatchObject({ simulation: 'toy', first: 11, asked: 20, done: 20, passed: true });
    expect(result.counts).toEqual({ even: 10, 'loss x phase 1': 20, odd: 10 });
    expect(result.events).toBe((20 * (11 + 30)) / 2);
    expect(result.virtualMs).toBe(200);
    expect(result.trace).toMatch(/^[0-9a-f]{16}$/);
    const other = await campaign(
      toy((seed) => (seed === 30 ? { trace: '1234567812345678' } : {})),
      {
        first: 11,
      },
    );
    expect(other.trace).not.toBe(result.trace);
  });

  test.each([{}, { stopAtFirst: true }, { twice: true }, { twice: true, stopAtFirst: true }])(
    'gives the same with one worker and with seven: %j',
    async (options) => {
      const simulation = toy(failing(9, 13));
      const one = await campaign(simulation, { ...options, workers: 1 });
      expect(await campaign(simulation, { ...options, workers: 7 })).toEqual(one);
    },
  );

  test('collects failures in the order of their seeds', async () => {
    const result = await campaign(toy(failing(13, 9)), { workers: 5 });
    expect(result).toMatchObject({ done: 20, passed: false });
    expect(result.failures).toEqual([
      { seed: 9, check: 'once', message: '9 happened twice' },
      { seed: 13, check: 'once', message: '13 happened twice' },
    ]);
  });

  test('stops at the lowest seed that fails, as if the others had not been asked for', async () => {
    const stopped = await campaign(toy(failing(9, 10, 11)), { workers: 5, stopAtFirst: true });
    expect(stopped.failures.map(({ seed }) => seed)).toEqual([9]);
    expect(stopped).toEqual({ ...(await campaign(toy(failing(9)), { count: 9 })), asked: 20 });
  });

  test('that is interrupted is a shorter campaign', async () => {
    for (const twice of [false, true]) {
      const interrupted = new AbortController();
      const onProgress = (done: number): void => {
        if (done >= 7) interrupted.abort();
      };
      const result = await campaign(toy(), { twice, signal: interrupted.signal, onProgress, workers: 3 });
      expect(result.done).toBeGreaterThanOrEqual(7);
      expect(result.done).toBeLessThan(12);
      expect({ ...result, asked: 0 }).toEqual({
        ...(await campaign(toy(), { count: result.done })),
        asked: 0,
      });
    }
  });

  test('tells how far it is', async () => {
    const heard: string[] = [];
    await campaign(toy(), {
      count: 3,
      workers: 1,
      onProgress: (done, inAll) => heard.push(`${done}/${inAll}`),
    });
    expect(heard).toEqual(['1/3', '2/3', '3/3']);
  });

  test('that never saw what must occur has failed, once it was large enough to see it', async () => {
    const small = await campaign(toy(), { count: ENOUGH_SEEDS - 1 });
    expect(small).toMatchObject({ hasEnoughSeeds: false, neverOccurred: ['loss x phase 2'], passed: true });
    const large = await campaign(toy(), { count: ENOUGH_SEEDS });
    expect(large).toMatchObject({ hasEnoughSeeds: true, neverOccurred: ['loss x phase 2'], passed: false });
    const lucky = toy((seed) => (seed === 3 ? { counts: { 'loss x phase 1': 1, 'loss x phase 2': 1 } } : {}));
    expect(await campaign(lucky, { count: ENOUGH_SEEDS })).toMatchObject({ neverOccurred: [], passed: true });
  });

  test('ends when a simulation breaks down', async () => {
    const broken: SeededSimulation = { ...toy(), run: () => Promise.reject(new Error('no such world')) };
    await expect(campaign(broken)).rejects.toThrow('no such world');
  });
});

describe('running each seed twice', () => {
  test('says nothing of a simulation that repeats itself', async () => {
    const runs: number[] = [];
    const simulation = toy((seed) => {
      runs.push(seed);
      return {};
    });
    const result = await campaign(simulation, { twice: true, count: 3 });
    expect(result).toEqual(await campaign(toy(), { count: 3 }));
    expect(runs.toSorted((a, b) => a - b)).toEqual([1, 1, 2, 2, 3, 3]);
  });

  test.each([
    ['the trace', (times: number) => ({ trace: `${times}`.padStart(16, '0') })],
    ['a count', (times: number) => ({ counts: { loss: times } })],
    ['the verdict', (times: number) => (times === 1 ? {} : { failure: { check: 'once', message: 'twice' } })],
  ])('notices that %s differs', async (_, make) => {
    let times = 0;
    const leaky = toy((seed) => (seed === 4 ? make((times += 1)) : {}));
    const { failures } = await campaign(leaky, { twice: true, count: 6 });
    expect(failures).toEqual([
      { seed: 4, check: SAME_RUN, message: expect.stringMatching(/^Two runs of seed 4 differ: trace/) },
    ]);
  });

  test('compares runs, not objects', async () => {
    const [one, other] = [await toy().run(5), await toy().run(5)];
    expect(differenceOf(one, other)).toBeUndefined();
    expect(differenceOf(one, { ...other, events: 4 })).toMatchObject({ check: SAME_RUN });
  });
});
