/** That the benchmark runs and prints what it says; never how fast anything is. */
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { run } from '../cli/run-cli.ts';

const BENCH = fileURLToPath(new URL('../../build/bench/rpc.js', import.meta.url));

test('bench:rpc --json has a row for each number of calls in flight, and ends both processes', async () => {
  const flags = ['--json', '--in-flight', '1,4', '--seconds', '0.2', '--bytes', '64'];
  const { code, stdout, stderr } = await run(process.execPath, [BENCH, ...flags]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '1 in flight\n4 in flight\n' });
  const { rows, leftOut } = JSON.parse(stdout) as { rows: Record<string, number>[]; leftOut: unknown[] };
  expect(leftOut).toEqual([]);
  expect(rows.map(({ inFlight }) => inFlight)).toEqual([1, 4]);
  for (const row of rows)
    for (const name of ['callsPerSecond', 'p50Ms', 'p99Ms', 'callerUs', 'answererUs'])
      expect(row[name], name).toBeGreaterThan(0);
});
