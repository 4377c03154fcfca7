import { describe, expect, test } from 'vitest';
import {
  formatPartitionKey,
  parsePartitionKey,
  parsePath,
  partitionKeyOf,
  partitionKeyProblem,
  samePartitionKey,
} from './partition-key.ts';
import { LIMITS, type ContainerSettings, type PartitionKey } from './request.ts';

const at = (...partitionKeyPaths: string[]): ContainerSettings => ({ partitionKeyPaths });

describe('the key of a document', () => {
  test('is found by its paths', () => {
    const document = { a: { b: 'x' }, 'c/d': 2, e: null };
    expect(partitionKeyOf(document, at('/a/b'))).toEqual(['x']);
    expect(partitionKeyOf(document, at('/"c/d"', '/e', '/a/b'))).toEqual([2, null, 'x']);
  });

  test('is undefined where the document has no such property', () => {
    expect(partitionKeyOf({ a: 'x' }, at('/a/b', '/c'))).toEqual([undefined, undefined]);
    expect(partitionKeyOf({}, at('/constructor', '/__proto__'))).toEqual([undefined, undefined]);
  });

  test('cannot be an object or an array', () => {
    expect(partitionKeyOf({ a: {} }, at('/a'))).toBeUndefined();
    expect(partitionKeyOf({ a: [1] }, at('/a'))).toBeUndefined();
  });

  test('is zero when it is minus zero', () => {
    expect(Object.is(partitionKeyOf({ a: -0 }, at('/a'))![0], 0)).toBe(true);
    expect(Object.is(parsePartitionKey('[-0]')![0], 0)).toBe(true);
  });
});

describe('the form in the API', () => {
  const cases: [PartitionKey, string][] = [
    [['a'], '["a"]'],
    [[undefined], '[{}]'],
    [['a', 1.5, true], '["a",1.5,true]'],
    [[null, undefined, 'é"'], '[null,{},"é\\""]'],
  ];
  test.each(cases)('%j is %s', (key, text) => {
    expect(formatPartitionKey(key)).toBe(text);
    expect(parsePartitionKey(text)).toEqual(key);
    expect(samePartitionKey(key, parsePartitionKey(text)!)).toBe(true);
  });

  test.each(['', 'a', '"a"', '{}', '[{"a":1}]', '[[]]', '["a"'])('%j is not a key', (text) => {
    expect(parsePartitionKey(text)).toBeUndefined();
  });

  test('keys differ in any part and in length', () => {
    expect(samePartitionKey(['a', 1], ['a', '1'])).toBe(false);
    expect(samePartitionKey(['a'], ['a', undefined])).toBe(false);
    expect(samePartitionKey([undefined], [null])).toBe(false);
  });
});

test('paths', () => {
  expect(parsePath('/a/b')).toEqual(['a', 'b']);
  expect(parsePath(`/"a/b"/'c"'/d`)).toEqual(['a/b', 'c"', 'd']);
  for (const path of ['', 'a', '/', '/a/', '//a', '/"a', '/"a"b'])
    expect(parsePath(path), path).toBeUndefined();
});

test('what is wrong with the key of a request', () => {
  const problem = (key: PartitionKey) => partitionKeyProblem(key, at('/a'), LIMITS);
  expect(problem(['a'.repeat(2048)])).toBeUndefined();
  expect(problem(['a'.repeat(2049)])).toContain('2049 bytes');
  expect(problem(['é'.repeat(1025)])).toContain('2050 bytes');
  expect(problem(['a', 'b'])).toContain('has 2 values');
  expect(problem([])).toContain('has 0 values');
  expect(problem(['\ud800'])).toContain('Unicode');
  expect(problem(parsePartitionKey('[1e999]')!)).toContain('too large');
});
