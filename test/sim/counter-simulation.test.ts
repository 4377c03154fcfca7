import { readFileSync } from 'node:fs';
import { runCampaign, shrink, type SeededSimulation } from 'baton/sim';
import { describe, expect, test } from 'vitest';
import { counterSimulation } from './counter-simulation.ts';

const inThisProcess = (simulation: SeededSimulation) => ({
  run: (seed: number) => simulation.run(seed),
  close: async () => {},
});

describe('the simulation in the documentation', () => {
  test('is the one that is tested here', () => {
    const read = (path: string): string => readFileSync(new URL(path, import.meta.url), 'utf8');
    const [, ...code] = read('counter-simulation.ts').split('\n');
    expect(read('../../docs/simulator.md')).toContain(`\n\`\`\`ts\n${code.join('\n')}\`\`\`\n`);
  });

  test('finds its defect, repeats itself, and blames the crash', async () => {
    const result = await runCampaign({
      simulation: counterSimulation,
      first: 1,
      count: 20,
      twice: true,
      workers: 2,
      startRunner: inThisProcess,
    });
    expect(result).toMatchObject({ done: 20, neverOccurred: [], passed: false });
    expect(new Set(result.failures.map(({ check }) => check))).toEqual(new Set(['counts up']));
    const { seed } = result.failures[0]!;
    const shrunk = await shrink(counterSimulation, await counterSimulation.run(seed));
    expect(shrunk.schedule).toMatchObject([{ kind: 'crash', targets: ['server'] }]);
    expect((await counterSimulation.run(seed, [])).failure).toBeUndefined();
  });
});
