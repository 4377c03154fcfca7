import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Position } from '../model.ts';
import { contains, epochAt, type History, sharedUpTo, upTo, withEntry } from './progress-table.ts';

type Log = readonly Position[];

function historyOf(log: Log): History {
  return { table: log.reduce(withEntry, [] as History['table']), tail: log.at(-1) ?? { epoch: 0, lsn: 0 } };
}

/** A log of epochs, one letter for each entry: `logOf(1, 1, 3)`. */
function logOf(...epochs: number[]): Log {
  return epochs.map((epoch, index) => ({ epoch, lsn: index + 1 }));
}

const TABLE = historyOf(logOf(1, 1, 1, 4, 4, 6)).table;

describe('the table', () => {
  test('has the first entry of each epoch', () => {
    expect(TABLE).toEqual([
      { epoch: 1, lsn: 1 },
      { epoch: 4, lsn: 4 },
      { epoch: 6, lsn: 6 },
    ]);
  });

  test('stays the same object while its epoch goes on', () => {
    expect(withEntry(TABLE, { epoch: 6, lsn: 7 })).toBe(TABLE);
    expect(withEntry(TABLE, { epoch: 7, lsn: 7 })).not.toBe(TABLE);
  });

  test('of a shorter log has no epochs that begin behind its end', () => {
    expect(upTo(TABLE, 6)).toEqual(TABLE);
    expect(upTo(TABLE, 5)).toEqual(TABLE.slice(0, 2));
    expect(upTo(TABLE, 3)).toEqual(TABLE.slice(0, 1));
    expect(upTo(TABLE, 0)).toEqual([]);
  });

  test('says in which epoch an entry was written', () => {
    expect([0, 1, 3, 4, 5, 6, 99].map((lsn) => epochAt(TABLE, lsn))).toEqual([0, 1, 1, 4, 4, 6, 6]);
    expect(epochAt([], 3)).toBe(0);
  });
});

describe('whether a history contains an entry', () => {
  const history = historyOf(logOf(1, 1, 4));

  test.each([
    [{ epoch: 1, lsn: 2 }, true],
    [{ epoch: 4, lsn: 3 }, true],
    [{ epoch: 0, lsn: 0 }, true],
    [{ epoch: 4, lsn: 2 }, false],
    [{ epoch: 1, lsn: 3 }, false],
    [{ epoch: 4, lsn: 4 }, false],
  ])('%o: %s', (position, isThere) => {
    expect(contains(history, position)).toBe(isThere);
  });
});

describe('how far two histories are the same', () => {
  test.each([
    ['one is empty', logOf(), logOf(1, 1), 0],
    ['the same', logOf(1, 2, 2), logOf(1, 2, 2), 3],
    ['one is longer in the same epoch', logOf(1, 1, 1), logOf(1, 1), 2],
    ['one is longer by an epoch', logOf(1, 1), logOf(1, 1, 3), 2],
    ['both went on, each in its own epoch', logOf(1, 1, 2), logOf(1, 1, 3), 2],
    ['one went on in the old epoch', logOf(1, 1, 1, 1), logOf(1, 1, 3, 3, 3), 2],
    ['they parted, and one epoch stands in both tables later', logOf(1, 1, 2, 5), logOf(1, 3, 5), 1],
    ['they never met', logOf(2, 2), logOf(3, 3), 0],
  ])('%s', (_, a, b, shared) => {
    expect(sharedUpTo(historyOf(a), historyOf(b))).toBe(shared);
    expect(sharedUpTo(historyOf(b), historyOf(a))).toBe(shared);
  });

  /**
   * Every epoch has one writer, which goes on from a log that somebody holds: any prefix of any log so far. What others take
   * of it is a prefix again, so branches of every shape come out, also those of epochs that several logs have in part.
   */
  const branches = fc
    .array(
      fc.record({ from: fc.nat(), keep: fc.nat(), writes: fc.nat({ max: 4 }), cut: fc.nat({ max: 5 }) }),
      { minLength: 2, maxLength: 8 },
    )
    .map((steps) => {
      const logs: Log[] = [[]];
      for (const [index, { from, keep, writes, cut }] of steps.entries()) {
        const base = logs[from % logs.length]!;
        const log = base.slice(0, keep % (base.length + 1));
        for (let count = 0; count < writes; count += 1) log.push({ epoch: index + 1, lsn: log.length + 1 });
        logs.push(log, log.slice(0, Math.max(0, log.length - cut)));
      }
      return logs;
    });

  test('is their longest common prefix, entry by entry', () => {
    let parted = 0;
    fc.assert(
      fc.property(branches, (logs) => {
        for (const a of logs) {
          for (const b of logs) {
            const longest = Math.min(a.length, b.length);
            let common = 0;
            while (common < longest && a[common]!.epoch === b[common]!.epoch) common += 1;
            expect(sharedUpTo(historyOf(a), historyOf(b))).toBe(common);
            if (common > 0 && common < longest) parted += 1;
          }
        }
      }),
      { seed: 7, numRuns: 150 },
    );
    expect(parted).toBeGreaterThan(100);
  });

  test('contains says the same of each entry', () => {
    fc.assert(
      fc.property(branches, (logs) => {
        for (const a of logs) {
          for (const entry of logs.at(-1)!) {
            const isThere = a.some(({ epoch, lsn }) => epoch === entry.epoch && lsn === entry.lsn);
            expect(contains(historyOf(a), entry)).toBe(isThere);
          }
        }
      }),
      { seed: 8, numRuns: 150 },
    );
  });
});
