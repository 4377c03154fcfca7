import { describe, expect, test } from 'vitest';
import { EMPTY_RECORD, encodeRecord, LOOK_AGAIN_MS } from '../../caspaxos/index.ts';
import { OldCopy, type Question } from './old-copy.ts';

const X = 'register/x';
const Y = 'register/y';

const promised = (counter: number): string =>
  encodeRecord({ ...EMPTY_RECORD, promised: { counter, proposer: 'p', incarnation: 1 } });

const disk = (documents: Readonly<Record<string, number>>): ReadonlyMap<string, string> =>
  new Map(Object.entries(documents).map(([key, counter]) => [key, promised(counter)]));

/** It lacks the last promise of x, and all of y. */
const copy = (): OldCopy =>
  OldCopy.of([disk({ [X]: 2, [Y]: 1, 'register/z': 5 })], disk({ [X]: 1, 'register/z': 5 }), 7)!;

const read = (keys: readonly string[], told: Readonly<Record<string, number>> = {}): Question => ({
  isWrite: false,
  keys,
  told: disk(told),
  sentAt: 100,
  openedAt: 0,
});

const write = (question: Question): Question => ({ ...question, isWrite: true });

describe('an old copy', () => {
  test('that lacks nothing is none', () => {
    expect(OldCopy.of([disk({ [X]: 1 })], disk({ [X]: 1 }), 7)).toBeUndefined();
  });

  test('is asked about what it lacks only by those who have seen that', () => {
    for (const kind of [(question: Question) => question, write]) {
      expect(copy().hides(kind(read([X])))).toBe(true);
      expect(copy().hides(kind(read([X], { [X]: 1 })))).toBe(true);
      expect(copy().hides(kind(read([X], { [X]: 2 })))).toBe(false);
      expect(copy().hides(kind(read([Y])))).toBe(true);
      expect(copy().hides(kind(read(['register/z', 'identity'])))).toBe(false);
      // All of a batch is refused when one register shows it.
      expect(copy().hides(kind(read([X, Y], { [X]: 2 })))).toBe(false);
    }
  });

  test('of which a document cannot be read any more may lack whatever that was', () => {
    const garbled = new Map([[X, 'garbage']]);
    expect(OldCopy.of([garbled], disk({ [X]: 1 }), 7)!.hides(read([X], { [X]: 1 }))).toBe(true);
    expect(copy().hides({ ...read([X]), told: garbled })).toBe(true);
  });

  test('lacks what any disk had that was there before, also one before the last', () => {
    const second = OldCopy.of([disk({ [X]: 2 }), disk({})], disk({ [X]: 1 }), 7);
    expect(second!.hides(read([X]))).toBe(true);
  });

  test('greets as a service who has seen it further on, and nobody else', () => {
    expect(copy().hidesFrom({ sequence: 8, set: 0 })).toBe(false);
    expect(copy().hidesFrom({ sequence: 7, set: 0 })).toBe(true);
  });

  test('that was retired is asked by everybody: at once where the answer says it, and else when he has to look', () => {
    const found = copy();
    found.retired(50);
    expect(found.hides(read([X]))).toBe(false);
    expect(found.hidesFrom({ sequence: 0, set: 0 })).toBe(false);
    const question = write(read([X]));
    expect(found.hides(question)).toBe(true);
    expect(found.hides({ ...question, openedAt: 60 })).toBe(false);
    expect(found.hides({ ...question, sentAt: 60 + 1.02 * LOOK_AGAIN_MS })).toBe(false);
  });
});
