import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { epkOf, epkRanges, rangeContains } from './epk.ts';
import { utf8Length, writeUtf8 } from './utf8.ts';

interface Vector {
  readonly value: string | number | boolean | null;
  readonly epk: string;
}
const vectors = JSON.parse(
  readFileSync(new URL('./testdata/epk-v2.json', import.meta.url), 'utf8'),
) as Vector[];

describe('the effective partition key', () => {
  test('is the one that clients compute', () => {
    expect(vectors).toHaveLength(999);
    for (const { value, epk } of vectors) expect(epkOf([value]), JSON.stringify(value)).toBe(epk);
  });

  test('does not depend on what was hashed before', () => {
    const long = vectors.find(({ value }) => typeof value === 'string' && value.length > 1000)!;
    const short = vectors.find(({ value }) => value === 'a')!;
    expect([epkOf(['x'.repeat(10_000)]), epkOf([short.value]), epkOf([long.value])].slice(1)).toEqual([
      short.epk,
      long.epk,
    ]);
  });

  test('of a property that is missing differs from that of null', () => {
    expect(epkOf([undefined])).toMatch(/^[0-3][0-9A-F]{31}$/);
    expect(epkOf([undefined])).not.toBe(epkOf([null]));
  });

  test('of a hierarchical key is that of its parts, one after the other', () => {
    const [first, second, third] = [vectors[1]!, vectors[2]!, vectors[7]!];
    expect(epkOf([first.value, second.value, third.value])).toBe(first.epk + second.epk + third.epk);
  });
});

describe('ranges of effective partition keys', () => {
  test('cover everything once', () => {
    for (const parts of [1, 2, 3, 7, 100]) {
      const ranges = epkRanges(parts);
      expect(ranges).toHaveLength(parts);
      expect([ranges[0]!.min, ranges.at(-1)!.max]).toEqual(['', 'FF']);
      for (const { epk } of vectors) {
        expect(ranges.filter((range) => rangeContains(range, epk))).toHaveLength(1);
        expect(ranges.filter((range) => rangeContains(range, epk + epk))).toHaveLength(1);
      }
    }
  });

  test('begin with their lower bound and end before their upper one', () => {
    const [low, high] = epkRanges(2);
    expect([rangeContains(low!, high!.min), rangeContains(high!, high!.min)]).toEqual([false, true]);
  });

  test('hold equal shares', () => {
    const keys = Array.from({ length: 4000 }, (_, index) => epkOf([`key-${index}`]));
    for (const range of epkRanges(4)) {
      const share = keys.filter((epk) => rangeContains(range, epk)).length;
      expect(share).toBeGreaterThan(900);
      expect(share).toBeLessThan(1100);
    }
    expect(epkRanges(2)[0]!.max).toBe('2'.padEnd(32, '0'));
  });
});

test('UTF-8 is what the host writes', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'binary' }),
      fc.constantFrom('', '\ud800', '\udc00x', 'é\ud83d'),
      (a, b) => {
        const text = a + b;
        const expected = new TextEncoder().encode(text);
        const bytes = new Uint8Array(expected.length + 8);
        const end = writeUtf8(text, bytes, 3);
        expect(end).toBe(expected.length + 3);
        expect(utf8Length(text)).toBe(expected.length);
        expect(bytes.subarray(3, end)).toEqual(expected);
      },
    ),
    { seed: 1, numRuns: 200 },
  );
});
