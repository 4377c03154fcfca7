import { describe, expect, test } from 'vitest';
import { type Ballot, BALLOT_ZERO } from '../../protocol/index.ts';
import { flexible, majority } from './quorum.ts';
import { QuorumReader } from './reader.ts';

const ballot = (counter: number): Ballot => ({ counter, proposer: 'p', incarnation: 1 });
const state = (acceptor: number, counter: number) =>
  ({
    type: 'state',
    acceptor,
    accepted: counter === 0 ? BALLOT_ZERO : ballot(counter),
    value: counter === 0 ? undefined : `v${counter}`,
  }) as const;

describe('rule 5: the cheap read', () => {
  test('returns when a quorum reports the same accepted ballot', () => {
    const reader = new QuorumReader(majority(3));
    expect(reader.onState(state(0, 4))).toBeUndefined();
    expect(reader.onState(state(1, 4))).toEqual({ verdict: 'agreed', ballot: ballot(4), value: 'v4' });
  });

  test('does not take the same value under another ballot for agreement', () => {
    const reader = new QuorumReader(majority(3));
    reader.onState({ ...state(0, 4), value: 'same' });
    expect(reader.onState({ ...state(1, 5), value: 'same' })).toBeUndefined();
    expect(reader.onState({ ...state(2, 6), value: 'same' })).toEqual({ verdict: 'disagreed' });
  });

  test('waits for a third opinion while that can still make a quorum', () => {
    const reader = new QuorumReader(majority(3));
    reader.onState(state(0, 4));
    expect(reader.onState(state(1, 5))).toBeUndefined();
    expect(reader.onState(state(2, 5))).toMatchObject({ verdict: 'agreed', value: 'v5' });
  });

  test('says so when the quorum is gone, and when those that are left disagree', () => {
    const alone = new QuorumReader(majority(3));
    expect(alone.onMissing(0)).toBeUndefined();
    expect(alone.onMissing(1)).toEqual({ verdict: 'unavailable' });
    const split = new QuorumReader(majority(3));
    split.onState(state(0, 4));
    split.onMissing(1);
    expect(split.onState(state(2, 5))).toEqual({ verdict: 'disagreed' });
  });

  test('counts an acceptor once', () => {
    const reader = new QuorumReader(majority(3));
    reader.onState(state(0, 4));
    expect(reader.onState(state(0, 4))).toBeUndefined();
  });

  test('knows an empty register', () => {
    const reader = new QuorumReader(majority(3));
    reader.onState(state(2, 0));
    expect(reader.onState(state(0, 0))).toEqual({ verdict: 'agreed', ballot: BALLOT_ZERO, value: undefined });
  });
});

describe('rule 5 with quorums of two and four out of five', () => {
  test('a phase-1 quorum is not enough: what two hold may never be chosen', () => {
    const reader = new QuorumReader(flexible(5, 2, 4));
    reader.onState(state(0, 4));
    expect(reader.onState(state(1, 4))).toBeUndefined();
    reader.onState(state(2, 4));
    expect(reader.onState(state(3, 4))).toMatchObject({ verdict: 'agreed', value: 'v4' });
  });

  test('two reads that begin one after the other cannot see new, then old', () => {
    const first = new QuorumReader(flexible(5, 2, 4));
    const second = new QuorumReader(flexible(5, 2, 4));
    const verdicts = [
      first.onState(state(0, 4)),
      first.onState(state(1, 4)),
      second.onState(state(2, 3)),
      second.onState(state(3, 3)),
      second.onState(state(4, 3)),
    ];
    expect(verdicts.some((verdict) => verdict?.verdict === 'agreed')).toBe(false);
  });

  test('is decided once all have answered', () => {
    const reader = new QuorumReader(flexible(5, 2, 4));
    for (const acceptor of [0, 1, 2]) reader.onState(state(acceptor, 4));
    reader.onState(state(3, 3));
    expect(reader.onState(state(4, 3))).toEqual({ verdict: 'disagreed' });
  });

  test('is decided once some are missing', () => {
    const reader = new QuorumReader(flexible(5, 2, 4));
    for (const acceptor of [0, 1, 2]) reader.onState(state(acceptor, 4));
    reader.onMissing(3);
    expect(reader.onMissing(4)?.verdict).toMatch(/disagreed|unavailable/);
  });
});
