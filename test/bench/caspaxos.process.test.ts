/** That the benchmark runs and prints what it says; never how fast anything is. */
import { fileURLToPath } from 'node:url';
import { afterEach, expect, test, vi } from 'vitest';
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

afterEach(() => {
  vi.unstubAllEnvs();
});

test('bench:caspaxos --json has a row for each system, path and load', async (context) => {
  needProgram(context, 'redis-server');
  const flags = ['--json', '--seconds', '0.2', '--repeat', '1'];
  const { code, stdout, stderr } = await run(process.execPath, [BENCH, ...flags]);
  expect(code, stderr).toBe(0);
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

test('without Redis the library is measured alone, and the end says what is missing', async () => {
  const lacking = [{ name: 'redis-server', why: 'it is on another machine', how: 'go there' }];
  vi.stubEnv('BATON_PROGRAMS', JSON.stringify(lacking));
  const flags = ['--seconds', '0.1', '--repeat', '1'];
  const { code, stdout, stderr } = await run(process.execPath, [BENCH, ...flags]);
  expect(code, stderr).toBe(0);
  expect(stdout).toMatch(/^baton +1 round trip +64 in flight +[\d,]+\/s/m);
  expect(stdout).not.toMatch(/^gryadka|^Ratio/m);
  const why = 'it needs redis-server: it is on another machine';
  expect(stdout.endsWith(`\nLeft out:\n  gryadka: ${why}\n    to get it: go there\n`), stdout).toBe(true);
});
