/** Rule 9, exhaustively: no interleaving of a change of the set forks the register's history or serves a stale read. */
import { explore, formatTrace } from 'baton/check';
import { expect, test } from 'vitest';
import { type Guard, keyOf, SetChangeModel, type SetChangeState, type Setting } from './model.ts';

const MAX_STATES = 2_000_000;

/** Ballot 1 is that of the value which may be there from the beginning. */
const ORDERS = [
  { sleeper: 2, mover: 3, settler: 4 },
  { sleeper: 3, mover: 2, settler: 4 },
  { sleeper: 4, mover: 2, settler: 3 },
] as const;

const OLD = ['a', 'b', 'c'];

function casesOf(next: readonly string[], isWritten: boolean): { readers: Setting[]; sleepers: Setting[] } {
  const common = { old: OLD, next, isWritten };
  return {
    readers: [{ ...common, asleep: 'reader', ballots: ORDERS[0] }],
    sleepers: ORDERS.map((ballots) => ({ ...common, asleep: 'sleeper', ballots })),
  };
}

const ALL = [casesOf(['d'], false), casesOf(['c'], false), casesOf(['d'], true), casesOf(['c'], true)];
/** All of them are nearly two million states; `npm run spec` explores them, CI those that found the most mistakes. */
const isExhaustive = process.env['BATON_EXHAUSTIVE'] !== undefined;
const CASES: readonly Setting[] = isExhaustive
  ? ALL.flatMap(({ readers, sleepers }) => [...readers, ...sleepers])
  : [...ALL.flatMap(({ readers }) => readers), ...casesOf(['c'], false).sleepers];

function run(setting: Setting) {
  const model = new SetChangeModel(setting);
  const oneHistory = (state: SetChangeState): boolean => {
    const sleeper = model.committed(state, 'sleeper');
    const settler = model.committed(state, 'settler');
    if (sleeper === undefined || settler === undefined) return true;
    return sleeper.startsWith(settler) || settler.startsWith(sleeper);
  };
  const noStaleRead = (state: SetChangeState): boolean =>
    state.reader.beganAfterSettler !== true || (model.read(state)?.value ?? 't').includes('t');
  return explore({
    initial: [model.initial],
    successors: (state) => model.successors(state),
    key: keyOf,
    invariants: { oneHistory, noStaleRead },
    reaches: {
      'both committed': (state) =>
        model.committed(state, 'sleeper') !== undefined && model.committed(state, 'settler') !== undefined,
      'the sleeper was refused': (state) =>
        state.sleeper.promises.some((slot) => slot?.reply.type === 'stale-set'),
      'the reader returned': (state) => model.read(state) !== undefined,
      'a register was rewritten': (state) => state.mover.step === 'done' && state.mover.value !== null,
    },
    maxStates: MAX_STATES,
  });
}

const reached = new Map<string, number>();

test.each(CASES)('holds: $asleep, $old to $next, written: $isWritten, ballots $ballots', (setting) => {
  const result = run(setting);
  for (const [name, count] of Object.entries(result.reached))
    reached.set(name, (reached.get(name) ?? 0) + count);
  if (result.outcome === 'violated')
    throw new Error(`${result.invariant}\n${formatTrace(result.trace, () => '')}`);
  expect(result.outcome).toBe('complete');
});

test('those cases reached everything of interest', () => {
  expect(reached.size).toBeGreaterThan(0);
  expect([...reached].filter(([, count]) => count === 0)).toEqual([]);
});

test.each([
  'look again after loading',
  'rewrite',
  'list those who know',
  'record remembers its set',
  'enough must know',
] satisfies Guard[])('without "%s" a change is lost', (without) => {
  const [, setting] = casesOf(['d'], false).sleepers;
  const result = run({ ...setting!, without });
  expect(result).toMatchObject({ outcome: 'violated', invariant: 'oneHistory' });
});
