/** docs/design.md "life": exhaustively, no two copies of an acceptor count, and no restart keeps a cluster from going on. */
import { explore, formatTrace, neverReached } from 'baton/check';
import { expect, test } from 'vitest';
import { type LifeGuard, LifeModel, type LifeSetting, type LifeState } from './lives-model.ts';

const INVARIANTS = {
  oneLifeCounts: (state: LifeState) => !state.isDouble,
  nothingIsLost: (state: LifeState) => !state.isLost,
  noFalseAlarm: (state: LifeState) => !state.isFalseAlarm,
};

function run(setting: LifeSetting, only?: string, reaches?: Record<string, (state: LifeState) => boolean>) {
  const model = new LifeModel(setting);
  const all = { ...INVARIANTS, nobodyIsStuck: (state: LifeState) => model.canGoOn(state) };
  return explore({
    initial: [model.initial],
    successors: (state) => model.successors(state),
    key: (state) => JSON.stringify(state),
    invariants: Object.fromEntries(Object.entries(all).filter(([name]) => (only ?? name) === name)),
    ...(reaches && { reaches }),
    maxStates: 300_000,
  });
}

function expectSound(result: ReturnType<typeof run>): void {
  if (result.outcome === 'violated') throw new Error(`${result.invariant}\n${formatTrace(result.trace)}`);
  expect(result.outcome).toBe('complete');
  expect(neverReached(result)).toEqual([]);
}

const COLD: LifeSetting = { copy: 'cold', mayStop: ['c1', 'c2'], starts: 2, changes: 2 };
const HOT: LifeSetting = { copy: 'hot', mayStop: ['c1', 'c2'], starts: 1, changes: 3 };
const RESTARTS: LifeSetting = { mayStop: ['a', 'b', 'c1'], starts: 2, changes: 0 };

test('of two copies that began alike one counts, and nothing is lost', () => {
  expectSound(
    run(COLD, undefined, {
      'the original counts after its restart': ({ counted }) => counted.some((life) => /^c1[^0]/.test(life)),
      'the copy counts': ({ counted }) => counted.some((life) => life.startsWith('c2')),
    }),
  );
});

test('a copy of a running acceptor counts instead of the original, never beside it', () => {
  expectSound(
    run(HOT, 'oneLifeCounts', {
      'the copy counts after the original': ({ counted }) =>
        counted.length > 1 && counted.at(-1)!.startsWith('c2'),
    }),
  );
});

test('whoever restarts, in whatever order, is used again and never taken for a copy', () => {
  expectSound(
    run(RESTARTS, undefined, {
      'two were recorded': ({ processes }) =>
        Object.values(processes[0]!.uses.lives).filter(({ id }) => !id.endsWith('0')).length === 2,
    }),
  );
});

test.each<[LifeGuard, LifeSetting, string]>([
  ['only the recorded life is used', COLD, 'nothingIsLost'],
  ['the new life follows the recorded one', COLD, 'nothingIsLost'],
  ['the others know before it is used', HOT, 'oneLifeCounts'],
  ['the others decide while they are enough', COLD, 'nothingIsLost'],
  ['its own vote counts when they are not', RESTARTS, 'nobodyIsStuck'],
  ['a start names all lives since the recorded one', RESTARTS, 'noFalseAlarm'],
])('without "%s"', (without, setting, invariant) => {
  expect(run({ ...setting, without }, invariant)).toMatchObject({ outcome: 'violated', invariant });
});
