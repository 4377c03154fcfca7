/** docs/simulator.md says what the code does: the faults and the checks that it lists are those that there are. */
import { readFileSync } from 'node:fs';
import { FAULT_NAMES, SAME_RUN } from 'baton/sim';
import { describe, expect, test } from 'vitest';

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

/** `NAME` in the first column of the table below a heading. */
function namesBelow(heading: string): string[] {
  const [, part] = read('docs/simulator.md').split(`\n### ${heading}\n`);
  const [own] = part!.split(/\n#+ /);
  return [...own!.matchAll(/^\| `(?<name>[\w -]+)` \|/gm)].map(({ groups }) => groups!['name']!);
}

describe('docs/simulator.md', () => {
  test('lists the faults', () => {
    expect(namesBelow('Faults').toSorted()).toEqual([...FAULT_NAMES].toSorted());
  });

  test('lists the checks', () => {
    const source = read('src/sim/registers/checks.ts') + read('src/sim/registers/scene.ts');
    const [, table] = /const CHECKS[^=]*= \{\n([^]*?)\n\};/.exec(source)!;
    const named = [...table!.matchAll(/^ {2}'?([a-z-]+)'?:/gm)].map(([, name]) => name!);
    const direct = [...source.matchAll(/check: '([\w -]+)'/g)].map(([, name]) => name!);
    expect(namesBelow('Checks').toSorted()).toEqual([...new Set([...named, ...direct, SAME_RUN])].toSorted());
  });
});
