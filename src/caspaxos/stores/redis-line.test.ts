import { expect, test } from 'vitest';
import { Lineage } from './lineage.ts';
import { continuesRedis, lineOfRedis } from './redis-line.ts';

const NOBODY = '0'.repeat(40);

function told(
  replid2: string,
  offset: string,
  versions: Record<string, string> = { redis_version: '7.0.15' },
) {
  return new Map(Object.entries({ master_replid2: replid2, second_repl_offset: offset, ...versions }));
}

test('a server that was promoted says so as long as it runs', () => {
  expect(lineOfRedis(told(NOBODY, '-1'))).toBe('a master since it started');
  expect(lineOfRedis(told('8fa1', '43'))).toBe('a copy of 8fa1 up to 43');
});

test.each([
  [{ redis_version: '7.2.4', valkey_version: '8.1.0' }, true],
  [{ redis_version: '7.2.4', valkey_version: '9.0.3' }, true],
  [{ redis_version: '7.2.4', valkey_version: '9.1.0' }, false],
  [{ redis_version: '8.4.0' }, true],
  [{ redis_version: '9.0.0' }, false],
  [{ redis_version: 'unknown' }, false],
  [{}, false],
])(
  'nothing is concluded where a restart may look the same: %j',
  (versions: Record<string, string>, isCertain) => {
    expect(lineOfRedis(told('8fa1', '43', versions)) !== undefined).toBe(isCertain);
  },
);

test('a restart continues, a promotion does not', () => {
  const copy = 'a copy of 8fa1 up to 43';
  const lines = ['a master since it started', 'a master since it started', copy];
  const lineage = new Lineage(continuesRedis);
  for (const line of lines) {
    expect(lineage.broken).toBeUndefined();
    lineage.saw(line);
  }
  expect(lineage.broken?.code).toBe('ACCEPTOR_PROMOTED');
});

test('a server that was promoted before it became an acceptor is that until it is promoted again', () => {
  const lineage = new Lineage(continuesRedis);
  const copy = 'a copy of 8fa1 up to 43';
  for (const line of [copy, copy, 'a master since it started']) lineage.saw(line);
  expect(lineage.differenceFrom(copy)).toBeUndefined();
  expect(lineage.broken).toBeUndefined();
  lineage.saw('a copy of 8fa1 up to 99');
  expect(lineage.broken).toBeDefined();
});
