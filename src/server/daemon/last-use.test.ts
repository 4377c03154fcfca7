import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { temporaryDirectory } from '../../../test/caspaxos/directories.ts';
import { Daemons } from '../../../test/server/daemons.ts';
import { until } from '../../../test/support/until.ts';
import { NODE_HOST } from '../../caspaxos/index.ts';
import { PROFILES } from '../../failover/index.ts';
import { LastUse, thisBoot } from './last-use.ts';

test('a directory is strange until it was settled under this boot, also to the next process', () => {
  const directory = temporaryDirectory();
  expect(new LastUse(directory).isStrange).toBe(true);
  // One that was killed before it had waited leaves it as it was.
  const use = new LastUse(directory);
  expect(use.isStrange).toBe(true);
  use.settle();
  expect([use.isStrange, new LastUse(directory).isStrange]).toEqual([false, false]);
  expect(readdirSync(directory)).toEqual(['last-use.json']);
});

test('a directory is strange to another boot and to another machine, and what cannot be read is strange', () => {
  const directory = temporaryDirectory();
  new LastUse(directory).settle();
  const other = new LastUse(directory, 'another boot');
  expect(other.isStrange).toBe(true);
  other.settle();
  expect(new LastUse(directory).isStrange).toBe(true);
  for (const text of ['', 'null', '{"boot":7}', '[']) {
    writeFileSync(join(directory, 'last-use.json'), text);
    expect(new LastUse(directory).isStrange).toBe(true);
  }
});

test('this boot has one name', () => {
  expect(thisBoot()).toBe(thisBoot());
  expect(thisBoot().length).toBeGreaterThan(8);
});

test('a node whose directory was last used elsewhere says so, and it is of this boot only after a whole lease', async () => {
  const there = await Daemons.running();
  onTestFinished(() => there.end());
  const file = join(there.directory, 'west-1', 'last-use.json');
  await until('it is noted', () => existsSync(file));
  const noted = readFileSync(file, 'utf8');
  await there.daemon('west').close();
  writeFileSync(file, '{"boot":"another"}');
  const lines: string[] = [];
  const note = (_: object, line: string): number => lines.push(line);
  const startedAt = NODE_HOST.now();
  await there.start('west', { logger: { debug: note, info: note, warn: note, error: note } });
  expect(lines).toContainEqual(expect.stringContaining('last used before this machine was started'));
  await until('it is of this boot', () => readFileSync(file, 'utf8') === noted);
  // Not before: how much later is nobody's promise.
  expect(NODE_HOST.now() - startedAt).toBeGreaterThan(PROFILES.fast.leaseMs);
  await until('it is ready', async () => (await there.get('west', '/readiness')).status === 200);
});
