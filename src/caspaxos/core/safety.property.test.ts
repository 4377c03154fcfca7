import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { operationsOf, RandomNetwork, type Run } from '../../../test/caspaxos/random-network.ts';
import { assert, compareBallots } from '../../protocol/index.ts';
import { flexible, majority, type QuorumSystem } from './quorum.ts';

const systems: Readonly<Record<string, QuorumSystem>> = {
  'three, majorities': majority(3),
  'five, majorities': majority(5),
  'five, two then four': flexible(5, 2, 4),
  'five, four then two': flexible(5, 4, 2),
};

const policies = [
  { prepareAhead: true, giveUp: 'quorum impossible' },
  { prepareAhead: false, giveUp: 'first refusal' },
] as const;

const choices = fc.array(fc.nat({ max: 1_000_000 }), { minLength: 200, maxLength: 700, size: 'max' });

function isPrefix(earlier: string, later: string): boolean {
  const before = operationsOf(earlier);
  const after = operationsOf(later);
  return before.every((operation, at) => after[at] === operation);
}

/** Throws what is wrong; returns how many unknown changes were settled as not made. */
function check({ proposed, chosen, changes, reads }: Run): number {
  // Rule 2: one value per ballot.
  for (const values of proposed.values()) assert(values.size === 1, 'one ballot, two values');

  // Every later chosen value descends from every earlier chosen one.
  const inOrder = chosen.toSorted((a, b) => compareBallots(a.ballot, b.ballot));
  for (const [at, { value }] of inOrder.entries()) {
    assert(at === 0 || isPrefix(inOrder[at - 1]!.value, value), 'a chosen value was lost');
  }
  const last = operationsOf(inOrder.at(-1)?.value ?? '');

  // Rule 4: a committed change is there once, a rejected one never.
  assert(new Set(last).size === last.length, 'a change was applied twice');
  for (const { operation, result } of changes) {
    if (result.outcome === 'committed') assert(last.includes(operation), 'a committed change was lost');
    if (result.outcome === 'rejected') assert(!last.includes(operation), 'a rejected change happened');
  }

  // What a proposer left unknown is settled by its own next success: it is in there, or never will be anywhere.
  const never: string[] = [];
  const doubtful = new Map<string, string[]>();
  for (const { operation, result } of changes) {
    const proposer = operation[0]!;
    const open = doubtful.get(proposer) ?? [];
    if (result.outcome === 'unknown') doubtful.set(proposer, [...open, operation]);
    if (result.outcome !== 'committed') continue;
    const made = new Set(operationsOf(result.value ?? ''));
    never.push(...open.filter((one) => !made.has(one)));
    doubtful.delete(proposer);
  }
  assert(
    !never.some((operation) => last.includes(operation)),
    'an unknown change landed after a later success',
  );

  // Rule 5: a read returns a chosen value, and everything that was committed or read before it began.
  for (const { committedBefore, value } of reads) {
    assert(
      value === '' || chosen.some((one) => one.value === value),
      'a read of a value that was not chosen',
    );
    const seen = new Set(operationsOf(value));
    assert(
      committedBefore.every((operation) => seen.has(operation)),
      'a stale read',
    );
  }
  return never.length;
}

describe.each(Object.entries(systems))('on a network that loses, repeats and reorders: %s', (_, quorum) => {
  test.each(policies)('nothing is lost, doubled or read too early (ahead: $prepareAhead)', (policy) => {
    const total = { committed: 0, rejected: 0, unknown: 0, reads: 0, settled: 0 };
    fc.assert(
      fc.property(choices, (list) => {
        const run = new RandomNetwork({ quorum, proposers: 3, policy }).play(list);
        total.settled += check(run);
        for (const { result } of run.changes) total[result.outcome] += 1;
        total.reads += run.reads.length;
      }),
      { seed: 4_3_1, numRuns: 300 },
    );
    // The runs must have been worth something.
    expect(total.committed).toBeGreaterThan(300);
    expect(total.unknown).toBeGreaterThan(100);
    expect(total.rejected).toBeGreaterThan(50);
    expect(total.reads).toBeGreaterThan(100);
    expect(total.settled).toBeGreaterThan(20);
  });
});
