import { describe, expect, test } from 'vitest';
import { combinedDigest, NO_TRACE, TraceHash } from './trace.ts';

function digestOf(...values: readonly (number | string)[]): string {
  const hash = new TraceHash();
  for (const value of values) {
    if (typeof value === 'number') hash.mix(value);
    else hash.mixText(value);
  }
  return hash.digest();
}

describe('the hash of a trace', () => {
  test('is the same for the same trace, 16 hexadecimal digits', () => {
    expect(digestOf(1, 2.5, 'nak')).toBe(digestOf(1, 2.5, 'nak'));
    expect(digestOf(1, 2.5, 'nak')).toMatch(/^[0-9a-f]{16}$/);
    expect(digestOf(0)).toBe(digestOf(-0));
  });

  test('does not change from one release to the next', () => {
    expect(digestOf(1, 2.5, 'nak')).toBe('f75f8482cafbccb1');
  });

  test.each<[string, readonly (number | string)[]]>([
    ['one event more', [1, 2.5, 'nak', 0]],
    ['one event less', [1, 2.5]],
    ['another order', [2.5, 1, 'nak']],
    ['a moment later by the least that a number can show', [1, 2.5 + 2 ** -51, 'nak']],
    ['the next number', [2, 2.5, 'nak']],
    ['a number that differs only above 32 bits', [1 + 2 ** 33, 2.5, 'nak']],
    ['the opposite number', [-1, 2.5, 'nak']],
    ['another text', [1, 2.5, 'naj']],
  ])('is another one with %s', (_, changed) => {
    expect(digestOf(...changed)).not.toBe(digestOf(1, 2.5, 'nak'));
  });

  test('knows where a text ends', () => {
    expect(digestOf('ab', 'c')).not.toBe(digestOf('a', 'bc'));
    expect(digestOf('')).not.toBe(digestOf());
  });

  test('another seed gives another hash of the same trace', () => {
    const hash = new TraceHash(1);
    hash.mix(1);
    expect(hash.digest()).not.toBe(digestOf(1));
  });

  test('has no collisions among a hundred thousand neighbours, and each lane hardly any', () => {
    const digests = Array.from({ length: 100_000 }, (_, value) => digestOf(value, 7));
    expect(new Set(digests).size).toBe(100_000);
    // Two of 100,000 meet in 32 bits about once by chance.
    for (const at of [0, 8]) {
      expect(new Set(digests.map((digest) => digest.slice(at, at + 8))).size).toBeGreaterThan(99_980);
    }
  });
});

describe('the digest of many runs', () => {
  const [a, b, c] = [digestOf('a'), digestOf('b'), digestOf('c')];

  test('does not depend on order or grouping', () => {
    const abc = combinedDigest(combinedDigest(a, b), c);
    expect(combinedDigest(c, combinedDigest(b, a))).toBe(abc);
    expect(combinedDigest(NO_TRACE, abc)).toBe(abc);
    expect(abc).toMatch(/^[0-9a-f]{16}$/);
  });

  test('depends on every run, and on a run that is in it twice', () => {
    expect(combinedDigest(a, b)).not.toBe(combinedDigest(a, c));
    expect(combinedDigest(a, combinedDigest(b, b))).not.toBe(a);
  });
});
