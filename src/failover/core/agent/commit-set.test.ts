/** Rules 14, 16 and 18 on the shipped agent: whatever is answered late, twice or never, and however slow its driver is. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Move, MOVES, walked, WriterWalk } from '../../../../test/failover/writer-walk.ts';

/** B has left the lease set and the commit set. */
const B_IS_OUT: readonly Move[] = ['b silent', 'begin', 'try', 'land', 'answer', 'assume all'];
const UPDATE: readonly Move[] = ['begin', 'try', 'land', 'answer'];

test('rule 14: an addition whose outcome is unknown counts as made, though the region lags again', () => {
  const walk = walked(
    ...B_IS_OUT,
    'b well',
    'assume all',
    'begin',
    'try',
    'land',
    'give up',
    'b behind',
    'assume all',
  );
  expect(walk.state.leaseSet).toContain('b');
  expect(walk.problem).toBeUndefined();
});

test('rule 14: so does one that is still on its way', () => {
  const walk = walked(...B_IS_OUT, 'b well', 'assume all', 'begin', 'try', 'b silent', 'assume all', 'land');
  expect(walk.state.leaseSet).toContain('b');
  expect(walk.problem).toBeUndefined();
});

test('rule 14: so does one that lands late, after a read that did not show it', () => {
  const asked: readonly Move[] = ['b well', 'assume all', 'begin', 'try', 'give up', 'b silent', 'read'];
  const walk = walked(...B_IS_OUT, ...asked, 'assume all', 'late');
  expect(walk.seen.lateLandings).toBe(1);
  expect(walk.state.leaseSet).toContain('b');
  expect(walk.problem).toBeUndefined();
});

test('rule 14: a later success of its own settles it, and then the region may go', () => {
  const asked: readonly Move[] = [
    'b well',
    'assume all',
    'begin',
    'try',
    'give up',
    'b silent',
    'assume all',
  ];
  const walk = walked(...B_IS_OUT, ...asked, ...UPDATE, 'assume all', 'late');
  expect(walk.state.leaseSet).not.toContain('b');
  expect(walk.commitSet).not.toContain('b');
});

test('rule 16: an addition waits until the driver has the larger commit set', () => {
  const walk = walked(...B_IS_OUT, 'b well', ...UPDATE);
  expect(walk.state.leaseSet).not.toContain('b');
  for (const move of ['assume all', ...UPDATE] as const) walk.make(move);
  expect(walk.state.leaseSet).toContain('b');
});

test('rule 18: the final report waits until the driver has carried out every order that came before it', () => {
  const failed: readonly Move[] = ['begin', 'give up'];
  const lost = [...failed, ...failed, ...failed, ...failed, ...failed, 'begin', 'assume all'] as const;
  // It is told to accept writes again, and at once to quiesce them; so far it has done neither.
  const walk = walked(
    ...lost,
    'switch over to b',
    ...UPDATE,
    'b updates',
    'begin',
    'read',
    'try',
    'land',
    'answer',
  );
  expect(walk.state).toMatchObject({ quiesce: true, gcn: 1 });
  for (const move of ['assume all', ...UPDATE] as const) walk.make(move);
  expect(walk.state).toMatchObject({ writer: 'b', gcn: 2 });
  expect(walk.problem).toBeUndefined();
});

test('on no walk is a region in the lease set for which commits do not wait, nor a final report of a writer that writes', () => {
  const total = { additions: 0, lateLandings: 0, slowAdditions: 0, finals: 0 };
  const moves = fc.array(fc.constantFrom(...MOVES, ...UPDATE, ...UPDATE), {
    minLength: 40,
    maxLength: 120,
    size: 'max',
  });
  fc.assert(
    fc.property(moves, (schedule) => {
      const walk = new WriterWalk();
      for (const move of schedule) {
        walk.make(move);
        expect(walk.problem).toBeUndefined();
        if (walk.isOver) break;
      }
      for (const what of ['additions', 'lateLandings', 'slowAdditions', 'finals'] as const)
        total[what] += walk.seen[what];
    }),
    { seed: 140_016, numRuns: 1500 },
  );
  // The walks went where it is dangerous.
  for (const often of Object.values(total)) expect(often).toBeGreaterThan(10);
});
