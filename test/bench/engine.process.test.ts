/** That the benchmark's flags and its client's report are what it says; never how fast anything is. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, test, vi } from 'vitest';
import { run } from '../cli/run-cli.ts';
import { needProgram } from '../support/programs.ts';

const BENCH = fileURLToPath(new URL('../../build/bench/engine.js', import.meta.url));
const CLIENT = fileURLToPath(new URL('../../build/bench/engine/client-process.js', import.meta.url));
const QUICK = ['--seconds', '0.1', '--keys', '50', '--no-catch-up'];

interface Row {
  readonly system: string;
  readonly inFlight: number;
  readonly writesPerSecond: number;
}

afterEach(() => {
  vi.unstubAllEnvs();
});

function bench(...args: readonly string[]): ReturnType<typeof run> {
  return run(process.execPath, [BENCH, ...args]);
}

test('bench:engine --json has a row for each system and load, with nothing but figures in it', async () => {
  const { code, stdout } = await bench('--systems', 'memory', '--in-flight', '1,8', '--json', ...QUICK);
  expect(code).toBe(0);
  const { rows, leftOut } = JSON.parse(stdout) as { rows: Record<string, unknown>[]; leftOut: unknown[] };
  expect(rows.map(({ system, inFlight }) => `${String(system)} ${String(inFlight)}`)).toEqual([
    'memory 1',
    'memory 8',
  ]);
  for (const { system: _, ...figures } of rows) {
    expect(figures).toEqual({
      inFlight: expect.any(Number),
      writesPerSecond: expect.any(Number),
      p50Ms: expect.any(Number),
      p99Ms: expect.any(Number),
      readsPerSecond: expect.any(Number),
      readP50Ms: expect.any(Number),
      readP99Ms: expect.any(Number),
      clientCpu: expect.any(Number),
    });
    expect(figures['writesPerSecond']).toBeGreaterThan(0);
    expect(figures['readsPerSecond']).toBeGreaterThan(0);
  }
  expect(leftOut).toEqual([]);
});

test('without --json it is a table, and at the end what could not be had and how to get it', async () => {
  const lacking = [{ name: 'etcd', why: 'it is on another machine', how: 'go there' }];
  vi.stubEnv('BATON_PROGRAMS', JSON.stringify(lacking));
  const { code, stdout, stderr } = await bench('--systems', 'memory,etcd', '--in-flight', '4', ...QUICK);
  expect(code, stderr).toBe(0);
  expect(stdout).toMatch(/^system +in flight +writes\/s/m);
  expect(stdout).toMatch(/^memory +4 +[\d,]+ /m);
  expect(stderr).toContain('memory: 4 in flight');
  const why = 'it needs etcd: it is on another machine';
  expect(stdout.endsWith(`\nLeft out:\n  etcd: ${why}\n    to get it: go there\n`), stdout).toBe(true);
  expect(stderr).toContain(`etcd is left out: ${why}\n`);
});

test('etcd is measured where the tests have it, on the PATH or not', async (context) => {
  needProgram(context, 'etcd');
  const flags = ['--systems', 'etcd', '--in-flight', '8', '--json', ...QUICK];
  const { code, stdout, stderr } = await bench(...flags);
  expect(code, stderr).toBe(0);
  const { rows, leftOut } = JSON.parse(stdout) as { rows: Row[]; leftOut: unknown[] };
  expect(leftOut).toEqual([]);
  expect(rows).toMatchObject([{ system: 'etcd', inFlight: 8 }]);
  expect(rows[0]!.writesPerSecond).toBeGreaterThan(0);
});

test('documents have the size that was asked for, also where a message needs many frames', async (context) => {
  needProgram(context, 'etcd');
  const flags = ['--systems', 'memory,etcd', '--bytes', '200000', '--in-flight', '8', '--json', ...QUICK];
  const { code, stdout, stderr } = await bench(...flags);
  expect(code, stderr).toBe(0);
  const { rows } = JSON.parse(stdout) as { rows: Row[] };
  // A read of another size ends the client with an error.
  expect(rows.map(({ system }) => system)).toEqual(['memory', 'etcd']);
  expect((await bench('--systems', 'memory', '--bytes', '100', ...QUICK)).stderr).toContain('[FLAG_INVALID]');
});

test('the client ends with its parent', async () => {
  const args = ['--system', 'memory', '--mode', 'write', '--seconds', '60'];
  const client: ChildProcess = spawn(process.execPath, [CLIENT, ...args], {
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  client.disconnect();
  const [code] = (await once(client, 'exit')) as [number | null];
  expect(code).toBe(1);
});
