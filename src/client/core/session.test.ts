import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { SessionTracker } from './session.ts';
import { formatToken, parseToken } from './tokens.ts';

const at = (epoch: number, lsn: number) => ({ epoch, lsn });

describe('a session', () => {
  test('remembers the furthest place, by epoch first', () => {
    const session = new SessionTracker();
    expect(session.position('items-00')).toBeUndefined();
    session.saw('items-00', at(2, 10));
    session.saw('items-00', at(1, 90));
    session.saw('items-00', at(2, 9));
    session.saw('items-01', at(1, 1));
    expect(session.position('items-00')).toEqual(at(2, 10));
    session.saw('items-00', at(3, 4));
    expect(session.position('items-00')).toEqual(at(3, 4));
    session.forget('items-00');
    expect(session.position('items-00')).toBeUndefined();
    expect(session.position('items-01')).toEqual(at(1, 1));
  });

  test('goes on elsewhere by its token, and two tokens are the session that saw both', () => {
    const [one, other] = [new SessionTracker(), new SessionTracker()];
    one.saw('items-00', at(7 * 2 ** 20 + 3, 17));
    one.saw('items-01', at(2, 5));
    other.saw('items-01', at(2, 6));
    other.saw('a:b,c %', at(1, 1));
    expect(other.merge(one.token)).toBeUndefined();
    expect(one.merge(other.token)).toBeUndefined();
    expect(one.token).toBe(other.token);
    expect(one.position('items-01')).toEqual(at(2, 6));
    expect(one.position('a:b,c %')).toEqual(at(1, 1));
    expect(other.position('items-00')).toEqual(at(7 * 2 ** 20 + 3, 17));
  });

  test('has a token that stays as it is', () => {
    const session = new SessionTracker();
    session.saw('items-01', at(2 ** 20, 5));
    session.saw('items-00', at(2 ** 20, 36));
    expect(session.token).toBe('s1,items-00:mh34:10,items-01:mh34:5,hmzhd2');
    expect(new SessionTracker().token).toBe('s1,2b3jk9');
  });
});

describe('a token', () => {
  const session = new SessionTracker();
  session.saw('items-00', at(5, 6));
  session.saw('items-01', at(5, 7));
  const { token } = session;

  test.each([
    ['cut short', token.slice(0, -1)],
    ['without its last place', 's1,items-00:5:6,hmzhd2'],
    ['changed', token.replace(':6', ':7')],
    ['empty', ''],
    ['of a feed', formatToken('f', [{ partitionSet: 'items-00', numbers: [1, 2] }])],
    ['with a number too many', formatToken('s', [{ partitionSet: 'items-00', numbers: [1, 2, 3] }])],
    ['with a number too large', formatToken('s', [{ partitionSet: 'items-00', numbers: [1, 2 ** 54] }])],
    ['without a name', formatToken('s', [{ partitionSet: '', numbers: [1, 2] }])],
    [
      'with a name twice',
      formatToken('s', [
        { partitionSet: 'a', numbers: [1, 2] },
        { partitionSet: 'a', numbers: [1, 3] },
      ]),
    ],
  ])('that is %s is refused and changes nothing', (_, bad) => {
    const other = new SessionTracker();
    other.saw('items-00', at(1, 1));
    const before = other.token;
    expect(other.merge(bad)).toBe('TOKEN_INVALID');
    expect(other.token).toBe(before);
  });

  test('of a newer version is said to be one', () => {
    expect(new SessionTracker().merge('s2,whatever this is')).toBe('TOKEN_NEWER');
  });

  test('comes back as it was, and no text makes the parser throw', () => {
    const places = fc.uniqueArray(
      fc.record({
        partitionSet: fc.string({ minLength: 1, unit: 'grapheme' }),
        numbers: fc.array(fc.maxSafeNat(), { minLength: 1, maxLength: 5 }),
      }),
      { selector: ({ partitionSet }) => partitionSet, maxLength: 20 },
    );
    fc.assert(
      fc.property(places, fc.string(), (list, noise) => {
        const parsed = parseToken('s', formatToken('s', list));
        expect(parsed).toEqual({
          ok: true,
          places: list.toSorted((a, b) => (a.partitionSet < b.partitionSet ? -1 : 1)),
        });
        expect(formatToken('s', list)).toMatch(/^[\x21-\x7e]+$/);
        expect(parseToken('s', noise).ok).toBe(false);
        expect(parseToken('s', `s1,${noise}`).ok).toBe(false);
      }),
      { seed: 3, numRuns: 500 },
    );
  });
});
