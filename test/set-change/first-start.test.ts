/** DESIGN rule 8, who may rely on an acceptor: exhaustively, no acceptor ever holds the registers of two clusters. */
import { explore, formatTrace, neverReached } from 'baton/check';
import { expect, test } from 'vitest';
import { FirstStartModel, STARTERS, type StartGuard, type StartState } from './first-start-model.ts';

function run(without?: StartGuard, only?: string) {
  const model = new FirstStartModel(without);
  const oneCluster = (state: StartState): boolean =>
    Object.values(state.acceptors).every(({ wrote }) => wrote.length < 2);
  /** A first start that is open has all that it named, for ever. */
  const openWithAll = (state: StartState): boolean =>
    STARTERS.every((who) => {
      const { step, isFirst } = state.processes[who];
      const own = Object.values(state.acceptors).filter(
        ({ configuration }) => configuration?.cluster === who,
      );
      return step !== 'open' || !isFirst || own.length === 2;
    });
  /** Nobody is kept out by what another left behind and did not finish. */
  const nobodyIsStuck = (state: StartState): boolean =>
    STARTERS.every((who) => {
      const isTaken = Object.values(state.acceptors).some(
        ({ configuration }) => configuration !== undefined && configuration.cluster !== who,
      );
      return isTaken || model.mayBegin(state, who);
    });
  return explore({
    initial: [model.initial],
    successors: (state) => model.successors(state),
    key: (state) => JSON.stringify(state),
    invariants: Object.fromEntries(
      Object.entries({ oneCluster, openWithAll, nobodyIsStuck }).filter(([name]) => (only ?? name) === name),
    ),
    reaches: {
      'one is open, the other was refused': ({ processes }) =>
        STARTERS.some((who) => processes[who].step === 'open' && processes[other(who)].step === 'refused'),
      'both are open, one of them without the shared acceptor': ({ processes }) =>
        STARTERS.every((who) => processes[who].step === 'open'),
      'a reservation was taken over': ({ acceptors }) => acceptors['c']!.version > 2,
    },
    maxStates: 2_000_000,
  });
}

function other(who: 'A' | 'B'): 'A' | 'B' {
  return who === 'A' ? 'B' : 'A';
}

test('no acceptor ever serves two clusters, and nobody is kept out by what was not finished', () => {
  const result = run();
  if (result.outcome === 'violated') throw new Error(`${result.invariant}\n${formatTrace(result.trace)}`);
  expect(result.outcome).toBe('complete');
  expect(neverReached(result)).toEqual([]);
});

test.each([
  ['requests name their cluster', 'oneCluster'],
  ['only members answer', 'oneCluster'],
  ['installing looks at the cluster', 'openWithAll'],
  ['refused anywhere, not open', 'openWithAll'],
  ['reservations are taken over', 'nobodyIsStuck'],
] as const)('without "%s" the invariant %s is broken', (guard, invariant) => {
  expect(run(guard, invariant)).toMatchObject({ outcome: 'violated', invariant });
});
