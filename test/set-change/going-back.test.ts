/** DESIGN rule 9, exhaustively: a change of the set is finished or taken back, never both, and no loss of new acceptors is in the way. */
import { explore, formatTrace, neverReached } from 'baton/check';
import { expect, test } from 'vitest';
import {
  type BackGuard,
  type BackSetting,
  type BackState,
  GoingBackModel,
  keyOf,
} from './going-back-model.ts';

const OLD = ['a', 'b', 'c'];
const finisher = (counter: number) => ({ role: 'finisher', counter, number: 2 }) as const;
const returner = (counter: number, number: 1 | 2 = 2) => ({ role: 'returner', counter, number }) as const;

const QUICK: readonly BackSetting[] = [
  { old: OLD, next: ['d', 'e', 'f'], deciders: [], announcing: true },
  { old: OLD, next: ['c', 'd', 'e'], deciders: [], announcing: true },
  { old: OLD, next: ['d'], deciders: [returner(2), returner(3, 1)], announcing: true },
  { old: OLD, next: ['d'], deciders: [finisher(2), returner(3, 1)], announcing: true },
  { old: OLD, next: ['d'], deciders: [finisher(2), returner(3)], announcing: false },
  { old: OLD, next: ['d'], deciders: [finisher(3), returner(2)], announcing: false },
];
const MORE: readonly BackSetting[] = [
  { old: OLD, next: ['c', 'd'], deciders: [finisher(2), returner(3)], announcing: false },
  { old: OLD, next: ['c', 'd'], deciders: [finisher(3), returner(2)], announcing: false },
  { old: OLD, next: ['d'], deciders: [finisher(3), returner(2, 1)], announcing: true },
];
/** `BATON_EXHAUSTIVE=1`: all of them. */
const SETTINGS = process.env['BATON_EXHAUSTIVE'] === undefined ? QUICK : [...QUICK, ...MORE];

function run(setting: BackSetting, only?: string) {
  const model = new GoingBackModel(setting);
  const all = (state: BackState) => setting.deciders.map((_, at) => model.decided(state, at));
  const oneEnd = (state: BackState): boolean => {
    const ends = all(state);
    return !(ends.includes('settled') && ends.includes('withdrawn'));
  };
  const canDecide = (state: BackState): boolean => model.canDecide(state);
  const untoldStopNobody = (state: BackState): boolean => model.goesOnWithoutUntold(state);
  return explore({
    initial: [model.initial],
    successors: (state) => model.successors(state),
    key: keyOf,
    invariants: Object.fromEntries(
      Object.entries({ oneEnd, untoldStopNobody, canDecide }).filter(([name]) => (only ?? name) === name),
    ),
    reaches: {
      ...(setting.deciders.some(({ role }) => role === 'finisher') && {
        settled: (state: BackState) => all(state).includes('settled'),
      }),
      [setting.announcing ? 'taken back' : 'taken back, although the new ones are lost']: (
        state: BackState,
      ) => all(state).includes('withdrawn') && (setting.announcing || state.lost.length > 0),
    },
    maxStates: 3_000_000,
  });
}

test.each(SETTINGS)('holds: $old to $next, deciders $deciders, announcing $announcing', (setting) => {
  const result = run(setting);
  if (result.outcome === 'violated')
    throw new Error(`${result.invariant}\n${formatTrace(result.trace, () => '')}`);
  expect(result.outcome).toBe('complete');
  if (setting.deciders.length > 0) expect(neverReached(result)).toEqual([]);
});

test.each([
  ['finishing needs the old set', 'oneEnd'],
  ['going back needs a quorum of the old set', 'oneEnd'],
  ['going back looks at what was decided', 'oneEnd'],
  ['going back has a number that somebody can explain', 'canDecide'],
  ['new acceptors are told first', 'untoldStopNobody'],
] satisfies [BackGuard, string][])('without "%s" the invariant %s is broken', (without, invariant) => {
  const isBroken = SETTINGS.some((setting) => {
    const result = run({ ...setting, without }, invariant);
    return result.outcome === 'violated' && result.invariant === invariant;
  });
  expect(isBroken).toBe(true);
});
