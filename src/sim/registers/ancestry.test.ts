import { expect, test } from 'vitest';
import { Ancestry } from './ancestry.ts';

const URLS = ['sim:a', 'sim:b', 'sim:c', 'sim:d'];

const set = (number: number, members: readonly number[], previous?: readonly number[]) => ({
  cluster: 'c',
  number,
  acceptors: members.map((at) => ({ id: `id ${at}`, url: URLS[at]! })),
  ...(previous && { previous: { acceptors: previous.map((at) => ({ id: `id ${at}`, url: URLS[at]! })) } }),
});

/** A document as the acceptors write it, without minding its checksum. */
function document(content: object): string {
  return `baton1 00000000 ${JSON.stringify(content)}`;
}

function record(counter: number, operations: readonly string[], inSet = 1): string {
  const ballot = [counter, 'p', 1];
  const value = `${operations.length} 0\n${JSON.stringify(operations)}`;
  return document({ set: inSet, promised: ballot, accepted: ballot, value });
}

function ancestry(): Ancestry {
  const made = new Ancestry(URLS, (key) => key === 'x');
  made.onDurable(0, 'identity', document({ id: 'id 0', configuration: set(1, [0, 1, 2]) }));
  return made;
}

function violationOf(spy: Ancestry): string | undefined {
  return spy.violation(spy.chosen());
}

test('a value is chosen when a quorum has accepted it under one ballot', () => {
  const spy = ancestry();
  spy.onDurable(0, 'register/x', record(1, ['a']));
  spy.onDurable(1, 'register/x', record(2, ['a']));
  expect(spy.chosen()).toEqual([]);
  spy.onDurable(2, 'register/x', record(2, ['a']));
  expect(spy.chosen()).toMatchObject([{ key: 'x', version: 1, operations: ['a'] }]);
  expect(violationOf(spy)).toBeUndefined();
});

test('a chosen value descends from all that were chosen before', () => {
  const spy = ancestry();
  for (const at of [0, 1]) spy.onDurable(at, 'register/x', record(1, ['a']));
  for (const at of [1, 2]) spy.onDurable(at, 'register/x', record(3, ['a', 'b', 'c']));
  expect(violationOf(spy)).toBeUndefined();
  for (const at of [0, 2]) spy.onDurable(at, 'register/x', record(4, ['a', 'c', 'd', 'e']));
  expect(violationOf(spy)).toMatch(/^register x: chosen under .*4.* which does not descend from .*3/);
});

test('one ballot has one value', () => {
  const spy = ancestry();
  spy.onDurable(0, 'register/x', record(1, ['a']));
  spy.onDurable(1, 'register/x', record(1, ['b']));
  expect(violationOf(spy)).toMatch('two values of x were accepted under');
});

test('while the set changes, chosen means by quorums of both', () => {
  const spy = ancestry();
  spy.onDurable(0, 'identity', document({ id: 'id 0', configuration: set(2, [0, 1, 3], [0, 1, 2]) }));
  spy.onDurable(0, 'register/x', record(1, ['a'], 2));
  spy.onDurable(2, 'register/x', record(1, ['a'], 2));
  expect(spy.chosen()).toEqual([]);
  spy.onDurable(3, 'register/x', record(1, ['a'], 2));
  expect(spy.chosen()).toHaveLength(1);
  spy.onDurable(1, 'identity', document({ id: 'id 1', configuration: set(2, [0, 1, 2]) }));
  expect(violationOf(spy)).toBe('there are two sets of acceptors with the number 2');
});

test('what a disk lost to an old copy no longer counts as accepted there', () => {
  const spy = ancestry();
  for (const at of [0, 1]) spy.onDurable(at, 'register/x', record(1, ['a']));
  spy.onRolledBack(0, new Map([['register/x', `version ${record(1, ['a'])}`]]));
  expect(spy.chosen()).toHaveLength(1);
  spy.onRolledBack(0, new Map());
  expect(spy.chosen()).toEqual([]);
});

test('documents that were garbled, and other registers, say nothing', () => {
  const spy = ancestry();
  spy.onDurable(0, 'register/x', '\u0000 garbage');
  spy.onDurable(0, 'register/other', document({ value: 'no envelope' }));
  expect(spy.chosen()).toEqual([]);
});
