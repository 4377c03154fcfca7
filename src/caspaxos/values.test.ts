import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { checkKey, encodeValue, MAX_KEY_BYTES, sameJson } from './values.ts';

class Point {
  readonly x = 1;
}

const cycle: { inner?: unknown } = {};
cycle.inner = [cycle];

const throwing = {
  get x(): never {
    throw new Error('getter');
  },
};

const nested = (depth: number): unknown => {
  let value: unknown = 1;
  for (let at = 0; at < depth; at += 1) value = [value];
  return value;
};

describe('a value', () => {
  test('of plain JSON comes back exactly as it was', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(JSON.parse(encodeValue(value))).toEqual(JSON.parse(JSON.stringify(value)));
      }),
      { seed: 2, numRuns: 200 },
    );
  });

  test.each([
    ['a BigInt', 1n],
    ['a function', () => 1],
    ['a symbol', Symbol('s')],
    ['undefined', undefined],
    ['NaN', Number.NaN],
    ['Infinity', Infinity],
    ['a Date', new Date(0)],
    ['a Map', new Map()],
    ['an instance of a class', new Point()],
    ['a Promise', Promise.resolve(1)],
    ['a typed array', new Uint8Array(1)],
    ['a boxed number', new Number(1)],
    ['a regular expression', /x/],
    ['something with a toJSON', { toJSON: () => 1 }],
    ['something that contains itself', cycle],
    ['undefined in a list', [undefined]],
    ['a hole in a list', Array(2)],
    ['a Date deep inside', { a: [{ b: new Date(0) }] }],
    ['NaN deep inside', { a: [{ b: Number.NaN }] }],
  ])('that is %s is refused', (_, value) => {
    expect(() => encodeValue(value)).toThrow(expect.objectContaining({ code: 'VALUE_NOT_SERIALISABLE' }));
  });

  test('that is refused says where', () => {
    expect(() => encodeValue({ list: [1, { when: new Date(0) }] })).toThrow('its list.1.when is a Date');
  });

  test('may hold the same object twice, an object without a prototype, and members that are undefined', () => {
    const shared = { x: 1 };
    expect(encodeValue([shared, shared])).toBe('[{"x":1},{"x":1}]');
    expect(encodeValue(Object.assign(Object.create(null), { x: 1 }))).toBe('{"x":1}');
    expect(encodeValue({ x: undefined, y: 1 })).toBe('{"y":1}');
  });

  test('over the limit is refused, at the limit it is not', () => {
    expect(encodeValue('x'.repeat(98), 100)).toHaveLength(100);
    expect(() => encodeValue('x'.repeat(99), 100)).toThrow(
      expect.objectContaining({ code: 'VALUE_TOO_LARGE' }),
    );
    // Bytes, not characters.
    expect(() => encodeValue('鍵'.repeat(40), 100)).toThrow(
      expect.objectContaining({ code: 'VALUE_TOO_LARGE' }),
    );
  });

  test.each([
    ['a getter that throws', throwing],
    ['nesting without end', nested(200_000)],
  ])('with %s throws something', (_, value) => {
    expect(() => encodeValue(value)).toThrow();
  });
});

describe('a key', () => {
  test.each([
    'k',
    ' ',
    'a/b',
    '鍵',
    '🔑',
    'k'.repeat(MAX_KEY_BYTES),
    'null\u0000byte',
    '__proto__',
    '.baton',
  ])('%j can be used', (key) => {
    expect(checkKey(key)).toBeUndefined();
  });

  test.each([
    ['', 'KEY_INVALID'],
    [undefined, 'KEY_INVALID'],
    [null, 'KEY_INVALID'],
    [7, 'KEY_INVALID'],
    ['\uD800', 'KEY_INVALID'],
    ['k'.repeat(MAX_KEY_BYTES + 1), 'KEY_TOO_LONG'],
    ['鍵'.repeat(171), 'KEY_TOO_LONG'],
    ['.baton.configuration', 'KEY_RESERVED'],
    ['.baton.', 'KEY_RESERVED'],
  ])('%j is refused with %s', (key, code) => {
    expect(checkKey(key)?.code).toBe(code);
  });
});

describe('the comparison of JSON values', () => {
  test('does not care for the order of members, but for that of lists', () => {
    expect(sameJson({ a: 1, b: [1, 2] }, { b: [1, 2], a: 1 })).toBe(true);
    expect(sameJson([1, 2], [2, 1])).toBe(false);
  });

  test.each([
    [null, undefined],
    [0, ''],
    [{}, []],
    [{ a: 1 }, { a: 1, b: 2 }],
    ['1', 1],
    [{ a: null }, {}],
  ])('tells %j from %j', (a, b) => {
    expect(sameJson(a, b)).toBe(false);
    expect(sameJson(b, a)).toBe(false);
  });

  test('takes a missing member and one that is undefined for the same, as JSON does', () => {
    expect(sameJson({ a: undefined, b: 1 }, { b: 1 })).toBe(true);
  });

  test('agrees with the text of the value', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (a, b) => {
        expect(sameJson(a, JSON.parse(JSON.stringify(a)))).toBe(
          Object.is(a, -0) || JSON.stringify(a) !== undefined,
        );
        if (JSON.stringify(a) === JSON.stringify(b)) expect(sameJson(a, b)).toBe(true);
      }),
      { seed: 8, numRuns: 200 },
    );
  });
});
