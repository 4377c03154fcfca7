/** That the benchmark runs and prints what it says; never how long anything takes. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { rowOf } from '../../bench/peers/table.ts';
import { needProgram } from '../support/programs.ts';

const BENCH = fileURLToPath(new URL('../../build/bench/peers.js', import.meta.url));

interface Output {
  readonly rows: readonly Record<string, unknown>[];
  readonly leftOut: readonly unknown[];
}

function bench(
  args: string,
  env: NodeJS.ProcessEnv = {},
): Promise<{ code: number; stdout: string; stderr: string }> {
  return new Promise((resolve) => {
    const options = { timeout: 120_000, env: { ...process.env, ...env } };
    execFile(process.execPath, [BENCH, ...args.split(' ')], options, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : 1;
      resolve({ code, stdout, stderr });
    });
  });
}

const ROW = {
  runs: 1,
  steadyMs: expect.any(Number) as number,
  medianMs: expect.any(Number) as number,
  worstMs: expect.any(Number) as number,
  acknowledged: expect.any(Number) as number,
  lostWrites: 0,
};

test('bench:peers --json has a row for each event, and says whether writes went on without a majority', async (context) => {
  needProgram(context, 'etcd');
  const args = '--systems etcd --settings tight --events switchover,majority --runs 1 --hold 3 --json';
  const { code, stdout, stderr } = await bench(args);
  expect(code, stderr).toBe(0);
  const { rows, leftOut } = JSON.parse(stdout) as Output;
  expect(leftOut).toEqual([]);
  const stop = { afterMs: expect.any(Number) as number, backAfterMs: expect.any(Number) as number };
  expect(rows).toMatchObject([
    { system: 'etcd', settings: 'tight', event: 'switchover', ...ROW },
    { system: 'etcd', settings: 'tight', event: 'majority', ...ROW, stop },
  ]);
  for (const { acknowledged } of rows) expect(acknowledged).toBeGreaterThan(0);
  expect(rows[1]!['worstMs']).toBeGreaterThan(2000);
  expect(stderr).toMatch(/^etcd, tight: switchover 1 of 1: \d+ ms, [1-9]\d* writes, 0 lost$/m);
});

test('a system whose program cannot be had is listed at the end, and the others are measured', async () => {
  const lacking = [{ name: 'etcd', why: 'it is on another machine', how: 'go there' }];
  const args = '--systems etcd,baton --settings default,fast --events switchover --runs 1';
  const { code, stdout, stderr } = await bench(args, { BATON_PROGRAMS: JSON.stringify(lacking) });
  expect(code, stderr).toBe(0);
  const why = 'it needs etcd: it is on another machine';
  expect(stderr).toContain(`etcd is left out: ${why}\n`);
  expect(stdout.endsWith(`\nLeft out:\n  etcd: ${why}\n    to get it: go there\n`), stdout).toBe(true);
  expect(stdout).toMatch(
    /^system +settings +event +runs +steady ms +median ms +worst ms +acknowledged +lost$/m,
  );
  expect(stdout).toMatch(/^baton +fast +planned switchover +1( +\d+){3} +[1-9]\d* +0$/m);
  expect(stdout).not.toMatch(/^etcd/m);
});

test('a row adds up what its runs acknowledged and lost, and tells the worst of how writes stopped', () => {
  const run = { steadyMs: 20, gapMs: 100, acknowledged: 10, lostWrites: 0 };
  const stopped = { ...run, gapMs: 700, lostWrites: 3, stop: { afterMs: 5, backAfterMs: 90 } };
  const early = { ...run, gapMs: 500, stop: { afterMs: 2, backAfterMs: 30 } };
  expect(rowOf('system', 'tight', 'majority', [run, stopped, early])).toEqual({
    system: 'system',
    settings: 'tight',
    event: 'majority',
    runs: 3,
    steadyMs: 20,
    medianMs: 500,
    worstMs: 700,
    acknowledged: 30,
    lostWrites: 3,
    gapsMs: [100, 700, 500],
    stop: { afterMs: 2, backAfterMs: 90 },
  });
  expect(rowOf('system', 'tight', 'majority', [run, run]).stop).toBeNull();
  expect(rowOf('system', 'tight', 'kill', [run, early])).not.toHaveProperty('stop');
});
