/** That the benchmark runs and prints what it says; never how fast anything is. */
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { run } from '../cli/run-cli.ts';

const BENCH = fileURLToPath(new URL('../../build/bench/agents.js', import.meta.url));

interface Row {
  readonly partitionSets: number;
  readonly acceptors: number;
  readonly cpuShare: number;
  readonly bytesPerPartitionSet: number;
  readonly acceptorRequestsPerHour: number;
  readonly updatesPerSecond: number;
  readonly leasesLost: number;
}

test('bench:agents --json has a row for each number of partition-sets and acceptors', async () => {
  const flags = '--json --partition-sets 100,300 --acceptors 1,3 --settle 1 --seconds 2'.split(' ');
  const { code, stdout, stderr } = await run(process.execPath, ['--expose-gc', BENCH, ...flags]);
  expect(code, stderr).toBe(0);
  const { rows } = JSON.parse(stdout) as { rows: Row[] };
  expect(rows.map(({ partitionSets, acceptors }) => [partitionSets, acceptors])).toEqual([
    [100, 1],
    [300, 1],
    [100, 3],
    [300, 3],
  ]);
  for (const row of rows) {
    expect(row.cpuShare).toBeGreaterThan(0);
    expect(row.bytesPerPartitionSet).toBeGreaterThan(0);
    // In two seconds some of a hundred first heartbeats, spread over thirty, are due.
    expect(row.updatesPerSecond).toBeGreaterThan(0);
    expect(row.acceptorRequestsPerHour).toBeGreaterThan(0);
    expect(row.leasesLost).toBe(0);
  }
});
