import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import {
  checkRun,
  type ClientRead,
  type ClientWrite,
  CONSISTENCY_RULES,
  type ConsistencyRule,
  type LogRow,
  type RunRecord,
} from 'baton/check';

test('the specification states every rule, once, and no other', () => {
  const text = readFileSync(new URL('./SPEC.md', import.meta.url), 'utf8');
  const stated = [...text.matchAll(/^\| `([a-z.-]+)` *\|/gm)].map(([, rule]) => rule!);
  expect(stated.toSorted()).toEqual(Object.keys(CONSISTENCY_RULES).toSorted());
});

const CALL = {
  client: 'c',
  session: 's',
  region: 'east',
  key: 'x',
  level: 'Session',
  outcome: 'ok',
} as const;

function write(lsn: number, epoch: number, start: number, fields: Partial<ClientWrite> = {}): ClientWrite {
  const name = `${epoch}:${lsn}`;
  const position = { epoch, lsn };
  return {
    ...CALL,
    id: `w${name}`,
    kind: 'write',
    operation: name,
    value: name,
    position,
    start,
    end: start + 1,
    ...fields,
  };
}

function read(
  of: { epoch: number; lsn: number },
  start: number,
  fields: Partial<ClientRead> = {},
): ClientRead {
  const value = of.lsn === 0 ? undefined : `${of.epoch}:${of.lsn}`;
  return { ...CALL, id: `r${start}`, kind: 'read', version: of, value, start, end: start + 1, ...fields };
}

const row = (epoch: number, lsn: number, key = 'x'): LogRow => ({
  epoch,
  lsn,
  key,
  value: `${epoch}:${lsn}`,
  operation: `${epoch}:${lsn}`,
});

function rulesOf(record: Partial<RunRecord>, bound?: { versions: number; ms: number }): ConsistencyRule[] {
  return checkRun({ operations: [], log: [], undone: [], ...record }, { bound }).map(({ rule }) => rule);
}

const LOST = {
  log: [row(1, 1), row(2, 2)],
  undone: [{ ...row(1, 2), region: 'east' }],
};
const WRITES = [write(1, 1, 0), write(2, 1, 10), write(2, 2, 30)];

test('a session that lost its write goes on in the new epoch', () => {
  const after = read({ epoch: 2, lsn: 2 }, 40, {
    snapshot: { epoch: 2, lsn: 2 },
    tokenSent: { epoch: 1, lsn: 2 },
  });
  expect(rulesOf({ ...LOST, operations: [...WRITES, after] })).toEqual([]);
});

test('a lost write excuses no snapshot from before it', () => {
  const before = read({ epoch: 1, lsn: 1 }, 20, { snapshot: { epoch: 1, lsn: 1 } });
  expect(rulesOf({ ...LOST, operations: [...WRITES, before] })).toEqual(['session.read-your-writes']);
});

test('a new epoch that has not written is a place after what it lost', () => {
  const after = read({ epoch: 1, lsn: 1 }, 20, {
    snapshot: { epoch: 2, lsn: 1 },
    tokenSent: { epoch: 1, lsn: 2 },
  });
  expect(rulesOf({ ...LOST, operations: [...WRITES, after] })).toEqual([]);
});

test('a token binds the client it was handed to', () => {
  const other = { session: 'other', client: 'other', tokenSent: { epoch: 1, lsn: 2 } };
  const log = [row(1, 1), row(1, 2)];
  const operations = [write(1, 1, 0), write(2, 1, 10)];
  expect(rulesOf({ log, operations: [...operations, read({ epoch: 1, lsn: 1 }, 20, other)] })).toEqual([
    'session.token',
  ]);
  expect(rulesOf({ log, operations: [...operations, read({ epoch: 1, lsn: 2 }, 20, other)] })).toEqual([]);
});

test.each([
  ['within both bounds', 3, 100, []],
  ['too many entries', 2, 100, ['bounded.versions']],
  ['too long ago', 3, 20, ['bounded.time']],
])('a bounded read that misses three entries, the first of 21 ms ago: %s', (_, versions, ms, expected) => {
  const level = 'BoundedStaleness';
  const log = [row(1, 1), row(1, 2), row(1, 3), row(1, 4)];
  const operations = log.map(({ lsn }) => write(lsn, 1, lsn * 10, { level }));
  const late = read(log[0]!, 42, { level, region: 'west', version: { epoch: 1, lsn: 1 } });
  expect(rulesOf({ log, operations: [...operations, late] }, { versions, ms })).toEqual(expected);
});

