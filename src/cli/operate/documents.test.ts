import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { CHECKS } from './checks.ts';
import { EXIT, OPERATE_ERRORS } from './errors.ts';
import { operatorCommands } from './index.ts';
import { SETTINGS } from './settings.ts';

const text = readFileSync(new URL('../../../docs/operators.md', import.meta.url), 'utf8');

describe('docs/operators.md', () => {
  it('has every command, with an example', () => {
    for (const command of operatorCommands()) {
      expect(text).toMatch(new RegExp(`^## .*baton ${command.name()}`, 'm'));
      for (const one of [command, ...command.commands]) {
        const name = one === command ? command.name() : `${command.name()} ${one.name()}`;
        expect(text, name).toContain(`\n$ baton ${name}`);
      }
    }
  });

  it('has every flag', () => {
    const flags = operatorCommands()
      .flatMap((command) => [command, ...command.commands])
      .flatMap(({ options }) => options.map(({ long }) => long!));
    expect([...new Set(flags)].filter((flag) => !text.includes(flag))).toEqual([]);
  });

  it('has every exit code, error, setting and check', () => {
    for (const code of Object.values(EXIT)) expect(text).toContain(`\n| ${code} | `);
    for (const [code, { means }] of Object.entries(OPERATE_ERRORS))
      expect(text).toContain(`| \`${code}\` | ${means} |`);
    for (const [name, value] of Object.entries(SETTINGS))
      expect(text).toContain(`| \`${name}\` | ${value} |`);
    for (const check of Object.keys(CHECKS)) expect(text).toContain(`\n| ${check} | `);
  });
});
