import type { SeededRun } from 'baton/sim';
import { describe, expect, test } from 'vitest';
import { runCli, type Said } from './run-cli.ts';

const fuzz = (...args: readonly string[]): Promise<Said> => runCli('sim', 'fuzz', ...args);

interface Campaign {
  readonly seeds: number;
  readonly acknowledgedWrites: number;
  readonly failovers: number;
  readonly violations: number;
  readonly passed: boolean;
  readonly trace: string;
}

describe('a campaign of the whole system', () => {
  test('with fixed seeds passes, and every seed repeats itself', async () => {
    const { code, stdout, stderr } = await fuzz('--seeds', '4', '--twice', '--json');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const result = JSON.parse(stdout) as Campaign;
    expect(result).toMatchObject({ seeds: 4, violations: 0, passed: true });
    expect(result.acknowledgedWrites).toBeGreaterThan(4 * 40);
    expect(result.failovers).toBeGreaterThan(0);
  });

  test('with fresh seeds passes, for as long as it is given', async () => {
    const { code, stdout } = await fuzz('--seeds', '2', '--minutes', '1', '--fresh', '--json');
    const result = JSON.parse(stdout) as Campaign & { readonly first: number; readonly failures: object };
    expect({ code, first: result.first, failures: result.failures }).toMatchObject({ code: 0, failures: [] });
    expect(result.seeds).toBeGreaterThan(0);
  });

  test('shows people writes, failovers by kind, and which fault met which phase', async () => {
    const { code, stdout } = await fuzz('--seeds', '2', '--consistency', 'strong');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^Seeds 1 \.\. 2 of the simulation fuzz --consistency Strong, /);
    expect(stdout).toMatch(/^fault, by phase .*steady/m);
    expect(stdout).toMatch(/acknowledged writes; \d+ failovers?: /);
    expect(stdout).toMatch(/^0 violations; \d+ weak seeds? of 2\.$/m);
  });
});

test('a seed that is replayed tells all about itself, and is the same run', async () => {
  const { code, stdout } = await fuzz('--seed', '2', '--twice', '--json');
  const run = JSON.parse(stdout) as SeededRun & { readonly passed: boolean };
  expect({ code, passed: run.passed, seed: run.seed }).toEqual({ code: 0, passed: true, seed: 2 });
  expect(run.configuration.some((line) => line.startsWith('regions: '))).toBe(true);
  expect(run.schedule.length).toBeGreaterThan(0);
});

describe('bad flags', () => {
  test.each([
    [['--seeds', '0'], '--seeds must be a positive whole number, not "0".'],
    [['--minutes', 'soon'], '--minutes needs a positive number, not "soon".'],
    [['--consistency', 'Linear'], '--consistency needs one of Strong, BoundedStaleness, '],
    [['--fresh', '--first', '3'], '--fresh draws the first seed, so it cannot be combined with --first.'],
    [['--seed', '1', '--minutes', '5'], '--seed replays one seed, so it cannot be combined with --minutes.'],
    [['--schedule', 'a.json'], '--schedule needs --seed, the seed to replay.'],
  ] as const)('%j get one clear line', async (args, message) => {
    const { code, stdout, stderr } = await fuzz(...args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(message);
    expect(stderr.trim().split('\n')).toHaveLength(1);
  });
});
