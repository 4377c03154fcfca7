/** That the benchmark runs and prints what it says; never how long anything takes. */
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { run } from '../cli/run-cli.ts';

const BENCH = fileURLToPath(new URL('../../build/bench/failover.js', import.meta.url));

interface Row {
  readonly fault: string;
  readonly runs: number;
  readonly medianMs: number;
  readonly worstMs: number;
  readonly lostWrites: number;
}

test('bench:failover --json has a row for each fault: its gaps, and no acknowledged write lost', async () => {
  const flags = '--faults switchover --runs 1 --partition-sets 2 --json'.split(' ');
  const { code, stdout, stderr } = await run(process.execPath, [BENCH, ...flags]);
  expect(code, stderr).toBe(0);
  const { rows } = JSON.parse(stdout) as { rows: Row[] };
  expect(rows).toMatchObject([
    {
      fault: 'switchover',
      runs: 1,
      medianMs: expect.any(Number) as number,
      worstMs: expect.any(Number) as number,
      lostWrites: 0,
    },
  ]);
  const [{ medianMs, worstMs }] = rows as [Row];
  expect(medianMs).toBeGreaterThan(0);
  expect(worstMs).toBe(medianMs);
  expect(stderr).toMatch(/^switchover 1 of 1: \d+ ms, [1-9]\d* writes, 0 lost$/m);
});
