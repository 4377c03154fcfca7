import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { simulationNamed } from '../../src/sim/simulations.ts';
import { describe, expect, test } from 'vitest';
import { AREAS, mutate } from './areas.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const documents = readFileSync(join(root, 'docs/mutants.md'), 'utf8');

test('no two mutants, in whatever area, have the same name', () => {
  const ids = AREAS.flatMap(({ mutants }) => mutants.map(({ id }) => id));
  expect(ids.filter((id, at) => ids.indexOf(id) !== at)).toEqual([]);
});

describe.each(AREAS)('the mutants of $name', ({ name, mutants, mustBreak, ways, simulation }) => {
  test.each(mutants)('$id still applies, and its tests are there', (mutant) => {
    const text = readFileSync(join(root, mutant.file), 'utf8');
    expect(mutate(text, mutant)).not.toBe(text);
    for (const file of mutant.tests) expect(existsSync(join(root, file)), file).toBe(true);
  });

  test('break every rule that they should, most of them in more than one way', () => {
    for (const rule of mustBreak) {
      const breaking = mutants.filter((mutant) => mutant.rule === rule);
      expect(breaking.length, `rule ${rule}`).toBeGreaterThanOrEqual(ways);
    }
  });

  test('are caught by tests, and by seeds of a simulation that there is, unless it is said why not', () => {
    for (const { id, tests, simulated, level } of mutants) {
      expect(tests.length, id).toBeGreaterThan(0);
      if (simulated !== true) expect(simulated, id).toMatch(/^\S.* \S/);
      expect(simulationNamed(simulation(level)), id).toBeDefined();
    }
  });

  test('are all in the published table, and no others, each as it is now', () => {
    const [, rest] = documents.split(`<!-- ${name}:begin -->`);
    const [table] = rest?.split(`<!-- ${name}:end -->`) ?? [''];
    const row = /^\| (?<rule>\d+) +\| `(?<id>[\w-]+)` +\| (?<what>.*?) +\| .* \| (?<seeds>[^|]*?) +\|$/gm;
    const published = [...table!.matchAll(row)].map(({ groups }) => groups!);
    const expected = mutants.map(({ id, rule, what, simulated, level }) => ({
      id,
      rule: String(rule),
      what,
      seeds: simulated === true ? seedsAt(level) : `not there: ${simulated}`,
    }));
    expect(published, `run: npm run mutants -- --area ${name} --write`).toEqual(expected);
  });
});

function seedsAt(level: string | undefined): unknown {
  const at = level === undefined ? '' : ` at ${level}`;
  return expect.stringMatching(new RegExp(`^[\\w. -]+, \\d+${at}$`));
}
