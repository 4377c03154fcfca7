import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const BENCH = fileURLToPath(new URL('../../build/bench/outage.js', import.meta.url));

interface Printed {
  readonly partitionSets: number;
  readonly affected: number;
  readonly recovered: number;
  readonly acknowledged: number;
  readonly lostWrites: number;
  readonly recoverySeconds: { readonly p50: number; readonly max: number };
  readonly simulated: { readonly recoverySeconds: { readonly p50: number } };
  readonly calm: { readonly updateMs: number; readonly cores: Readonly<Record<string, number>> };
  readonly processes: readonly { readonly name: string; readonly cpuSeconds: number }[];
  readonly figures: { readonly serving: readonly (readonly number[])[]; readonly outages: readonly object[] };
}

test('an outage of a few partition-sets is measured, with what clients saw and what it cost', async () => {
  const args =
    '--partition-sets 6 --profile fast --acceptors 3 --outages 1 --minutes 0.25 --calm-minutes 0.5 --warm-seconds 3';
  const stdout = await new Promise<string>((resolve) => {
    // It fails when a figure is not reached, which is no matter of this test: others share the machine.
    execFile(process.execPath, [BENCH, ...args.split(' '), '--write-every-ms', '200', '--json'], (_, out) =>
      resolve(out),
    );
  });
  const printed = JSON.parse(stdout) as Printed;
  expect(printed).toMatchObject({ partitionSets: 6, affected: 6, recovered: 6, lostWrites: 0 });
  expect(printed.acknowledged).toBeGreaterThan(6 * 20);
  expect(printed.recoverySeconds.p50).toBeGreaterThan(1);
  expect(printed.simulated.recoverySeconds.p50).toBeGreaterThan(1);
  expect(Object.keys(printed.calm.cores)).toEqual(expect.arrayContaining(['a1', 'west-1', 'clients', 'dns']));
  expect(printed.calm.cores['west-1']).toBeGreaterThan(0);
  expect(printed.calm.cores['west-1']).toBeLessThan(2);
  const names = printed.processes.map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(['a1', 'west-1', 'east-1', 'north-1', 'clients']));
  expect(printed.figures.outages).toHaveLength(1);
  expect(printed.figures.serving.some(([west = 0, east = 0]) => west === 0 && east > 0)).toBe(true);
});
