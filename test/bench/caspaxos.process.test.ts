/** That the benchmark runs and prints what it says; never how fast anything is. */
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { run } from '../cli/run-cli.ts';
import { needProgram } from '../support/programs.ts';

const BENCH = fileURLToPath(new URL('../../build/bench/caspaxos.js', import.meta.url));

interface Row {
  readonly system: string;
  readonly rounds: number;
  readonly inFlight: number;
  readonly changesPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

test('bench:caspaxos --json has a row for each system, path and load', async (context) => {
  needProgram(context, 'redis-server');
  const { code, stdout, stderr } = await run(process.execPath, [
    BENCH,
    '--json',
    '--seconds',
    '0.2',
    '--repeat',
    '1',
  ]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const { rows, contention, cost, roles } = JSON.parse(stdout) as {
    rows: Row[];
    contention: Row[];
    cost: { requestsPerChange: number; syncsPerChange: number }[];
    roles: { stepsPerSecond: number };
  };
  const expected = [1, 2].flatMap((rounds) =>
    [1, 8, 64].flatMap((inFlight) => ['gryadka', 'baton'].map((system) => `${system} ${rounds} ${inFlight}`)),
  );
  expect(rows.map(({ system, rounds, inFlight }) => `${system} ${rounds} ${inFlight}`)).toEqual(expected);
  for (const row of [...rows, ...contention.filter(({ system }) => system === 'baton')]) {
    expect(row.changesPerSecond).toBeGreaterThan(0);
    expect(row.p99Ms).toBeGreaterThanOrEqual(row.p50Ms);
  }
  expect(cost).toHaveLength(2);
  // Thousands of messages share far fewer requests and syncs: three acceptors, 64 registers in flight.
  for (const { requestsPerChange, syncsPerChange } of cost) {
    expect(requestsPerChange).toBeLessThan(3);
    expect(syncsPerChange).toBeLessThan(3);
  }
  expect(roles.stepsPerSecond).toBeGreaterThan(0);
});
