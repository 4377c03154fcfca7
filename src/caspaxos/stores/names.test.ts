import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { keyOfName, nameOf } from './names.ts';

/** Any Unicode, and often what names are about. */
const keys = fc
  .array(
    fc.oneof(
      fc.string({ unit: 'binary', maxLength: 3 }),
      fc.constantFrom('/', '=', '==', '-', '_', '=2F', 'A'),
    ),
  )
  .map((parts) => parts.join(''));
/** Short enough to meet both spellings. */
const limits = fc.integer({ min: 0, max: 60 });
const SEED = 7;

describe('names of keys', () => {
  test('are easy to read where a key is', () => {
    expect(nameOf('register/orders', 1024)).toBe('register=2Forders');
    expect(nameOf('Aa0-_', 1024)).toBe('Aa0-_');
    expect(nameOf('é', 1024)).toBe('=C3=A9');
    expect(nameOf('=..\u0000', 1024)).toBe('=3D=2E=2E=00');
  });

  test('give their keys back', () => {
    fc.assert(
      fc.property(keys, limits, (key, longest) => {
        expect(keyOfName(nameOf(key, longest))).toBe(key);
      }),
      { seed: SEED, numRuns: 500 },
    );
  });

  test('differ where keys do, whichever way each is spelled', () => {
    fc.assert(
      fc.property(keys, keys, limits, (one, other, longest) => {
        expect(nameOf(one, longest) === nameOf(other, longest)).toBe(one === other);
      }),
      { seed: SEED, numRuns: 500 },
    );
  });

  test('have nothing in them that a store could mind', () => {
    fc.assert(
      fc.property(keys, limits, (key, longest) => {
        expect(nameOf(key, longest)).toMatch(/^[A-Za-z0-9=_-]*$/);
      }),
      { seed: SEED, numRuns: 200 },
    );
  });

  test('fit into 1,000 characters for every key that Baton has', () => {
    const longest = Math.max(
      ...['k', '鍵', '\u0000', '🔑'].map((unit) => {
        const count = Math.floor(521 / Buffer.byteLength(unit));
        return nameOf(unit.repeat(count), 1000).length;
      }),
    );
    expect(longest).toBeLessThanOrEqual(1000);
  });

  test('that nobody here gave are not taken for keys', () => {
    const strangers = [
      'a b',
      'a/b',
      'é',
      '=',
      '=2',
      '=2f',
      '=41',
      '=FF',
      '==!',
      '==YQ==',
      '==_w',
      '==YR',
      'a.txt',
    ];
    for (const name of strangers) expect(keyOfName(name)).toBeUndefined();
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (name) => {
        const key = keyOfName(name);
        if (key !== undefined) expect([nameOf(key, 1024), nameOf(key, -1)]).toContain(name);
      }),
      { seed: SEED, numRuns: 500 },
    );
  });
});
