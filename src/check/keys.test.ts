import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { differenceOfKeys, formatDifference, hashOfKeys } from 'baton/check';

describe('the hash of a set of keys', () => {
  test('does not depend on the order or on repetition', () => {
    const sets = fc.uniqueArray(fc.string(), { maxLength: 20 });
    fc.assert(
      fc.property(sets, (keys) => {
        expect(hashOfKeys(keys.toReversed())).toBe(hashOfKeys(new Set(keys)));
        expect(hashOfKeys([...keys, ...keys])).toBe(hashOfKeys(keys));
      }),
      { seed: 1 },
    );
  });

  test('differs for different sets', () => {
    const hashes = new Set<string>();
    for (let size = 0; size < 2000; size += 1) {
      hashes.add(hashOfKeys(Array.from({ length: size % 40 }, (_, index) => `state ${size} ${index}`)));
    }
    // Fifty of these sets are the empty one.
    expect(hashes.size).toBe(2000 - 49);
    expect(hashOfKeys(['ab', 'c'])).not.toBe(hashOfKeys(['a', 'bc']));
    expect(hashOfKeys(['0'])).not.toBe(hashOfKeys([]));
    expect(hashOfKeys(['', 'x'])).not.toBe(hashOfKeys(['x']));
  });

  test('of a hundred thousand single keys has no collision in any half', () => {
    const halves = [new Set<string>(), new Set<string>()];
    for (let index = 0; index < 100_000; index += 1) {
      const hash = hashOfKeys([`{"ballot":${index % 100},"value":${index}}`]);
      halves[0]!.add(hash.slice(0, 16));
      halves[1]!.add(hash.slice(16));
    }
    expect(halves.map(({ size }) => size)).toEqual([100_000, 100_000]);
  });

  test('stays what it is: published counts carry it', () => {
    expect(hashOfKeys(['a', 'b', 'c'])).toMatchInlineSnapshot(`"1298cd393bf2f551bf0c5c2d8976cd65"`);
  });
});

describe('the difference of two sets of keys', () => {
  test('has counts and examples of each side', () => {
    const difference = differenceOfKeys(new Set(['d', 'b', 'c', 'a']), new Set(['x', 'c']), 2);
    expect(difference).toEqual({
      onlyLeft: { count: 3, examples: ['a', 'b'] },
      onlyRight: { count: 1, examples: ['x'] },
    });
    expect(formatDifference(difference, 'the spec', 'the code')).toMatchInlineSnapshot(`
      "only in the spec: 3, such as
        a
        b
      only in the code: 1, such as
        x"
    `);
  });

  test('of equal sets is silent', () => {
    const difference = differenceOfKeys(new Set(['a']), new Set(['a']));
    expect(formatDifference(difference, 'left', 'right')).toBe('');
  });
});
