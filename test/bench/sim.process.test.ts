/** That the benchmark runs and prints what it says; never how fast anything is. */
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { run } from '../cli/run-cli.ts';

const BENCH = fileURLToPath(new URL('../../build/bench/sim.js', import.meta.url));

test('bench:sim --json counts all hours of Figure 9', async () => {
  const { code, stdout, stderr } = await run(process.execPath, [BENCH, '--json', '--hours', '20']);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const figures = JSON.parse(stdout) as { simulatedHours: number; eventsPerSecond: number };
  expect(figures.simulatedHours).toBe(160);
  expect(figures.eventsPerSecond).toBeGreaterThan(0);
});
