import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { FeedPosition, Position } from '../../engine/core/index.ts';
import { FeedCursor, type FeedPage } from './feed-cursor.ts';
import { formatToken } from './tokens.ts';

interface LogEntry extends Position {
  readonly name: string;
}

/** A log as the engine's feed shows it: what lies before `base` was trimmed, and is there as far as it is the newest version. */
interface Log {
  readonly entries: readonly LogEntry[];
  readonly base: number;
}

function logOf(set: string, length: number, base: number): Log {
  const all = Array.from({ length }, (_, at) => ({
    epoch: 1 + Math.floor(at / 7),
    lsn: at + 1,
    name: `${set}/${at + 1}`,
  }));
  return { entries: all.filter(({ lsn }) => lsn >= base || lsn % 3 === 0), base };
}

function feedOf(
  { entries, base }: Log,
  after: FeedPosition,
  count: number,
): FeedPage<LogEntry> | 'FEED_TRIMMED' {
  if (after.lsn > 0 && after.lsn + 1 < base && after.base !== base) return 'FEED_TRIMMED';
  const page = entries.filter(({ lsn }) => lsn > after.lsn).slice(0, count);
  const last = page.at(-1);
  if (last === undefined) return { entries: [], position: after };
  const { epoch, lsn } = last;
  return { entries: page, position: lsn + 1 < base ? { epoch, lsn, base } : { epoch, lsn } };
}

const cursorFrom = (token: string, sets: readonly string[]): FeedCursor => {
  const cursor = FeedCursor.from(token, sets);
  if (typeof cursor === 'string') throw new Error(cursor);
  return cursor;
};

describe('a feed over several partition-sets', () => {
  test('shows every entry once and in order, also when it is taken up again after any of them', () => {
    let interrupted = 0;
    const lengths = fc.array(fc.nat({ max: 30 }), { minLength: 1, maxLength: 4 });
    const choices = fc.infiniteStream(fc.nat({ max: 5 }));
    fc.assert(
      fc.property(lengths, fc.nat({ max: 20 }), choices, (sizes, base, stream) => {
        const logs = new Map(sizes.map((size, at) => [`items-${at}`, logOf(`items-${at}`, size, base)]));
        const sets = [...logs.keys()];
        const shown = new Map(sets.map((set) => [set, [] as string[]]));
        const choose = (): number => stream.next().value!;
        let cursor = new FeedCursor(sets);
        let quiet = 0;
        while (quiet < sets.length) {
          const { partitionSet, after } = cursor.next();
          const page = feedOf(logs.get(partitionSet)!, after, 1 + choose() * 2);
          if (page === 'FEED_TRIMMED') throw new Error(page);
          const received = cursor.received(partitionSet, page);
          if (!received.ok) throw new Error(received.code);
          quiet = page.entries.length === 0 ? quiet + 1 : 0;
          for (const entry of received.entries) {
            shown.get(partitionSet)!.push(entry.name);
            cursor.shown(partitionSet, entry);
            if (choose() > 0) continue;
            // Another process, perhaps another region, goes on from the token.
            cursor = cursorFrom(cursor.token, sets);
            interrupted += 1;
            break;
          }
        }
        for (const [set, { entries }] of logs) {
          expect(shown.get(set)).toEqual(entries.map(({ name }) => name));
        }
      }),
      { seed: 11, numRuns: 500 },
    );
    expect(interrupted).toBeGreaterThan(1000);
  });

  test('takes turns', () => {
    const cursor = new FeedCursor(['a', 'b', 'c']);
    expect(Array.from({ length: 5 }, () => cursor.next().partitionSet)).toEqual(['a', 'b', 'c', 'a', 'b']);
  });

  test('what was shown of a page is not shown again by mistake for another history', () => {
    const cursor = new FeedCursor(['a']);
    const page = feedOf(logOf('a', 6, 1), { epoch: 0, lsn: 0 }, 6) as FeedPage<LogEntry>;
    cursor.received('a', page);
    cursor.shown('a', page.entries[2]!);
    const { token } = cursor;

    const same = cursorFrom(token, ['a']);
    expect(same.received('a', page)).toEqual({ ok: true, entries: page.entries.slice(3) });
    const undone = page.entries.map((entry) => (entry.lsn < 3 ? entry : { ...entry, epoch: 9 }));
    expect(cursorFrom(token, ['a']).received('a', { ...page, entries: undone })).toEqual({
      ok: false,
      code: 'FEED_UNDONE',
    });
    const trimmed = page.entries.filter(({ lsn }) => lsn !== 3);
    expect(cursorFrom(token, ['a']).received('a', { ...page, entries: trimmed })).toEqual({
      ok: false,
      code: 'FEED_TRIMMED',
    });
  });

  test('its token is compact: a place for each partition-set', () => {
    const cursor = new FeedCursor(['a', 'b']);
    expect(cursor.token).toMatch(/^f1,a:0:0,b:0:0,[0-9a-z]+$/);
  });

  test('refuses tokens that are not its own', () => {
    const foreign = new FeedCursor(['other']).token;
    expect(FeedCursor.from(foreign, ['a'])).toBe('TOKEN_INVALID');
    expect(FeedCursor.from(formatToken('s', []), ['a'])).toBe('TOKEN_INVALID');
    expect(FeedCursor.from(formatToken('f', [{ partitionSet: 'a', numbers: [1] }]), ['a'])).toBe(
      'TOKEN_INVALID',
    );
    expect(FeedCursor.from('f9,a', ['a'])).toBe('TOKEN_NEWER');
  });

  test('reads a partition-set that is new from its beginning', () => {
    const cursor = cursorFrom(formatToken('f', [{ partitionSet: 'a', numbers: [3, 4, 9] }]), ['a', 'b']);
    expect(cursor.next()).toEqual({ partitionSet: 'a', after: { epoch: 3, lsn: 4, base: 9 } });
    expect(cursor.next()).toEqual({ partitionSet: 'b', after: { epoch: 0, lsn: 0 } });
  });
});
