import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { MUTANTS, mutate } from './caspaxos.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

describe('the mutants', () => {
  test.each(MUTANTS)('$id still applies, and its tests are there', (mutant) => {
    const text = readFileSync(join(root, mutant.file), 'utf8');
    expect(mutate(text, mutant)).not.toBe(text);
    for (const file of mutant.tests) expect(existsSync(join(root, file)), file).toBe(true);
  });

  test('break every rule, most of them in more than one way', () => {
    for (let rule = 0; rule <= 10; rule += 1) {
      expect(MUTANTS.filter((mutant) => mutant.rule === rule).length, `rule ${rule}`).toBeGreaterThanOrEqual(
        2,
      );
    }
    expect(new Set(MUTANTS.map(({ id }) => id)).size).toBe(MUTANTS.length);
  });

  test('are caught by tests, and by seeds unless it is said why not', () => {
    for (const { id, tests, simulated } of MUTANTS) {
      expect(tests.length, id).toBeGreaterThan(0);
      if (simulated !== true) expect(simulated, id).toMatch(/^\S.* \S/);
    }
  });

  test('are all in the published table, and no others, each as it is now', () => {
    const table = readFileSync(join(root, 'docs/mutants.md'), 'utf8');
    const row = /^\| (?<rule>\d+) \| `(?<id>[\w-]+)` \| (?<what>.*?) \| .* \| (?<seeds>[^|]*) \|$/gm;
    const published = [...table.matchAll(row)].map(({ groups }) => groups!);
    const expected = MUTANTS.map(({ id, rule, what, simulated }) => ({
      id,
      rule: String(rule),
      what,
      seeds: simulated === true ? expect.stringMatching(/^[\w -]+, \d+$/) : `not there: ${simulated}`,
    }));
    expect(published, 'run: npm run mutants -- --write').toEqual(expected);
  });
});
