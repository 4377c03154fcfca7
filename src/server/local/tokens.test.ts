/** The tokens of a local cluster: made once, for their owner alone, and never in place of those that people have already. */
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { formatClusterFile, parseClusterFile } from '../config/index.ts';
import { TOKEN_NAMES } from '../config/schema.ts';
import { groundFrom } from './ground.ts';
import { planCluster } from './plan.ts';
import { shapeFor } from './shape.ts';
import { makeTokens, readToken, withTokens } from './tokens.ts';

let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'baton-tokens-'));
});

afterEach(() => rmSync(directory, { recursive: true }));

const fileOf = (name: string): string => join(directory, `${name}.token`);

function planned() {
  const shape = shapeFor({});
  return planCluster({ directory, shape, ground: groundFrom(4100, shape), secure: false });
}

test('are made once, one for each door, all different, and named in the file', async () => {
  const config = withTokens(planned(), directory);
  await makeTokens(directory, config);
  const made = TOKEN_NAMES.map((name) => readToken(config, name));
  expect(new Set(made).size).toBe(5);
  for (const token of made) expect(token.length).toBeGreaterThanOrEqual(32);
  for (const name of TOKEN_NAMES) expect(statSync(fileOf(name)).mode & 0o777).toBe(0o600);
  await makeTokens(directory, config);
  const again = parseClusterFile(formatClusterFile(config), { path: config.path });
  expect(TOKEN_NAMES.map((name) => readToken(again, name))).toEqual(made);
  for (const token of made) expect(formatClusterFile(config)).not.toContain(token);
});

test('that people put elsewhere stay where they are', async () => {
  const theirs = join(directory, 'theirs');
  writeFileSync(theirs, 'their-own-token\n');
  const plain = planned();
  const tokens = { operator: { at: { line: 1, column: 1 }, kind: 'file', file: theirs } } as const;
  const config = withTokens({ ...plain, tokens }, directory);
  await makeTokens(directory, config);
  expect(readToken(config, 'operator')).toBe('their-own-token');
  expect(existsSync(fileOf('operator'))).toBe(false);
  expect(readFileSync(fileOf('viewer'), 'utf8').trim()).toBe(readToken(config, 'viewer'));
});
