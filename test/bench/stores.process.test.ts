/** That the benchmark runs and prints what it says, and that what is billed is right; never how fast anything is. */
import { fileURLToPath } from 'node:url';
import { afterEach, expect, test, vi } from 'vitest';
import { run } from '../cli/run-cli.ts';
import { needProgram } from '../support/programs.ts';

const BENCH = fileURLToPath(new URL('../../build/bench/stores.js', import.meta.url));
const QUICK = ['--seconds', '0.1'];

interface Load {
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly requestsPerChange: number;
}

interface Row extends Load {
  readonly store: string;
  readonly changesPerSecond: number;
  readonly inFlight: Load & { readonly registers: number };
  readonly turns: Load & { readonly proposers: number };
  readonly batch: {
    readonly registers: number;
    readonly ms: number;
    readonly changesPerSecond: number;
    readonly requests: number;
  };
}

afterEach(() => {
  vi.unstubAllEnvs();
});

function bench(...args: readonly string[]): ReturnType<typeof run> {
  return run(process.execPath, [BENCH, ...args, ...QUICK]);
}

function expectSense({ changesPerSecond, batch, ...row }: Row): void {
  for (const load of [row, row.inFlight, row.turns]) {
    expect(load.p50Ms).toBeGreaterThan(0);
    expect(load.p99Ms).toBeGreaterThanOrEqual(load.p50Ms);
  }
  expect(changesPerSecond).toBeGreaterThan(0);
  expect(batch.changesPerSecond).toBeGreaterThan(0);
  expect(batch.ms).toBeGreaterThan(0);
  // Registers in flight at the same time share what one alone has for itself.
  expect(row.inFlight.requestsPerChange).toBeLessThan(row.requestsPerChange / 2);
  expect(batch).toMatchObject({ registers: 1000 });
  expect(batch.requests / batch.registers).toBeLessThan(row.inFlight.requestsPerChange);
}

test('bench:stores --json has a row for each store that can be had, and an entry for each that cannot', async () => {
  const lacking = { name: 'etcd', why: 'it is on another machine', how: 'go there' };
  vi.stubEnv('BATON_PROGRAMS', JSON.stringify([lacking]));
  const { code, stdout, stderr } = await bench('--json', '--stores', 'memory,etcd,lmdb');
  expect(code, stderr).toBe(0);
  const { rows, leftOut } = JSON.parse(stdout) as { rows: Row[]; leftOut: unknown[] };
  expect(rows.map(({ store }) => store)).toEqual(['memory', 'lmdb']);
  for (const row of rows) {
    expectSense(row);
    // One for each phase.
    expect(row.requestsPerChange).toBe(2);
  }
  const why = 'it needs etcd: it is on another machine';
  expect(leftOut).toEqual([{ name: 'etcd', why, how: 'go there' }]);
  expect(stderr).toContain(`etcd is left out: ${why}\n`);
});

test("a server's own count: two writes for a change, none of them a read, and four requests at least in turns", async (context) => {
  needProgram(context, 'redis-server');
  const { code, stdout, stderr } = await bench('--json', '--stores', 'redis');
  expect(code, stderr).toBe(0);
  const { rows } = JSON.parse(stdout) as { rows: [Row] };
  expect(rows).toHaveLength(1);
  const [row] = rows;
  expectSense(row);
  expect(row.requestsPerChange).toBe(2);
  // A write that is refused, a look at the document, phase 1, a look at the identity, phase 2.
  // More only where the two draw ballots in the same millisecond, and one of them has to try again.
  expect(row.turns.requestsPerChange).toBeGreaterThanOrEqual(4);
  expect(row.turns.requestsPerChange).toBeLessThan(10);
});

test('without --json it is a table and a legend, with progress on the other stream', async () => {
  const { code, stdout, stderr } = await bench('--stores', 'memory', '--one-round-trip');
  expect({ code, stderr }).toMatchObject({ code: 0 });
  expect(stdout).toMatch(/^store +p50 ms +p99 ms +requests +changes\/s/m);
  expect(stdout).toMatch(/^memory +\d+\.\d\d +\d+\.\d\d +1\.00 +[\d,]+ /m);
  expect(stdout).toContain('A change is one phase');
  expect(stderr).toContain('memory: batches of 1000 registers');
});
