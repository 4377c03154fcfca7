import { describe, expect, test } from 'vitest';
import { AZURE_P95_MS, AZURE_REGIONS, azureOneWayMs } from './azure.ts';
import { latencyModel } from './latency.ts';
import { Random } from './random.ts';

const DRAWS = 20_000;

function draws(random: Random, draw: (random: Random) => number): number[] {
  return Array.from({ length: DRAWS }, () => draw(random));
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

describe('latency models', () => {
  const messages = (name: string): number[] => {
    const random = new Random(5);
    const model = latencyModel(name)!;
    return draws(random, (one) => model.message(model.pairs(1, 1, one)[0]!, one));
  };

  test('have the forms that they name', () => {
    expect(new Set(messages('fixed:20'))).toEqual(new Set([20]));
    const uniform = messages('uniform:10-30');
    expect(Math.min(...uniform)).toBeGreaterThanOrEqual(10);
    expect(Math.max(...uniform)).toBeLessThan(30);
    expect(mean(messages('lognormal:60,0.5'))).toBeGreaterThan(100);
  });

  test.each([
    ['fixed:20', ['20 ms']],
    ['uniform:10-30', ['10 .. 30 ms']],
    ['lognormal:70,0.4', ['median 70 ms', 'sigma 0.8', 'exp(0.4 x |standard normal|)']],
    ['azure', ['19', 'P95 / 1.179 / 2', 'exp(0.1 x standard normal)']],
  ])('%s says all that it is made of', (name, parts) => {
    for (const part of parts) expect(latencyModel(name)!.description).toContain(part);
  });

  test('azure keeps the published times: 95 % of round trips within P95', () => {
    const east = AZURE_REGIONS.indexOf('East US');
    const asia = AZURE_REGIONS.indexOf('East Asia');
    const model = latencyModel('azure')!;
    const typical = azureOneWayMs(east, asia);
    const oneWay = draws(new Random(6), (random) => model.message(typical, random));
    const within = oneWay.filter((ms) => 2 * ms <= AZURE_P95_MS[east]![asia]!).length / DRAWS;
    expect(within).toBeCloseTo(0.95, 1);
    expect(AZURE_P95_MS.every((row) => row.length === AZURE_REGIONS.length)).toBe(true);
  });

  test('azure puts acceptors into different regions', () => {
    const times = latencyModel('azure')!.pairs(1, 19, new Random(7));
    expect(times).toHaveLength(19);
    expect(times.filter((ms) => ms < 1)).toHaveLength(1);
  });

  test.each(['', 'wormhole', 'fixed', 'fixed:x', 'uniform:3', 'uniform:30-10', 'lognormal:60'])(
    '%j is none',
    (name) => {
      expect(latencyModel(name)).toBeUndefined();
    },
  );
});
