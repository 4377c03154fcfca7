/** docs/acceptors.md says what the commands do, and what they count. */
import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { isService } from '../../caspaxos/index.ts';
import { acceptorsCommand } from './command.ts';
import { CHANGE_ALONE, CHANGE_IN_TURNS, monthlyCost } from './cost.ts';
import { KINDS } from './kinds.ts';
import { permissionsFor } from './permissions.ts';
import { placeOf } from './place.ts';
import { STORE_CHECKS } from './store-checks.ts';
import { CREATE_SLOTS, LEFTOVERS } from './workplace.ts';

const text = readFileSync(new URL('../../../docs/acceptors.md', import.meta.url), 'utf8');

test('every command, flag, kind and check is there', () => {
  for (const command of acceptorsCommand().commands) {
    expect(text).toContain(`\n$ baton acceptors ${command.name()} `);
    for (const { long } of command.options) expect(text).toContain(`\`${long!}`);
  }
  for (const scheme of Object.keys(KINDS)) expect(text).toMatch(new RegExp(`\`${scheme}:`));
  for (const { name, says } of STORE_CHECKS) expect(text).toContain(`| ${name} | ${says} |`);
});

test('of every kind there is what can make it forget, and a test that exists', () => {
  const [, table = ''] = /\n## What can make a store forget\n(.*?)\n## /s.exec(text) ?? [];
  for (const scheme of Object.keys(KINDS))
    expect(table).toContain(isService(`${scheme}:`) ? '\n| service |' : `\n| \`${scheme}:\` |`);
  const rows = table.split('\n').filter((line) => /^\| (?!store |-)/.test(line));
  for (const row of rows) {
    const files = [...row.matchAll(/`((?:src|test)\/[^`]+\.ts)`/g)].map(([, file]) => file!);
    expect(files, row).not.toEqual([]);
    for (const file of files)
      expect(existsSync(new URL(`../../../${file}`, import.meta.url)), file).toBe(true);
  }
});

test('what a check leaves is what it leaves', () => {
  expect(text).toContain(`at most ${LEFTOVERS.documents} of\nthem, ${LEFTOVERS.kilobytes} kB in all`);
  expect(text).toContain(`each check uses four of\n${CREATE_SLOTS}`);
});

test('the requests of a month are the ones that are counted', () => {
  expect(text).toContain(
    `| **regions take turns** | **${CHANGE_IN_TURNS.writes}** | **${CHANGE_IN_TURNS.reads}** |`,
  );
  expect(text).toContain(`| **one region alone** | **${CHANGE_ALONE.writes}** | **${CHANGE_ALONE.reads}** |`);
  const free = { write: 0, read: 0, writeUnits: 1, readUnits: 1 };
  const [paper, fast] = [30_000, 1000].map((intervalMs) =>
    monthlyCost({ partitionSets: 1, regions: 3, acceptors: 1, intervalMs }, free),
  );
  const row = (name: string, of: 'changes' | 'writes' | 'reads'): string =>
    `| ${name} | ${paper![of].toLocaleString('en')} | ${fast![of].toLocaleString('en')} |`;
  expect(text).toContain(row('changes', 'changes'));
  expect(text).toContain(row('conditional writes', 'writes'));
  expect(text).toContain(row('documents read', 'reads'));
});

test('the grants are those that the check prints', () => {
  const urls = ['redis://h', 'etcd://h', 'postgres://h/baton'];
  for (const url of urls) {
    const { grant } = permissionsFor(placeOf(url));
    for (const line of grant.filter((one) => !one.includes('--  only') && !one.includes('only if')))
      expect(text).toContain(line);
  }
  const policy = permissionsFor(placeOf('dynamodb://REGION/TABLE')).grant.join('\n');
  expect(text).toContain(policy.replace('region', 'REGION'));
});
