/** That the benchmark runs and prints what it says; never how fast anything is. */
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { run } from '../cli/run-cli.ts';

const BENCH = fileURLToPath(new URL('../../build/bench/gateway.js', import.meta.url));

test('bench:gateway --json has a row for each client, load and kind of operation, with figures in it', async () => {
  const quick = ['--in-flight', '2', '--seconds', '0.3', '--keys', '20', '--json'];
  const { code, stdout, stderr } = await run(process.execPath, [BENCH, ...quick]);
  expect(code, stderr).toBe(0);
  const { rows } = JSON.parse(stdout) as { rows: Record<string, unknown>[] };
  expect(rows.map(({ client, mode }) => `${String(client)} ${String(mode)}`)).toEqual([
    'direct read',
    'direct upsert',
    'http read',
    'http upsert',
    'public read',
    'public upsert',
  ]);
  for (const { client: _, mode: __, ...figures } of rows) {
    expect(figures).toEqual({
      inFlight: 2,
      perSecond: expect.any(Number),
      p50Ms: expect.any(Number),
      p99Ms: expect.any(Number),
      clientUs: expect.any(Number),
      gatewayUs: expect.any(Number),
      writerUs: expect.any(Number),
      othersUs: expect.any(Number),
    });
    expect(figures['perSecond']).toBeGreaterThan(0);
  }
});
