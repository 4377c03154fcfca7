/** That the benchmark's flags and its client's report are what it says; never how fast anything is. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { run } from '../cli/run-cli.ts';

const BENCH = fileURLToPath(new URL('../../build/bench/engine.js', import.meta.url));
const CLIENT = fileURLToPath(new URL('../../build/bench/engine/client-process.js', import.meta.url));
const QUICK = ['--seconds', '0.1', '--keys', '50', '--catch-up', ''];

function bench(...args: readonly string[]): ReturnType<typeof run> {
  return run(process.execPath, [BENCH, ...args]);
}

test('bench:engine --json has a row for each system and load, with nothing but figures in it', async () => {
  const { code, stdout } = await bench('--systems', 'memory', '--in-flight', '1,8', '--json', ...QUICK);
  expect(code).toBe(0);
  const { rows, skipped } = JSON.parse(stdout) as { rows: Record<string, unknown>[]; skipped: unknown[] };
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
  expect(skipped).toEqual([]);
});

test('without --json it is a table, with progress on the other stream', async () => {
  const { code, stdout, stderr } = await bench('--systems', 'memory', '--in-flight', '4', ...QUICK);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^system +in flight +writes\/s/m);
  expect(stdout).toMatch(/^memory +4 +[\d,]+ /m);
  expect(stderr).toContain('memory: 4 in flight');
});

test('a system whose programs are missing is skipped, with the packages to install', async () => {
  const path = process.env['PATH'];
  process.env['PATH'] = '/nonexistent';
  try {
    const { code, stdout, stderr } = await bench('--systems', 'etcd', '--json', ...QUICK);
    expect(code).toBe(0);
    const said = JSON.parse(stdout) as { rows: unknown[]; skipped: { system: string; why: string }[] };
    expect(said.rows).toEqual([]);
    expect(said.skipped[0]?.why).toContain('apt-get install etcd-server');
    expect(stderr).toContain('etcd is skipped');
  } finally {
    process.env['PATH'] = path;
  }
});

test('flags that mean nothing are refused in one sentence', async () => {
  expect(await bench('--systems', 'oracle')).toMatchObject({ code: 2, stdout: '' });
  const { code, stderr } = await bench('--systems', 'memory', '--in-flight', '0');
  expect({ code, stderr }).toEqual({
    code: 2,
    stderr: '--in-flight takes positive numbers, not "0".\n',
  });
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
