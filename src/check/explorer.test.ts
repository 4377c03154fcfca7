import { describe, expect, test } from 'vitest';
import { explore, formatTrace, neverReached, type Successor, type System } from 'baton/check';

interface Jugs {
  readonly small: number;
  readonly big: number;
}

/** Die Hard: a jug of three gallons and one of five, and a bomb that wants four. */
function* jugSteps({ small, big }: Jugs): Iterable<Successor<Jugs>> {
  yield { action: 'fill small', state: { small: 3, big } };
  yield { action: 'fill big', state: { small, big: 5 } };
  yield { action: 'empty small', state: { small: 0, big } };
  yield { action: 'empty big', state: { small, big: 0 } };
  const toBig = Math.min(small, 5 - big);
  yield { action: 'small to big', state: { small: small - toBig, big: big + toBig } };
  const toSmall = Math.min(big, 3 - small);
  yield { action: 'big to small', state: { small: small + toSmall, big: big - toSmall } };
}

const jugs: System<Jugs> = {
  initial: [{ small: 0, big: 0 }],
  successors: jugSteps,
  key: ({ small, big }) => `${small} ${big}`,
  invariants: { 'the jugs hold what they can': ({ small, big }) => small <= 3 && big <= 5 },
  maxStates: 1000,
};

/** Two processes that take a lock; without `atomic` they look and then take it in two steps. */
type Place = 'out' | 'looked' | 'in';
interface Mutex {
  readonly places: readonly [Place, Place];
  readonly locked: boolean;
}

function mutex(atomic: boolean): System<Mutex> {
  return {
    initial: [{ places: ['out', 'out'], locked: false }],
    successors: (state) => [0, 1].flatMap((process) => mutexSteps(state, process, atomic)),
    key: ({ places, locked }) => `${places.join()} ${locked}`,
    invariants: { exclusion: ({ places }) => !(places[0] === 'in' && places[1] === 'in') },
    reaches: {
      'second process in': ({ places }) => places[1] === 'in',
      'both waiting': ({ places }) => places.every((place) => place === 'looked'),
    },
    maxStates: 1000,
  };
}

function mutexSteps({ places, locked }: Mutex, process: number, atomic: boolean): Successor<Mutex>[] {
  const step = (action: string, place: Place, lockedAfter: boolean): Successor<Mutex> => ({
    action: `${action} ${process}`,
    state: { places: places.with(process, place) as [Place, Place], locked: lockedAfter },
  });
  if (places[process] === 'in') return [step('leave', 'out', false)];
  if (places[process] === 'looked') return [step('take', 'in', true)];
  if (locked) return [];
  return [atomic ? step('take', 'in', true) : step('look', 'looked', false)];
}

describe('a complete exploration', () => {
  test('counts the states, steps and levels of the jugs', () => {
    const result = explore(jugs);
    expect(result).toMatchObject({ outcome: 'complete', states: 16, transitions: 16 * 6, depth: 7 });
    expect(result.outcome === 'complete' && result.keys.has('0 4')).toBe(true);
  });

  test('counts how many states show what must be reached', () => {
    const result = explore(mutex(true));
    expect(result).toMatchObject({ outcome: 'complete', states: 3 });
    expect(result.reached).toEqual({ 'second process in': 1, 'both waiting': 0 });
    expect(neverReached(result)).toEqual(['both waiting']);
  });

  test('counts an initial state given twice once', () => {
    const result = explore({
      ...jugs,
      initial: [...jugs.initial, { small: 0, big: 0 }, { small: 2, big: 2 }],
    });
    expect(result).toMatchObject({ outcome: 'complete', states: 17 });
  });
});

describe('a violation', () => {
  test('comes with the shortest trace', () => {
    const result = explore({ ...jugs, invariants: { 'no four gallons': ({ big }) => big !== 4 } });
    expect(result.outcome === 'violated' && formatTrace(result.trace)).toMatchInlineSnapshot(`
      "0. initial: {"small":0,"big":0}
      1. fill big: {"small":0,"big":5}
      2. big to small: {"small":3,"big":2}
      3. empty small: {"small":0,"big":2}
      4. big to small: {"small":2,"big":0}
      5. fill big: {"small":2,"big":5}
      6. big to small: {"small":3,"big":4}"
    `);
    expect(result).toMatchObject({ invariant: 'no four gallons', depth: 6 });
  });

  test('is found in a lock that looks before it takes', () => {
    const result = explore(mutex(false));
    const actions = result.outcome === 'violated' ? result.trace.map(({ action }) => action) : [];
    expect(actions).toEqual(['initial', 'look 0', 'look 1', 'take 0', 'take 1']);
  });

  test('of an initial state has a trace of that state alone', () => {
    const result = explore({ ...jugs, invariants: { 'never empty': ({ small, big }) => small + big > 0 } });
    expect(result).toMatchObject({ outcome: 'violated', depth: 0, trace: [{ action: 'initial' }] });
  });
});

describe('the limit', () => {
  test('is an outcome of its own', () => {
    expect(explore({ ...jugs, maxStates: 15 })).toMatchObject({ outcome: 'limit reached', states: 15 });
  });

  test('that is just enough is not reached', () => {
    expect(explore({ ...jugs, maxStates: 16 })).toMatchObject({ outcome: 'complete', states: 16 });
  });
});

test('successors that are not pure are noticed when a trace is rebuilt', () => {
  let calls = 0;
  const system: System<number> = {
    initial: [0],
    successors: (state) => [{ action: 'step', state: state + (calls += 1) }],
    key: String,
    invariants: { small: (state) => state < 10 },
    maxStates: 100,
  };
  expect(() => explore(system)).toThrow('successors is not pure');
});
