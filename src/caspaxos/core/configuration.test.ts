import { describe, expect, test } from 'vitest';
import {
  blocks,
  type Configuration,
  joint,
  membersOf,
  parseConfiguration,
  quorumsOf,
  quorumsOfSet,
  sameConfiguration,
  settled,
} from './configuration.ts';
import { quorumsIntersect, type QuorumSystem } from './quorum.ts';

const member = (id: string) => ({ id, url: `memory:${id}` });
const setOf = (...ids: string[]) => ({ acceptors: ids.map(member) });
const first: Configuration = { cluster: 'c', number: 4, ...setOf('a', 'b', 'c') };

describe('rule 9: from one set of acceptors to the next', () => {
  const both = joint(first, setOf('b', 'c', 'd'));
  const last = settled(both);

  test('goes through both together, one number at a time', () => {
    expect([first.number, both.number, last.number]).toEqual([4, 5, 6]);
    expect(membersOf(both).map(({ id }) => id)).toEqual(['b', 'c', 'd', 'a']);
    expect(membersOf(last).map(({ id }) => id)).toEqual(['b', 'c', 'd']);
    expect(last.previous).toBeUndefined();
  });

  test('neighbours share a quorum', () => {
    const members = membersOf(both);
    const old = quorumsOfSet(first, members);
    const next = quorumsOfSet(last, members);
    const together = quorumsOf(both);
    const meet = (one: QuorumSystem, other: QuorumSystem): boolean =>
      quorumsIntersect({ ...one, isPhase2Quorum: (mask) => other.isPhase2Quorum(mask) });
    for (const neighbour of [old, next]) {
      expect(meet(neighbour, together)).toBe(true);
      expect(meet(together, neighbour)).toBe(true);
    }
  });

  test('those that are not neighbours need not: that is what the refusals are for', () => {
    const far = joint(first, setOf('x', 'y', 'z'));
    const members = membersOf(far);
    const next = quorumsOfSet(settled(far), members);
    const skipping = {
      ...quorumsOfSet(first, members),
      isPhase2Quorum: (mask: number) => next.isPhase2Quorum(mask),
    };
    expect(quorumsIntersect(skipping)).toBe(false);
  });

  test('only one change at a time, and only a change under way can be settled', () => {
    expect(() => joint(both, setOf('x', 'y', 'z'))).toThrow('one change of the set at a time');
    expect(() => settled(first)).toThrow('only a change under way');
  });

  test('flexible quorums of each set are kept', () => {
    const flexible = joint({ ...first, quorums: { phase1: 1, phase2: 3 } }, setOf('a', 'b', 'd'));
    expect(quorumsOf(flexible).isPhase2Quorum(0b0111)).toBe(false);
    expect(quorumsOf(flexible).isPhase2Quorum(0b1111)).toBe(true);
    expect(quorumsOf(flexible).isPhase1Quorum(0b0011)).toBe(true);
  });
});

describe('acceptors that block a set', () => {
  test('leave no quorum of either kind to the others', () => {
    const system = quorumsOf(first);
    expect(blocks(system, 0b001)).toBe(false);
    expect(blocks(system, 0b011)).toBe(true);
    const lopsided = quorumsOf({ ...first, quorums: { phase1: 3, phase2: 1 } });
    expect(blocks(lopsided, 0b011)).toBe(false);
    expect(blocks(lopsided, 0b111)).toBe(true);
  });
});

describe('a configuration from another process', () => {
  test('is read back', () => {
    const both = joint({ ...first, quorums: { phase1: 2, phase2: 2 } }, setOf('d', 'e', 'f'));
    expect(parseConfiguration(JSON.stringify(both))).toEqual(both);
  });

  test('is the same if its acceptors merely stand in another order or at another address', () => {
    const moved = {
      ...first,
      acceptors: first.acceptors.toReversed().map(({ id }) => ({ id, url: 'http://moved' })),
    };
    expect(sameConfiguration(first, moved)).toBe(true);
    expect(sameConfiguration(first, { ...first, number: 5 })).toBe(false);
    expect(sameConfiguration(first, { ...first, quorums: { phase1: 1, phase2: 3 } })).toBe(false);
    expect(sameConfiguration(first, { ...first, previous: setOf('a') })).toBe(false);
  });

  test.each([
    'null',
    '{}',
    '{"cluster":"c","number":1}',
    '{"cluster":"c","number":1,"acceptors":[]}',
    '{"cluster":"c","number":1.5,"acceptors":[{"id":"a","url":"u"}]}',
    '{"cluster":"c","number":1,"acceptors":[{"id":7,"url":"u"}]}',
    '{"cluster":"c","number":1,"acceptors":[null]}',
    '{"cluster":"c","number":1,"acceptors":[{"id":"a","url":"u"}],"quorums":{"phase1":1,"phase2":0}}',
    '{"cluster":"c","number":1,"acceptors":[{"id":"a","url":"u"}],"previous":{"acceptors":"x"}}',
    'not json',
  ])('is refused when it is none: %s', (json) => {
    expect(() => parseConfiguration(json)).toThrow();
  });
});
