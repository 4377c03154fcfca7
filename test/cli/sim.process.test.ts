import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { runCli } from './run-cli.ts';

interface Row {
  readonly policy: string;
  readonly proposers: number;
  readonly attemptsPerUpdate: number;
}

describe('baton sim duel', () => {
  test('prints a row for each policy and number of proposers, and the same for the same seed', async () => {
    const args = [
      'sim',
      'duel',
      '--hours',
      '60',
      '--proposers',
      '3,5',
      '--policy',
      'adaptive,baton',
      '--json',
    ];
    const [first, second] = [await runCli(...args), await runCli(...args)];
    expect({ code: first.code, stderr: first.stderr }).toEqual({ code: 0, stderr: '' });
    const { rows, eventsPerSecond } = JSON.parse(first.stdout) as {
      rows: Row[];
      eventsPerSecond: number;
    };
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
    expect((JSON.parse(second.stdout) as { rows: unknown }).rows).toEqual(rows);
  });

  test('writes the picture', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'baton-duel-'));
    const chart = join(directory, 'figure.svg');
    const { code } = await runCli('sim', 'duel', '--hours', '5', '--proposers', '3,5', '--chart', chart);
    expect(code).toBe(0);
    expect(readFileSync(chart, 'utf8')).toMatch(/^<svg [^>]*>[^]*<polyline[^]*<\/svg>\n$/);
    rmSync(directory, { recursive: true });
  });

  test('shows a table to people', async () => {
    const { code, stdout } = await runCli('sim', 'duel', '--hours', '10', '--proposers', '3');
    expect(code).toBe(0);
    expect(stdout).toMatch(/policy +proposers +hours +failure rate/);
    expect(stdout).toMatch(/^baton +3 +10 +0\.0000 % \(0\.0000 % \.\. [\d.]+ %\)/m);
  });

  test.each([
    [['--policy', 'lucky'], 'There is no policy "lucky"; there are initial, adaptive, baton.'],
    [['--proposers', '0'], '--proposers needs a positive whole number, not "0".'],
    [['--acceptors', '6'], '--acceptors needs an odd number, not 6.'],
    [['--latency', 'wormhole'], 'There is no latency model "wormhole"'],
    [
      ['--hours', '1', '--chart', '/nowhere/figure.svg'],
      'The chart cannot be written to /nowhere/figure.svg.',
    ],
    [['--base', '0'], '--base needs a positive number of seconds, not "0".'],
  ] as const)('%j gets one clear line', async (args, message) => {
    const { code, stdout, stderr } = await runCli('sim', 'duel', ...args);
    expect(code).toBe(1);
    expect(stdout).toBe('');
    expect(stderr).toContain(message);
    expect(stderr.trim().split('\n')).toHaveLength(1);
  });
});
