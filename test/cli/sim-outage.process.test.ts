import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { runCli } from './run-cli.ts';

interface Percentiles {
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly max: number;
}

interface Output {
  readonly partitionSets: number;
  readonly recovered: number;
  readonly recoverySeconds: Percentiles;
  readonly detectSeconds: Percentiles;
  readonly failbackSeconds: Percentiles;
  readonly breakdownSeconds: Readonly<Record<string, Percentiles>>;
  readonly doubleWriters: number;
  readonly acceptorRequestsPerHour: number;
  readonly flaps?: readonly { readonly failovers: number }[];
  readonly provedSeconds?: readonly number[];
  readonly elapsedSeconds: number;
  readonly cpuSeconds: number;
  readonly partitionSetsPerSecond: number;
  readonly rssBytes: number;
  readonly figures: {
    readonly serving: readonly (readonly number[])[];
    readonly recovery: readonly (readonly [tenths: number, count: number])[];
  };
  readonly used: unknown;
}

async function outage(...flags: readonly string[]): Promise<Output> {
  const { code, stdout, stderr } = await runCli('sim', 'outage', '--json', ...flags);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return JSON.parse(stdout) as Output;
}

const SMALL = ['--partition-sets', '12', '--outages', '1', '--minutes', '5'];

describe('baton sim outage', () => {
  test('reaches its goals on a small fleet, with hints and without', async () => {
    const [on, off] = [await outage(...SMALL), await outage(...SMALL, '--hints', 'off')];
    for (const output of [on, off]) {
      expect(output).toMatchObject({ partitionSets: 12, affected: 12, recovered: 12 });
      expect(output).toMatchObject({ doubleWriters: 0, lostWrites: 0 });
      expect(output.failbackSeconds.max).toBeLessThan(300);
      expect(output.acceptorRequestsPerHour).toBeGreaterThan(1000);
      expect(Object.keys(output.recoverySeconds)).toEqual(['p50', 'p90', 'p99', 'max']);
      const { serving, recovery } = output.figures;
      expect(recovery.reduce((sum, [, count]) => sum + count, 0)).toBe(12);
      expect(recovery.at(-1)![0]).toBe(Math.floor(output.recoverySeconds.max * 10 - 0.5));
      expect(serving.at(-1)).toEqual([12, 0, 0]);
    }
    expect(on.recoverySeconds.max).toBeLessThan(60);
    expect(on.recoverySeconds.p50).toBeLessThan(40);
    expect(off.recoverySeconds.max).toBeLessThan(120);
    expect(Object.keys(on.breakdownSeconds)).toEqual([
      'leaseRemaining',
      'waking',
      'fencing',
      'reporting',
      'election',
      'takingOver',
    ]);
  });

  test('gives the same result on however many threads, and another one for another seed', async () => {
    const timeless = (output: Output): Output => ({
      ...output,
      elapsedSeconds: 0,
      cpuSeconds: 0,
      partitionSetsPerSecond: 0,
      rssBytes: 0,
    });
    const one = timeless(await outage(...SMALL, '--workers', '1'));
    expect(timeless(await outage(...SMALL, '--workers', '2'))).toEqual(one);
    const other = timeless(await outage(...SMALL, '--seed', '2'));
    expect({ ...other, used: one.used }).not.toEqual(one);
  });

  test('says all that it used', async () => {
    const flags = '--outages 1 --minutes 1 --profile fast --kind slow --consistency Session --hints off';
    const places = ['--regions', 'East US,West US', '--acceptors', 'East US,West US,Central US'];
    const rest = '--partition-sets 1 --min-durability 2 --seed 9';
    const { used } = await outage(...flags.split(' '), ...places, ...rest.split(' '));
    expect(used).toEqual({
      partitionSets: 1,
      regions: ['East US', 'West US'],
      acceptors: ['East US', 'West US', 'Central US'],
      kind: 'slow',
      kindInWords: expect.stringContaining('20 times as long') as string,
      profile: 'fast',
      intervalSeconds: 1,
      leaseSeconds: 3,
      settleSeconds: 0.3,
      simulatedMinutes: 21,
      outages: 1,
      minutes: 1,
      hints: false,
      consistency: 'Session',
      minDurability: 2,
      seed: 9,
    });
  });

  test('a flapping region fails over less and less', async () => {
    const flags = ['--partition-sets', '4', '--outages', '1', '--kind', 'flapping'];
    const { flaps, provedSeconds } = await outage(...flags);
    const failovers = flaps!.map((flap) => flap.failovers);
    expect(failovers[0]).toBe(4);
    expect(failovers.toSorted((a, b) => b - a)).toEqual(failovers);
    expect(failovers.at(-1)).toBe(0);
    expect(provedSeconds).toHaveLength(5);
    for (const [at, seconds] of provedSeconds!.entries())
      if (at > 0) expect(seconds / provedSeconds![at - 1]!).toBeGreaterThan(1.5);
  });

  test('writes the four charts', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'baton-outage-'));
    await outage(...SMALL, '--charts', join(directory, 'charts'));
    const files = readdirSync(join(directory, 'charts'));
    expect(files.toSorted()).toEqual(['failback.svg', 'figure-6.svg', 'figure-7.svg', 'figure-8.svg']);
    for (const file of files) {
      const svg = readFileSync(join(directory, 'charts', file), 'utf8');
      expect(svg).toMatch(/^<svg [^>]*>[^]*<\/svg>\n$/);
      expect(svg).not.toContain('NaN');
    }
    rmSync(directory, { recursive: true });
  });

  test('shows tables to people, with time and memory', async () => {
    const { code, stdout } = await runCli('sim', 'outage', ...SMALL);
    expect(code).toBe(0);
    expect(stdout).toContain('1 x 5 min of region: the preferred region loses power.');
    expect(stdout).toContain('Write region East Asia, then Southeast Asia, South Central US');
    expect(stdout).toContain('interval 30 s, lease 45 s');
    expect(stdout).toMatch(/^writes stopped to writes again +12 +[\d.]+ +[\d.]+ +[\d.]+ +[\d.]+$/m);
    expect(stdout).toMatch(/^lease remaining +[\d.]+ % /m);
    expect(stdout).toContain('Two writers at once: 0, 0 acknowledged writes lost');
    expect(stdout).toMatch(/^[\d,]+ acceptor requests for each partition-set and hour\.$/m);
    expect(stdout).toMatch(
      /^[\d.]+ s, [\d.]+ s of processor time, [\d.]+ partition-sets a second, \d+ MB at the most\.$/m,
    );
  });

  test.each([
    [['--regions', 'East Asia,Atlantis'], 'the Azure matrix has no region "Atlantis"'],
    [['--regions', 'East Asia'], '--regions needs at least two'],
    [['--kind', 'flood'], 'There is no kind of outage "flood"; there are region, node'],
    [['--partition-sets', '0'], '--partition-sets must be a positive whole number, not "0".'],
    [['--profile', 'slow'], 'There is no profile "slow"; there are paper, fast.'],
    [['--hints', 'maybe'], '--hints is on or off, not "maybe".'],
    [['--charts', '/dev/null/charts'], 'The charts cannot be written to /dev/null/charts.'],
  ] as const)('%j gets one clear line', async (args, message) => {
    const { code, stdout, stderr } = await runCli('sim', 'outage', ...args);
    expect(code).toBe(2);
    expect(stdout).toBe('');
    expect(stderr).toContain(message);
    expect(stderr.trim().split('\n')).toHaveLength(1);
  });
});
