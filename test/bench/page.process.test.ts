/** That the benchmark runs and prints what it says; never how fast anything is. */
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { run } from '../cli/run-cli.ts';
import { needProgram } from '../support/programs.ts';

const BENCH = fileURLToPath(new URL('../../build/bench/page.js', import.meta.url));

test('bench:page --json has a row for writes and one for a failover', async (context) => {
  needProgram(context, 'chromium');
  const flags = ['--json', '--partition-sets', '50', '--updates', '5'];
  const { code, stdout } = await run(process.execPath, [BENCH, ...flags]);
  expect(code).toBe(0);
  const { rows, leftOut } = JSON.parse(stdout) as { rows: Record<string, unknown>[]; leftOut: object[] };
  expect(leftOut).toEqual([]);
  expect(rows.map(({ what, partitionSets }) => [what, partitionSets])).toEqual([
    ['writes', 50],
    ['failover', 50],
  ]);
  for (const { updates, p50Ms, p90Ms, maxMs, processorMs } of rows) {
    expect(updates).toBeGreaterThan(5);
    for (const ms of [p50Ms, p90Ms, maxMs, processorMs]) expect(ms).toBeGreaterThanOrEqual(0);
  }
});
