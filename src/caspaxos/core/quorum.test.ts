import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { BALLOT_ZERO } from '../../protocol/index.ts';
import {
  both,
  countOf,
  everyone,
  flexible,
  isProof,
  majority,
  maskOf,
  MAX_ACCEPTORS,
  quorumsIntersect,
  type QuorumSystem,
  within,
} from './quorum.ts';

describe('quorum sizes', () => {
  test('majorities meet, for any number of acceptors', () => {
    for (let size = 1; size <= 9; size += 1) expect(quorumsIntersect(majority(size))).toBe(true);
    expect(majority(5).description).toBe('3 of 5');
    expect(flexible(5, 2, 4).description).toBe('2 then 4 of 5');
  });

  test('flexible sizes are taken exactly when every phase-1 quorum meets every phase-2 quorum', () => {
    for (let size = 1; size <= 6; size += 1) {
      for (let phase1 = 1; phase1 <= size; phase1 += 1) {
        for (let phase2 = 1; phase2 <= size; phase2 += 1) {
          if (phase1 + phase2 > size) expect(quorumsIntersect(flexible(size, phase1, phase2))).toBe(true);
          else expect(() => flexible(size, phase1, phase2)).toThrow('must meet');
        }
      }
    }
  });

  test.each([
    [0, 1, 1],
    [MAX_ACCEPTORS + 1, 16, 16],
    [3, 0, 3],
    [3, 4, 3],
    [2.5, 2, 2],
  ])('%s acceptors with quorums of %s and %s are refused', (size, phase1, phase2) => {
    expect(() => flexible(size, phase1, phase2)).toThrow();
  });

  test('masks reach up to the largest set', () => {
    expect(countOf(everyone(MAX_ACCEPTORS))).toBe(MAX_ACCEPTORS);
    expect(majority(MAX_ACCEPTORS).isPhase1Quorum(everyone(MAX_ACCEPTORS))).toBe(true);
    expect(maskOf(MAX_ACCEPTORS - 1)).toBeGreaterThan(0);
  });
});

describe('a custom system', () => {
  /** Six acceptors in two rows of three: a full row promises, one of each row accepts. */
  const grid: QuorumSystem = {
    size: 6,
    isPhase1Quorum: (mask) => (mask & 0b111) === 0b111 || (mask & 0b111000) === 0b111000,
    isPhase2Quorum: (mask) => (mask & 0b111) !== 0 && (mask & 0b111000) !== 0,
    description: 'a row, then one of each row',
  };

  test('is checked by trying every pair', () => {
    expect(quorumsIntersect(grid)).toBe(true);
    const unsafe = { ...grid, isPhase1Quorum: (mask: number) => countOf(mask) >= 2 };
    expect(quorumsIntersect(unsafe)).toBe(false);
  });

  test('proves a value only with a quorum of both kinds (rule 5)', () => {
    const ballot = { counter: 1, proposer: 'p', incarnation: 1 };
    expect(isProof(grid, ballot, 0b000111)).toBe(false);
    expect(isProof(grid, ballot, 0b001001)).toBe(false);
    expect(isProof(grid, ballot, 0b001111)).toBe(true);
    expect(isProof(grid, BALLOT_ZERO, 0b000111)).toBe(true);
  });
});

describe('both of two sets (rule 9)', () => {
  const overlapping = (): QuorumSystem =>
    both(within(4, [0, 1, 2], majority(3)), within(4, [1, 2, 3], majority(3)));

  test('needs a quorum of each', () => {
    const system = overlapping();
    expect(system.isPhase1Quorum(0b0110)).toBe(true);
    expect(system.isPhase1Quorum(0b0011)).toBe(false);
    expect(system.isPhase2Quorum(0b1100)).toBe(false);
    expect(quorumsIntersect(system)).toBe(true);
  });

  test('meets the quorums of the set before and of the set after', () => {
    const old = within(4, [0, 1, 2], majority(3));
    const joint = overlapping();
    for (let one = 0; one < 16; one += 1) {
      for (let other = 0; other < 16; other += 1) {
        if ((one & other) !== 0) continue;
        expect(old.isPhase1Quorum(one) && joint.isPhase2Quorum(other)).toBe(false);
        expect(joint.isPhase1Quorum(one) && old.isPhase2Quorum(other)).toBe(false);
      }
    }
  });

  test('a set within a larger one looks at its own members only', () => {
    fc.assert(
      fc.property(fc.nat({ max: 63 }), (mask) => {
        const inner = within(6, [5, 0, 3], majority(3));
        const members = [5, 0, 3].filter((index) => (mask & maskOf(index)) !== 0).length;
        expect(inner.isPhase1Quorum(mask)).toBe(members >= 2);
      }),
      { seed: 1, numRuns: 64 },
    );
  });
});
