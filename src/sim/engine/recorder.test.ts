import { expect, test } from 'vitest';
import { type Entry, epkOf, nodeJson } from '../../engine/index.ts';
import { SetRecorder } from './recorder.ts';

function entryOf(epoch: number, lsn: number, ...values: readonly string[]): Entry {
  const changes = values.map((value, at) => ({
    epk: epkOf(['p']),
    id: `d${at}`,
    partitionKey: '["p"]',
    createdLsn: 0,
    previous: 0,
    body: nodeJson.format({ id: `d${at}`, pk: 'p', value }),
  }));
  return { epoch, lsn, at: 0, operation: `o${lsn}`, statuses: values.map(() => 201), changes };
}

const BEGINNING = { epoch: 0, lsn: 0 };

test('the final log is found from its end, and leaves out what was undone', () => {
  const recorder = new SetRecorder('s', 'Strong');
  recorder.took('a', BEGINNING, [entryOf(1, 1, 'x'), entryOf(1, 2, 'y')]);
  recorder.took('b', { epoch: 1, lsn: 1 }, [entryOf(2, 2, 'z', 'w')]);
  const rows = recorder.logUpTo({ epoch: 2, lsn: 2 });
  expect(rows.map(({ epoch, lsn, key, value }) => [epoch, lsn, key, value])).toEqual([
    [1, 1, 'p/d0', 'x'],
    [2, 2, 'p/d0', 'z'],
    [2, 2, 'p/d1', 'w'],
  ]);
  expect(recorder.wrongs).toEqual([]);
  const [lost] = recorder.undoneRows('a', [{ entry: entryOf(1, 2, 'y'), undoneAt: 0 }]);
  expect(lost).toMatchObject({ region: 'a', value: 'y', previous: { epoch: 1, lsn: 1 }, closed: false });
});

test('two entries of one name are noticed; a part of a batch is none', () => {
  const recorder = new SetRecorder('s', 'Strong');
  recorder.took('a', BEGINNING, [entryOf(1, 1, 'x', 'y')]);
  recorder.took('b', BEGINNING, [entryOf(1, 1, 'x')]);
  expect(recorder.wrongs).toEqual([]);
  recorder.took('c', BEGINNING, [entryOf(1, 1, 'other')]);
  expect(recorder.wrongs).toEqual(['c has another entry 1:1 than its writer']);
});

test('what was reported as not applied may be in no log that any copy ever had', () => {
  const recorder = new SetRecorder('s', 'Strong');
  recorder.took('a', BEGINNING, [entryOf(1, 1, 'x'), entryOf(1, 2, 'y')]);
  recorder.took('b', { epoch: 1, lsn: 1 }, [entryOf(2, 2, 'z')]);
  recorder.notApplied.push({ client: 'c', operation: 'o9', values: ['w', undefined] });
  expect(recorder.brokenDenials()).toEqual([]);
  recorder.notApplied.push(
    { client: 'c', operation: 'o1', values: [undefined] },
    { client: 'd', operation: 'nameless', values: ['y'] },
  );
  expect(recorder.brokenDenials()).toEqual([
    'c was told that o1 was not applied, and it is the entry 1:1',
    'd was told that nameless was not applied, and it is the entry 1:2',
  ]);
});
