/** Rule 9, exhaustively: no interleaving of a change of the set, or of its way back, forks the register's history, serves a stale read or stops anybody. */
import { explore, formatTrace } from 'baton/check';
import { expect, test } from 'vitest';
import { SetChangeModel } from './model.ts';
import { type ActorName, type Guard, keyOf, type SetChangeState, type Setting } from './state.ts';

const MAX_STATES = 3_000_000;

const OLD = ['a', 'b', 'c'];
const ORDERS: readonly (readonly ActorName[])[] = [
  ['sleeper', 'mover', 'settler'],
  ['mover', 'sleeper', 'settler'],
  ['mover', 'settler', 'sleeper'],
];

type Common = Pick<Setting, 'old' | 'next' | 'isWritten'>;

/** Replacing all acceptors by another, and removing two. */
const REPLACED: Common = { old: OLD, next: ['d'], isWritten: false };
const REMOVED: Common = { old: OLD, next: ['c'], isWritten: false };
const WRITTEN: readonly Common[] = [REPLACED, REMOVED].map((common) => ({ ...common, isWritten: true }));

function settling(common: Common, order: readonly ActorName[]): Setting {
  return { ...common, order, ends: ['settled'] };
}

function returning(common: Common, order: readonly ActorName[]): Setting {
  return { ...common, order, ends: ['withdrawn'] };
}

const reading = (common: Common): Setting => ({ ...settling(common, ['mover', 'settler']), hasReader: true });
const endingEither = (common: Common, order: readonly ActorName[]): Setting => ({
  ...common,
  order,
  ends: ['settled', 'withdrawn'],
});
const losing = (common: Common, order: readonly ActorName[]): Setting => ({
  ...returning(common, order),
  mayLose: true,
});

/** Those that found the most mistakes. */
const QUICK: readonly Setting[] = [
  ...[REPLACED, REMOVED, ...WRITTEN].map(reading),
  ...ORDERS.map((order) => settling(REMOVED, order)),
  settling(REMOVED, ['neighbour', 'mover', 'settler']),
  settling(REMOVED, ['mover', 'neighbour', 'settler']),
  returning(REMOVED, ['neighbour', 'returned']),
  { ...returning({ ...REMOVED, isWritten: true }, ['returned']), hasReader: true },
  endingEither(REMOVED, ['settler', 'returned']),
  losing({ ...REPLACED, next: ['d', 'e', 'f'] }, []),
  losing(REPLACED, ['neighbour']),
];
/** Some two and a half million states more: `npm run spec` explores them. */
const MORE: readonly Setting[] = [
  ...[REPLACED, ...WRITTEN].flatMap((common) => ORDERS.map((order) => settling(common, order))),
  settling(REPLACED, ['neighbour', 'mover', 'settler']),
  settling(REPLACED, ['mover', 'neighbour', 'settler']),
  returning(REPLACED, ['neighbour', 'returned']),
  returning(REMOVED, ['returned', 'sleeper']),
  endingEither(REMOVED, ['neighbour', 'settler', 'returned']),
  losing(REPLACED, ['neighbour', 'sleeper']),
];
const CASES = process.env['BATON_EXHAUSTIVE'] === undefined ? QUICK : [...QUICK, ...MORE];

function run(setting: Setting, only?: string) {
  const model = new SetChangeModel(setting);
  const oneHistory = (state: SetChangeState): boolean => model.isOneHistory(state);
  const noStaleRead = (state: SetChangeState): boolean =>
    state.reader.beganAfter !== true || /[rt]/.test(model.read(state)?.value ?? 't');
  const goesOn = (state: SetChangeState): boolean => model.goesOn(state);
  const have =
    (...names: ActorName[]) =>
    (state: SetChangeState): boolean =>
      names.every((name) => model.committed(state, name) !== undefined);
  return explore({
    initial: [model.initial],
    successors: (state) => model.successors(state),
    key: keyOf,
    invariants: Object.fromEntries(
      Object.entries({ oneHistory, noStaleRead, goesOn }).filter(([name]) => (only ?? name) === name),
    ),
    reaches: {
      'before and after the change': have('sleeper', 'settler'),
      'while both were in force, and after that': have('neighbour', 'settler'),
      'while both were in force, and when it was taken back': have('neighbour', 'returned'),
      'the sleeper was refused': (state) =>
        setting.order[0] === 'sleeper' &&
        state.proposals[0]!.promises.some((slot) => slot?.reply.type === 'stale-set'),
      'the reader returned': (state) => model.read(state) !== undefined,
      'a register was rewritten': have('mover', 'settler'),
      'one that was told is lost': ({ lost, sets }) => lost.some((id) => sets[id] === 2),
    },
    maxStates: MAX_STATES,
  });
}

const reached = new Map<string, number>();

test.each(CASES)('holds: $old to $next, written: $isWritten, $order, $ends', (setting) => {
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

const SLEEPING = settling(REPLACED, ORDERS[1]!);

test.each([
  ['new first', 'goesOn', losing(REPLACED, [])],
  ['set 2 is used when an old acceptor knows', 'goesOn', losing(REPLACED, ['neighbour'])],
  ['old quorum must know before it is over', 'oneHistory', SLEEPING],
  ['acceptors refuse older sets', 'oneHistory', SLEEPING],
  ['look again after loading', 'oneHistory', SLEEPING],
  ['look again after loading', 'noStaleRead', reading(REMOVED)],
  ['record remembers its set', 'oneHistory', SLEEPING],
  ['list those who know', 'oneHistory', SLEEPING],
  ['every register rewritten before the old set is forgotten', 'oneHistory', SLEEPING],
  ['set 2 needs a quorum of the old', 'oneHistory', returning(REMOVED, ['neighbour', 'returned'])],
  ['set 2 needs a quorum of the new', 'oneHistory', settling(REMOVED, ['mover', 'neighbour', 'settler'])],
  ['back is decided while both are in force', 'oneHistory', endingEither(REMOVED, ['settler', 'returned'])],
] satisfies [Guard, string, Setting][])(
  'without "%s" the invariant %s is broken',
  (without, invariant, setting) => {
    expect(run({ ...setting, without }, invariant)).toMatchObject({ outcome: 'violated', invariant });
  },
);
