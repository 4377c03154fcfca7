import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { CampaignResult, SeededRun } from 'baton/sim';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { until } from '../support/until.ts';
import { CLI, runCli, type Said } from './run-cli.ts';

interface Campaign extends CampaignResult {
  readonly workers: number;
  readonly twice: boolean;
  readonly seedsPerSecond: number;
  readonly eventsPerSecond: number;
}

type Replay = SeededRun & { readonly passed: boolean };

const registers = (...args: readonly string[]): Promise<Said> => runCli('sim', 'registers', ...args);

const campaign = async (...args: readonly string[]): Promise<Campaign> =>
  JSON.parse((await registers('--json', ...args)).stdout) as Campaign;

const replay = async (...args: readonly string[]): Promise<Replay> =>
  JSON.parse((await registers('--json', ...args)).stdout) as Replay;

describe('a campaign from the command line', () => {
  test('of ten seeds passes, and every seed repeats itself', async () => {
    const { code, stdout, stderr } = await registers('--seeds', '10', '--twice', '--json');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const result = JSON.parse(stdout) as Campaign;
    expect(result).toMatchObject({ simulation: 'registers', first: 1, asked: 10, done: 10, twice: true });
    expect(result).toMatchObject({ failures: [], passed: true });
    expect(result.trace).toMatch(/^[0-9a-f]{16}$/);
    expect(result.counts['change: committed']).toBeGreaterThan(10 * 10);
    expect(result.eventsPerSecond).toBeGreaterThan(0);
  });

  test('does not depend on the number of workers, and is the sum of its parts', async () => {
    const [one, two, tail] = [
      await campaign('--seeds', '4', '--workers', '1'),
      await campaign('--seeds', '4', '--workers', '3'),
      await campaign('--seeds', '2', '--first', '3'),
    ];
    const sumsOf = ({ trace, events, counts, virtualMs }: Campaign): object => ({
      trace,
      events,
      counts,
      virtualMs,
    });
    expect(sumsOf(two)).toEqual(sumsOf(one));
    const third = await replay('--seed', '3');
    const fourth = await replay('--seed', '4');
    expect(tail.events).toBe(third.events + fourth.events);
  });

  test('shows people what it used, what happened, and which fault met which phase', async () => {
    const { code, stdout } = await registers('--seeds', '4', '--workers', '2');
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^Seeds 1 \.\. 4 of the simulation registers, each once, on 2 workers; baton .*, Node v/,
    );
    expect(stdout).toMatch(/^what happened +times$/m);
    expect(stdout).toMatch(/^change: committed +\d+$/m);
    expect(stdout).toMatch(/^fault, by phase .*phase 1 +phase 2/m);
    expect(stdout).toMatch(/^Trace of all: [0-9a-f]{16}$/m);
    expect(stdout).toMatch(/seeds and .* events a second/);
    expect(stdout).toMatch(/\nPassed: 4 seeds\.\n$/);
  });

  test('that is interrupted tells what it has done so far', async () => {
    // As on a terminal, where it shows how far it is.
    const terminal = ['--import', 'data:text/javascript,process.stderr.isTTY = true'];
    const args = [...terminal, CLI, 'sim', 'registers', '--seeds', '1000000', '--json'];
    const child = spawn(process.execPath, args);
    onTestFinished(() => void child.kill('SIGKILL'));
    const exited = once(child, 'exit');
    const stdout = text(child.stdout);
    let shown = '';
    child.stderr.on('data', (bytes: Buffer) => {
      shown += String(bytes);
    });
    await until('some seeds are done', () => / [1-9][\d,]*\/1,000,000 seeds/.test(shown));
    child.kill('SIGINT');
    const [code] = (await exited) as [number];
    const result = JSON.parse(await stdout) as Campaign;
    expect(code).toBe(130);
    expect(result.asked).toBe(1_000_000);
    expect(result.done).toBeGreaterThan(0);
    expect(result.done).toBeLessThan(1_000_000);
    expect(result.failures).toEqual([]);
  });
});

