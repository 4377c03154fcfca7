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
    for (let rule = 1; rule <= 10; rule += 1) {
      expect(MUTANTS.filter((mutant) => mutant.rule === rule).length, `rule ${rule}`).toBeGreaterThanOrEqual(
        2,
      );
    }
    expect(new Set(MUTANTS.map(({ id }) => id)).size).toBe(MUTANTS.length);
  });

  test('are all in the published table, and no others', () => {
    const table = readFileSync(join(root, 'docs/mutants.md'), 'utf8');
    const published = [...table.matchAll(/^\| \d+ \| `(?<id>[\w-]+)` \|/gm)].map(
      ({ groups }) => groups!['id']!,
    );
    const hint = 'run: npm run mutants -- --write';
    expect(new Set(published), hint).toEqual(new Set(MUTANTS.map(({ id }) => id)));
  });
});
