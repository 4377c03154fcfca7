/** docs/client.md says what the code says. */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { BATON_ERRORS } from 'baton/client';
import { expect, test } from 'vitest';

const GUIDE = fileURLToPath(new URL('../../docs/client.md', import.meta.url));
const OPTIONS = fileURLToPath(new URL('../../src/client/sdk/options.ts', import.meta.url));

function between(text: string, name: string): { before: string; part: string; after: string } {
  const [begin, end] = [`<!-- ${name}:begin -->`, `<!-- ${name}:end -->`];
  const at = text.indexOf(begin) + begin.length;
  const to = text.indexOf(end);
  return { before: text.slice(0, at), part: text.slice(at, to), after: text.slice(to) };
}

function errorsTable(): string {
  const rows = Object.entries(BATON_ERRORS).map(
    ([code, { message, retryable }]) => `| \`${code}\` | ${message} | ${retryable ? 'yes' : 'no'} |`,
  );
  return ['| code | meaning | retryable |', '|---|---|---|', ...rows].join('\n');
}

test('every error is in the table, with its words', () => {
  const { before, part, after } = between(readFileSync(GUIDE, 'utf8'), 'errors');
  if (process.env['UPDATE_DOCUMENTS'] === '1')
    writeFileSync(GUIDE, `${before}\n\n${errorsTable()}\n\n${after}`);
  else expect(part.trim()).toBe(errorsTable());
});

test('every option of connect is in the table, in order', () => {
  const { part } = between(readFileSync(GUIDE, 'utf8'), 'options');
  const documented = [...part.matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name);
  const [, body] = /export interface ConnectOptions \{(.*?)\n\}/s.exec(readFileSync(OPTIONS, 'utf8'))!;
  const declared = [...body!.matchAll(/^ {2}readonly (\w+)\??:/gm)].map(([, name]) => name);
  expect(declared.length).toBeGreaterThan(10);
  expect(documented).toEqual(declared);
});
