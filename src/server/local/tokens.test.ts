/** Tokens of people: made once, for their owner alone, and never in place of those that people have already. */
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { formatClusterFile, parseClusterFile } from '../config/index.ts';
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

test('are made once, two that differ, and named in the file', async () => {
  const config = withTokens(planned(), directory);
  await makeTokens(directory, config);
  const [operator, viewer] = [readToken(config, 'operator')!, readToken(config, 'viewer')!];
  expect(operator.length).toBeGreaterThanOrEqual(32);
  expect(viewer).not.toBe(operator);
  for (const name of ['operator', 'viewer']) expect(statSync(fileOf(name)).mode & 0o777).toBe(0o600);
  await makeTokens(directory, config);
  const again = parseClusterFile(formatClusterFile(config), { path: config.path });
  expect([readToken(again, 'operator'), readToken(again, 'viewer')]).toEqual([operator, viewer]);
  expect(formatClusterFile(config)).not.toContain(operator);
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

test('are none in a cluster that has none', async () => {
  await makeTokens(directory, planned());
  expect(readToken(planned(), 'operator')).toBeUndefined();
  expect(existsSync(fileOf('operator'))).toBe(false);
});
