import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { BALLOT_ZERO } from '../../protocol/index.ts';
import { EMPTY_RECORD } from '../core/index.ts';
import { decodeIdentity, decodeRecord, encodeIdentity, encodeRecord } from './documents.ts';

const ballot = { counter: 7, proposer: 'west', incarnation: 99 };
const record = { set: 3, promised: { ...ballot, counter: 9 }, accepted: ballot, value: '1 0\n{"x":"鍵"}' };

describe("a register's document", () => {
  test('comes back as it was', () => {
    for (const one of [record, EMPTY_RECORD, { ...EMPTY_RECORD, promised: ballot, set: 1 }]) {
      expect(decodeRecord(encodeRecord(one), 'it')).toEqual(one);
    }
  });

  test('can be read by a person', () => {
    expect(encodeRecord(record)).toMatch(
      /^baton1 [0-9a-f]{8} \{"set":3,"promised":\[9,"west",99\],"accepted":\[7,/,
    );
  });

  test('with any one character changed is refused', () => {
    const text = encodeRecord(record);
    fc.assert(
      fc.property(
        fc.nat({ max: text.length - 1 }),
        fc.constantFrom('x', '0', ' ', '"', '\u0000'),
        (at, character) => {
          const changed = text.slice(0, at) + character + text.slice(at + 1);
          if (changed === text) return;
          expect(() => decodeRecord(changed, 'it')).toThrow(
            expect.objectContaining({ code: expect.stringMatching(/CORRUPT_RECORD|FORMAT_NEWER/) }),
          );
        },
      ),
      { seed: 14, numRuns: 300 },
    );
  });

  test('that was cut short is refused', () => {
    const text = encodeRecord(record);
    for (let length = 0; length < text.length; length += 1) {
      expect(() => decodeRecord(text.slice(0, length), 'it')).toThrow();
    }
  });

  test('of a newer version says so', () => {
    expect(() => decodeRecord('baton2 whatever', 'it')).toThrow(
      expect.objectContaining({ code: 'FORMAT_NEWER' }),
    );
  });

  test('with fields that make no sense is refused, though its checksum is right', () => {
    const wrong = [
      { ...record, value: undefined },
      { ...record, accepted: BALLOT_ZERO },
      { ...record, set: 1.5 },
      { ...record, promised: { ...ballot, counter: -1 } },
    ];
    for (const one of wrong) {
      expect(() => decodeRecord(encodeRecord(one), 'it')).toThrow(
        expect.objectContaining({ code: 'CORRUPT_RECORD' }),
      );
    }
  });
});

describe('an identity document', () => {
  test('comes back as it was, and is none of the others', () => {
    const identity = { id: 'a', createdAt: '2024-01-01T00:00:00Z' };
    expect(decodeIdentity(encodeIdentity(identity), 'it')).toEqual(identity);
    expect(() => decodeIdentity(encodeRecord(record), 'it')).toThrow(
      expect.objectContaining({ code: 'CORRUPT_RECORD' }),
    );
    expect(() => decodeRecord(encodeIdentity(identity), 'it')).toThrow(
      expect.objectContaining({ code: 'CORRUPT_RECORD' }),
    );
  });
});
