import { expect, test } from 'vitest';
import { nodeJson } from './json-codec.ts';

test('what is formatted can be parsed', () => {
  const value = { a: ['é', '😀', null, 1.5, { b: true }] };
  expect(nodeJson.parse(nodeJson.format(value))).toEqual(value);
  expect(nodeJson.parse(nodeJson.utf8(' [1] '))).toEqual([1]);
});

test('a part of a larger buffer is only that part', () => {
  const bytes = new Uint8Array(Buffer.from('xx{"a":1}xx'));
  expect(nodeJson.parse(bytes.subarray(2, -2))).toEqual({ a: 1 });
});

test('bad text throws', () => {
  for (const text of ['', '{', '\ufeff{}'])
    expect(() => nodeJson.parse(Buffer.from(text))).toThrow(SyntaxError);
  expect(() => nodeJson.parse(Buffer.from('"é"', 'latin1'))).toThrow('The text is not UTF-8.');
});
