import { readdirSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { CELLS } from '../../../../test/failover/cells.ts';
import {
  parts,
  plain,
  readPart,
  rewriteIfAsked,
  SPEC,
  GUIDE,
  textOf,
} from '../../../../test/failover/documents.ts';
import { brokenBy, INVARIANTS } from '../../../../test/failover/invariants.ts';
import {
  effectsOf,
  EVENTS,
  type EventName,
  prepared,
  type Situation,
  situation,
  SITUATIONS,
} from '../../../../test/failover/situations.ts';
import { drawing, mermaid } from './diagram.ts';
import { type MachineRule, RULES } from './rules.ts';
import { PHASES } from './state.ts';
import { transition } from './transition.ts';

const events = Object.keys(EVENTS) as EventName[];

describe('states x events: every cell is as SPEC.md says', () => {
  const cells = SITUATIONS.flatMap((name) => events.map((event): [Situation, EventName] => [name, event]));

  test.each(cells)('%s, %s', (name, event) => {
    const found = situation(name);
    const before = prepared(found, event);
    const report = EVENTS[event](found);
    const verdict = transition(before, report);
    expect(effectsOf(before, report, verdict)).toEqual(CELLS[name][event]);
    if (verdict.verdict === 'accepted')
      expect(brokenBy({ before, report, after: verdict.state })).toEqual([]);
  });

  test('there is a situation in every phase', () => {
    expect(new Set(SITUATIONS.map((name) => situation(name).phase))).toEqual(new Set(PHASES));
  });
});

const diagram = { file: GUIDE, name: 'diagram', text: `\`\`\`mermaid\n${mermaid()}\n\`\`\`` };
const drawn = { file: GUIDE, name: 'drawing', text: `\`\`\`\n${drawing()}\n\`\`\`` };

describe('the documents', () => {
  test.each([...parts(), diagram, drawn])('$name in $file is what the code says', (part) => {
    rewriteIfAsked(part);
    expect(readPart(part.file, part.name)).toBe(plain(part.text));
  });

  test('the diagram follows the rules', () => {
    const jump: MachineRule = { ...RULES[0]!, name: 'jump', from: ['Graceful'], to: 'Ungraceful' };
    expect(mermaid([...RULES, jump])).toContain('signal, jump, forced failover');
    expect(drawing([...RULES, jump])).toMatch(/│── jump ─+▶│/);
    expect(mermaid(RULES.filter(({ name }) => name !== 'begin'))).not.toContain('begin');
  });

  test('every rule of DESIGN section 5 has its row, and those that the table of rules keeps are the editor’s', () => {
    const rows = [...textOf(SPEC).matchAll(/^\|\s*(\d+)\s*\|[^|]+\|([^|]+)\|/gm)];
    const owners = new Map(rows.map(([, number, owner]) => [Number(number), owner!]));
    expect([...owners.keys()]).toEqual(Array.from({ length: 22 }, (_, index) => index + 1));
    const kept = new Set(RULES.flatMap(({ keeps }) => keeps));
    expect([...kept].filter((number) => !owners.get(number)!.includes('editor'))).toEqual([]);
  });

  test('every test that an invariant or a rule names is there', () => {
    const folders = ['machine', 'agent'].map((part) => `src/failover/core/${part}`);
    const files = folders.flatMap((path) => readdirSync(path).map((name) => `${path}/${name}`));
    const sources = files
      .filter((path) => path.endsWith('.test.ts'))
      .map(textOf)
      .join('\n');
    const named = [
      ...INVARIANTS.flatMap(({ shownBy }) => shownBy),
      ...[...textOf(SPEC).matchAll(/"(rule \d+[^"]*)"/g)].map(([, title]) => title!),
    ];
    expect(named.filter((title) => !sources.includes(`'${title}'`))).toEqual([]);
  });

  test('every rule that the editor keeps is named by a test', () => {
    const folder = new URL('.', import.meta.url);
    const tests = readdirSync(folder).filter((name) => name.endsWith('.test.ts'));
    const sources = tests.map((name) => textOf(`src/failover/core/machine/${name}`)).join('\n');
    const kept = [...new Set(RULES.flatMap(({ keeps }) => keeps))].sort((a, b) => a - b);
    expect(kept.filter((number) => !new RegExp(`'(rule \\d+: )*rule ${number}\\b`).test(sources))).toEqual(
      [],
    );
  });
});