test('one loss for each failover, however branches fork', () => {
  const level = 'BoundedStaleness';
  const undone = [row(1, 2), row(1, 3), row(1, 4), row(2, 3)].map((one) => ({ ...one, region: 'east' }));
  const previous = { epoch: 1, lsn: 2 };
  const listed = undone.map((one) => (one.epoch === 2 ? { ...one, previous } : one));
  const log = [row(1, 1), row(3, 2)];
  const operations = [...log, ...undone].map(({ epoch, lsn }) =>
    write(lsn, epoch, epoch * 100 + lsn, { level, session: `${epoch}:${lsn}` }),
  );
  expect(rulesOf({ log, undone: listed, operations }, { versions: 2, ms: 500 })).toEqual([]);
  expect(rulesOf({ log, undone: listed, operations }, { versions: 1, ms: 500 })).toEqual([
    'loss.versions',
    'loss.versions',
  ]);
});

test('a write repeated after its first entry was lost may be told another one, below Strong', () => {
  const first = write(2, 1, 10, { operation: 'again', value: 'again' });
  const second = { ...first, id: 'second', start: 20, end: 21, position: { epoch: 2, lsn: 2 } };
  const lost = { epoch: 1, lsn: 2, key: 'x', value: 'again', operation: 'again' };
  const log = [row(1, 1), { ...lost, epoch: 2 }];
  const undone = [{ ...lost, region: 'east' }];
  const operations = [write(1, 1, 0), first, second];
  expect(rulesOf({ log, undone, operations })).toEqual([]);
  const strong = operations.map((one) => ({ ...one, level: 'Strong' as const }));
  expect(rulesOf({ log, undone, operations: strong })).toEqual(['log.answer', 'strong.kept']);
});

test('findings name the calls that show them', () => {
  const log = [row(1, 1), row(1, 2)];
  const operations = [write(1, 1, 0), write(2, 1, 10), read({ epoch: 1, lsn: 1 }, 20)].map((one) => ({
    ...one,
    level: 'Strong' as const,
  }));
  expect(checkRun({ log, undone: [], operations })).toEqual([
    {
      level: 'Strong',
      rule: 'strong.order',
      sentence:
        'read r20 of "x" in east (from 20 to 21) started after write w1:2 of "x" in east (from 10 to 11) had ended, and yet comes before it.',
      operations: ['w1:2', 'r20'],
    },
  ]);
});

test('a snapshot that the final log does not have under that epoch is no place', () => {
  const log = [row(1, 1), row(2, 2, 'y')];
  const operations = [write(1, 1, 0), write(2, 2, 10, { key: 'y', session: 'other' })];
  const at = (epoch: number) => read({ epoch: 1, lsn: 1 }, 20, { snapshot: { epoch, lsn: 2 } });
  expect(rulesOf({ log, operations: [...operations, at(1)] })).toEqual(['prefix.snapshot']);
  expect(rulesOf({ log, operations: [...operations, at(2)] })).toEqual([]);
});

test('a deletion is not the same as never having been written', () => {
  const log = [row(1, 1), { ...row(1, 2), value: undefined }];
  const operations = [write(1, 1, 0), write(2, 1, 10, { kind: 'delete', value: undefined })];
  const nothing = (version?: { epoch: number; lsn: number }) =>
    read({ epoch: 0, lsn: 0 }, 20, { version, snapshot: { epoch: 1, lsn: 2 } });
  expect(rulesOf({ log, operations: [...operations, nothing()] })).toEqual([]);
  const deleted = { ...nothing({ epoch: 1, lsn: 2 }), value: undefined };
  expect(rulesOf({ log, operations: [...operations, deleted] })).toEqual([]);
  expect(rulesOf({ log, operations: [...operations, nothing({ epoch: 0, lsn: 0 })] })).toEqual([
    'prefix.snapshot',
  ]);
});

test('a write that was repeated had ended with its first acknowledgement', () => {
  const level = 'Strong';
  const log = [row(1, 1), row(1, 2)];
  const second = write(2, 1, 10, { level });
  const repeated = { ...second, id: 'repeated', start: 30, end: 31 };
  const stale = read({ epoch: 1, lsn: 1 }, 20, { level });
  const operations = [write(1, 1, 0, { level }), second, repeated, stale];
  expect(rulesOf({ log, operations })).toEqual(['strong.order']);
});
