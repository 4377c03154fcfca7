import { Configurations, hashOfMember } from 'baton/check';
import { describe, expect, test } from 'vitest';

const setOf = (...members: number[]): Uint32Array => {
  const set = new Uint32Array(2);
  for (const member of members) set[member >>> 5]! |= 1 << (member & 31);
  return set;
};
const hashOf = (...members: number[]): number => members.reduce((hash, each) => hash ^ hashOfMember(each), 0);

describe('the memory of a search', () => {
  test('knows each pair of set and state once', () => {
    const configurations = new Configurations(2);
    expect(configurations.add(setOf(1, 40), hashOf(1, 40), 0)).toBe(true);
    expect(configurations.add(setOf(1, 40), hashOf(40, 1), 0)).toBe(false);
    expect(configurations.add(setOf(1, 40), hashOf(1, 40), 1)).toBe(true);
    expect(configurations.add(setOf(1), hashOf(1), 0)).toBe(true);
  });

  test('is not deceived by equal hashes', () => {
    const configurations = new Configurations(2);
    expect(configurations.add(setOf(1), 7, 0)).toBe(true);
    expect(configurations.add(setOf(2), 7, 0)).toBe(true);
    expect(configurations.add(setOf(33), 7, 0)).toBe(true);
    const makesStateEqual = hashOfMember(~0) ^ hashOfMember(~1);
    expect(configurations.add(setOf(1), 7 ^ makesStateEqual, 1)).toBe(true);
    expect(configurations.add(setOf(2), 7, 0)).toBe(false);
  });

  test('keeps what it knows when it grows', () => {
    const configurations = new Configurations(2);
    const addAll = () =>
      Array.from({ length: 5000 }, (_, index) =>
        configurations.add(Uint32Array.of(index, 1), hashOfMember(index), index % 3),
      );
    expect(new Set(addAll())).toEqual(new Set([true]));
    expect(new Set(addAll())).toEqual(new Set([false]));
  });
});
