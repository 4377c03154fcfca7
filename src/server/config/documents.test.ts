import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { CERTIFICATE_ERRORS } from '../certs/index.ts';
import { CONFIG_ERRORS, FIELDS, formatClusterFile, parseClusterFile } from './index.ts';

const GUIDE = fileURLToPath(new URL('../../../docs/configuration.md', import.meta.url));
const [BEGIN, END] = ['<!-- fields:begin -->', '<!-- fields:end -->'];

function fieldsTable(): string {
  const rows = FIELDS.map(({ path, type, required, without, meaning, reload }) => {
    const cells = [`\`${path}\``, type, required ? '**required**' : (without ?? 'none'), reload, meaning];
    return `| ${cells.join(' | ')} |`;
  });
  return ['| field | type | without it | change | meaning |', '|---|---|---|---|---|', ...rows].join('\n');
}

test('the documentation has every field as the schema has it', () => {
  const text = readFileSync(GUIDE, 'utf8');
  const [before, rest] = text.split(BEGIN);
  const [part, after] = rest!.split(END);
  if (process.env['UPDATE_DOCUMENTS'] === '1')
    writeFileSync(GUIDE, `${before}${BEGIN}\n\n${fieldsTable()}\n\n${END}${after}`);
  else expect(part!.trim()).toBe(fieldsTable());
});

test('every field says what holds without it, or is required', () => {
  expect(FIELDS.filter(({ required, without }) => required === (without !== undefined))).toEqual([]);
  expect(FIELDS.map(({ path }) => path)).toContain('regions[].nodes[].listen');
});

test('every code is documented, with its words', () => {
  const text = readFileSync(GUIDE, 'utf8');
  for (const [code, cause] of Object.entries({ ...CONFIG_ERRORS, ...CERTIFICATE_ERRORS }))
    expect(text).toContain(`| \`${code}\` | ${cause} |`);
});

test('the examples are good files, without a warning, and round-trip', () => {
  const examples = [...readFileSync(GUIDE, 'utf8').matchAll(/```yaml\n(.*?)```/gs)].map(([, text]) => text!);
  expect(examples).toHaveLength(2);
  for (const example of examples) {
    const config = parseClusterFile(example, { path: '/etc/baton/baton.yaml' });
    expect(config.warnings).toEqual([]);
    const written = formatClusterFile(config);
    expect(formatClusterFile(parseClusterFile(written, { path: '/etc/baton/baton.yaml' }))).toBe(written);
  }
});

test('the examples name every field', () => {
  const examples = [...readFileSync(GUIDE, 'utf8').matchAll(/```yaml\n(.*?)```/gs)].join('\n');
  const names = FIELDS.map(({ path }) => path.split('.').at(-1)!);
  expect(names.filter((name) => !examples.includes(`${name}:`) && !RARE.has(name))).toEqual([]);
});

/** What few people need. */
const RARE = new Set(['logHardBytes', 'inFlightBytes']);