describe('a seed that is replayed', () => {
  test('is the run that it was in the campaign', async () => {
    const { trace, events } = await campaign('--seeds', '1', '--first', '7');
    expect(await replay('--seed', '7', '--twice')).toMatchObject({ seed: 7, events, passed: true });
    expect((await replay('--seed', '7')).trace).toBe(trace);
  });

  test('tells its configuration, its schedule and its trace', async () => {
    const { code, stdout } = await registers('--seed', '7');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^Seed 7 of the simulation registers\.\n\nWhat it used:\n {2}kind: /);
    expect(stdout).toMatch(/^Its schedule:\n\[/m);
    expect(stdout).toMatch(/^Trace [0-9a-f]{16}: [\d,]+ events in [\d.]+ s of virtual time\.\nPassed\.$/m);
  });
});

describe('a schedule', () => {
  let folder = '';
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'baton-schedule-'));
  });
  afterAll(() => {
    rmSync(folder, { recursive: true });
  });

  const fileWith = (content: string): string => {
    const path = join(folder, 'schedule.json');
    writeFileSync(path, content);
    return path;
  };

  test('as it was printed gives the same run; another, another', async () => {
    const own = await replay('--seed', '7');
    const again = await replay('--seed', '7', '--schedule', fileWith(JSON.stringify(own.schedule)));
    expect(again).toEqual(own);
    const calm = await replay('--seed', '7', '--schedule', fileWith('[]'));
    expect(calm).toMatchObject({ schedule: [], passed: true });
    expect(calm.trace).not.toBe(own.trace);
  });

  const fault = { kind: 'loss', fromMs: 0, untilMs: 1, targets: [], strength: 1 };
  test.each([
    ['no JSON', '[', 'is not JSON.'],
    ['no list', '{}', 'is not a list of faults.'],
    [
      'a fault of no kind',
      JSON.stringify([{ ...fault, kind: 1 }]),
      'number 1, whose kind is 1; there are loss, ',
    ],
    [
      'a fault that ends before it begins',
      JSON.stringify([fault, { ...fault, fromMs: 2 }]),
      'number 2, whose fromMs and untilMs are not two times in order.',
    ],
    ['a target of no name', JSON.stringify([{ ...fault, targets: [1] }]), 'not a list of names.'],
    ['no strength', JSON.stringify([{ ...fault, strength: 'much' }]), 'whose strength is not a number.'],
    [
      'somebody who is not there',
      JSON.stringify([{ ...fault, targets: ['nobody'] }]),
      'The schedule does not fit seed 7: there is no process nobody.',
    ],
    [
      'a fault that nobody knows',
      JSON.stringify([{ ...fault, kind: 'meteorite' }]),
      'number 1, whose kind is "meteorite"; there are loss, ',
    ],
  ])('with %s gets one clear line', async (_, content, message) => {
    const { code, stdout, stderr } = await registers('--seed', '7', '--schedule', fileWith(content));
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(message);
    expect(stderr.trim().split('\n')).toHaveLength(1);
  });
});

describe('bad flags', () => {
  test.each([
    [['--seeds', '0'], '--seeds must be a positive whole number, not "0".'],
    [['--first', 'one'], '--first must be a positive whole number, not "one".'],
    [['--workers', '-1'], '--workers must be a positive whole number, not "-1".'],
    [['--seed', '1.5'], '--seed must be a positive whole number, not "1.5".'],
    [['--seed', '4294967296'], 'There is no seed above 4294967295.'],
    [['--first', '4294967295', '--seeds', '2'], 'There is no seed above 4294967295.'],
    [['--seed', '1', '--seeds', '5'], '--seed replays one seed, so it cannot be combined with --seeds.'],
    [
      ['--seed', '1', '--stop-at-first'],
      '--seed replays one seed, so it cannot be combined with --stop-at-first.',
    ],
    [['--schedule', 'a.json'], '--schedule needs --seed, the seed to replay.'],
    [['--seed', '1', '--schedule', '/nowhere/a.json'], 'cannot be read: /nowhere/a.json'],
  ] as const)('%j get one clear line', async (args, message) => {
    const { code, stdout, stderr } = await registers(...args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(message);
    expect(stderr.trim().split('\n')).toHaveLength(1);
  });
});
