import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { runCli } from './run-cli.ts';

interface Row {
  readonly policy: string;
  readonly proposers: number;
  readonly failureRate: number;
  readonly attemptsPerUpdate: number;
  readonly baseSeconds?: number;
  readonly trace: string;
  readonly detectionMs?: { readonly p50: number; readonly p99: number };
}

interface Output {
  readonly rows: readonly Row[];
  readonly sweep?: readonly {
    readonly proposers: number;
    readonly best: { readonly baseSeconds: number; readonly failureRate: number };
    readonly plausible: { readonly failureRate: number };
  }[];
  readonly eventsPerSecond: number;
  readonly trace: string;
  readonly used: unknown;
}

async function duel(flags: string): Promise<Output> {
  const { code, stdout, stderr } = await runCli('sim', 'duel', '--json', ...flags.split(' '));
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return JSON.parse(stdout) as Output;
}

describe('baton sim duel', () => {
  test('prints a row for each policy and number of proposers', async () => {
    const { rows, eventsPerSecond } = await duel('--hours 60 --proposers 3,5 --policy adaptive,baton');
    expect(rows.map(({ policy, proposers }) => `${policy} ${proposers}`)).toEqual([
      'adaptive 3',
      'baton 3',
      'adaptive 5',
      'baton 5',
    ]);
    for (const row of rows) {
      expect(row).toMatchObject({
        hours: 60,
        failures: 0,
        failureRate: 0,
        due: 60 * 120 * row.proposers,
      });
      expect(row.attemptsPerUpdate).toBeGreaterThanOrEqual(1);
    }
    expect(eventsPerSecond).toBeGreaterThan(0);
  });

  test('the same seed gives the same traces twice, on however many threads; another seed others', async () => {
    const flags = '--hours 15 --proposers 3,5 --policy initial,baton';
    const [first, second, alone, other] = [
      await duel(flags),
      await duel(flags),
      await duel(`${flags} --workers 1`),
      await duel(`${flags} --seed 2`),
    ];
    expect(first.trace).toMatch(/^[0-9a-f]{16}$/);
    expect(second.rows).toEqual(first.rows);
    expect(second.trace).toBe(first.trace);
    expect(alone.rows).toEqual(first.rows);
    expect(other.trace).not.toBe(first.trace);
    for (const [at, row] of other.rows.entries()) expect(row.trace).not.toBe(first.rows[at]!.trace);
  });

  test('sweeps the static base, and names the best for each number of proposers', async () => {
    const { rows, sweep } = await duel('--hours 20 --proposers 3,9 --policy initial,adaptive --sweep 0.1,5');
    expect(rows.map(({ policy, proposers, baseSeconds }) => [policy, proposers, baseSeconds])).toEqual([
      ['initial', 3, 0.1],
      ['initial', 3, 1],
      ['initial', 3, 5],
      ['adaptive', 3, undefined],
      ['initial', 9, 0.1],
      ['initial', 9, 1],
      ['initial', 9, 5],
      ['adaptive', 9, undefined],
    ]);
    expect(sweep!.map(({ proposers }) => proposers)).toEqual([3, 9]);
    expect(sweep![1]!.best.baseSeconds).toBe(0.1);
    expect(sweep![1]!.best.failureRate).toBeLessThan(sweep![1]!.plausible.failureRate);
  });

  test('takes the elements out one at a time, and says how soon a dead writer is noticed', async () => {
    const { rows } = await duel('--hours 10 --proposers 9 --policy baton --ablation');
    expect(rows.map(({ policy }) => policy)).toEqual([
      'baton',
      ...['ballots', 'clock', 'giveUp', 'statistics', 'backoff', 'slots', 'observer'].map(
        (element) => `baton without ${element}`,
      ),
    ]);
    const [baton, ballots] = rows;
    expect(ballots!.attemptsPerUpdate).toBeGreaterThan(1.5);
    expect(baton!.attemptsPerUpdate).toBeLessThan(1.05);
    expect(rows.at(-1)!.detectionMs!.p50).toBeGreaterThan(baton!.detectionMs!.p50 + 5000);
    const some = await duel('--hours 1 --proposers 3 --policy baton --without slots,giveUp');
    expect(some.rows.map(({ policy }) => policy)).toEqual([
      'baton',
      'baton without slots',
      'baton without giveUp',
    ]);
  });

  test('says all that it used', async () => {
    const { used } = await duel(
      '--hours 1 --proposers 3 --policy adaptive --acceptors 5 --interval 10 --lease 20 --skew 0.5 --seed 7 --latency azure',
    );
    expect(used).toEqual({
      acceptors: 5,
      intervalSeconds: 10,
      leaseSeconds: 20,
      latency: 'azure',
      latencyInWords: expect.stringContaining('P95 / 1.179 / 2') as string,
      skewSeconds: 0.5,
      writerDies: false,
      seed: 7,
      hours: 1,
      policies: {
        adaptive: {
          ballots: 'sequential',
          clock: 'own',
          giveUp: 'first refusal',
          statistics: 'shared',
          backoff: 'unbounded',
          slots: 'keep',
          observer: 'heartbeat',
        },
      },
    });
  });

  test('a shorter lease than the latency allows is lost', async () => {
    const flags = '--hours 2 --proposers 3 --policy baton --latency fixed:2000';
    const [paper, short] = [await duel(flags), await duel(`${flags} --interval 5 --lease 7`)];
    expect(paper.rows[0]!.failureRate).toBe(0);
    expect(short.rows[0]!.failureRate).toBeGreaterThan(0.1);
  });

  test('writes the picture', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'baton-duel-'));
    const chart = join(directory, 'figure.svg');
    const { code } = await runCli('sim', 'duel', '--hours', '5', '--proposers', '3,5', '--chart', chart);
    expect(code).toBe(0);
    expect(readFileSync(chart, 'utf8')).toMatch(/^<svg [^>]*>[^]*<polyline[^]*<\/svg>\n$/);
    rmSync(directory, { recursive: true });
  });

  test('shows a table to people, with all that was used', async () => {
    const { code, stdout } = await runCli('sim', 'duel', '--hours', '10', '--proposers', '3');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^policy +base s +proposers +hours +failed h +failure rate/m);
    expect(stdout).toMatch(/^initial +1 +3 +10 +0 +0\.0000 % \(/m);
    expect(stdout).toMatch(/^baton +- +3 +10 +0 +0\.0000 % \(0\.0000 % \.\. [\d.]+ %\)/m);
    expect(stdout).toContain('7 acceptors every 30 s, lease 45 s');
    expect(stdout).toContain('seed 1; static base 1 s');
    expect(stdout).toContain('median 60 ms');
    expect(stdout).toMatch(/^ {2}adaptive: ballots sequential,.* slots keep/m);
    expect(stdout).toMatch(/^trace [0-9a-f]{16}$/m);
    expect(stdout).toMatch(/million events a second/);
  });

  test.each([
    [['--policy', 'lucky'], 'There is no policy "lucky"; there are initial, adaptive, baton.'],
    [['--proposers', '0'], '--proposers must be a positive whole number, not "0".'],
    [['--acceptors', '6'], '--acceptors needs an odd number, not 6.'],
    [['--latency', 'wormhole'], 'There is no latency model "wormhole"'],
    [
      ['--hours', '1', '--chart', '/nowhere/figure.svg'],
      'The chart cannot be written to /nowhere/figure.svg.',
    ],
    [['--base', '0'], '--base needs a positive number of seconds, not "0".'],
    [['--without', 'luck'], 'Policy baton has no element "luck"; it has ballots, clock, giveUp'],
  ] as const)('%j gets one clear line', async (args, message) => {
    const { code, stdout, stderr } = await runCli('sim', 'duel', ...args);
    expect(code).toBe(2);
    expect(stdout).toBe('');
    expect(stderr).toContain(message);
    expect(stderr.trim().split('\n')).toHaveLength(1);
  });
});
