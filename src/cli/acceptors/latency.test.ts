import { expect, test } from 'vitest';
import { measure, percentile } from './latency.ts';

test('a percentile is a time that was measured', () => {
  const times = Array.from({ length: 100 }, (_, at) => 100 - at);
  expect([percentile(times, 50), percentile(times, 99), percentile(times, 100)]).toEqual([50, 99, 100]);
  expect([percentile([7], 50), percentile([7], 99), percentile([], 50)]).toEqual([7, 7, 0]);
});

test('a slow call is made a few times, a fast one as often as asked', async () => {
  let clock = 0;
  const calling = (ms: number) => async (): Promise<void> => void (clock += ms);
  const pace = { now: () => clock, samples: 50, budgetMs: 1000 };
  expect(await measure('fast', pace, calling(1))).toEqual({ what: 'fast', samples: 50, p50Ms: 1, p99Ms: 1 });
  expect(await measure('slow', pace, calling(800))).toMatchObject({ samples: 5, p50Ms: 800 });
});
