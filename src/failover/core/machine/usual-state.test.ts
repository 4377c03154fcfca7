import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { aMove, type Move, reportFor } from '../../../../test/failover/random-reports.ts';
import { failedOver, healthy, movingTo, quiesced, quiescing } from '../../../../test/failover/reports.ts';
import { SITUATIONS, situation } from '../../../../test/failover/situations.ts';
import { parseState, state as schema } from './schema.ts';
import { type FailoverState, MACHINE_VERSION } from './state.ts';
import { FORM, isStored, type StoredState, storedForm, unpacked } from './stored.ts';
import { transition } from './transition.ts';
import { readUsual } from './usual-state.ts';

type Path = readonly string[];
type Fields = Record<string, unknown>;

/** With everything in it that a usual state can have. */
function crowded(): FailoverState {
  const moving = quiescing('B', healthy({ maxLossWrites: 5, staleness: { writes: 5, seconds: 6 } }));
  const [first] = moving.open;
  const told = {
    ...moving.regions['C']!,
    building: true,
    leaving: true,
    deaths: 1,
    good: 2,
    stop: 1,
    had: { epoch: 1, primary: 3, lsn: 9 },
  } as const;
  const report = { ...moving.regions['B']!.report!, unable: true, signals: ['disk'] } as const;
  return {
    ...moving,
    removed: ['D'],
    departed: [{ region: 'D', incarnation: 3, beat: 40 }],
    sureFrom: 1,
    pin: 'B',
    paused: true,
    final: { epoch: 1, primary: 3, lsn: 10 },
    raise: { ...moving.raise, target: 'B', acceptLoss: true },
    open: [{ ...first!, id: 'i-2', kind: 'switchover', who: 'ops', target: 'B', gcn: 1 }],
    recent: [{ id: 'i-1', kind: 'pause', end: 'honoured' }],
    statistics: { A: { count: 2, average: 1.5, mean: 1.5, squares: 0.25 } },
    regions: { ...moving.regions, B: { ...moving.regions['B']!, report }, C: told },
  };
}

function withoutSignals(state: FailoverState): FailoverState {
  const { signals: _, ...configuration } = state.configuration;
  return { ...state, configuration };
}

const SAMPLES: readonly FailoverState[] = [
  healthy(),
  crowded(),
  ...SITUATIONS.map((name) => withoutSignals(situation(name))),
  failedOver(healthy(), ['B', 'C']),
  quiesced(quiescing('B')),
  movingTo('C'),
];

/** How people configure it now and then; the quick way leaves that to the schema. */
function isRare({ configuration }: FailoverState): boolean {
  const { wanted, signals, failback } = configuration;
  return typeof failback !== 'string' || wanted !== undefined || signals !== undefined;
}

/** As it comes out of a register. */
function packed(state: FailoverState): StoredState & Fields {
  return throughJson(storedForm(state)) as StoredState & Fields;
}

function throughJson(value: unknown): Fields {
  return JSON.parse(JSON.stringify(value)) as Fields;
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null;
}

/** To every part of it, the whole first. */
function pathsIn(value: unknown, path: Path = []): readonly Path[] {
  if (!isObject(value)) return [path];
  return [path, ...Object.keys(value).flatMap((key) => pathsIn(value[key], [...path, key]))];
}

/** A copy in which `edit` has been at the member that the path leads to. */
function edited(value: Fields, path: Path, edit: (holder: Fields, key: string) => void): unknown {
  const root: Fields = { value: structuredClone(value) };
  let holder = root;
  for (const key of ['value', ...path].slice(0, -1)) holder = holder[key] as Fields;
  edit(holder, path.at(-1) ?? 'value');
  return root['value'];
}

/** An assignment would not make a member of every name. */
function put(holder: Fields, key: string, value: unknown): void {
  Object.defineProperty(holder, key, { value, enumerable: true, configurable: true, writable: true });
}

const many = (count: number): readonly string[] => Array.from({ length: count }, (_, at) => `r${at}`);

const NUMBERS = [0, -0, 1, -1, 1.5, NaN, Infinity, -Infinity, 2 ** 53 - 1, 2 ** 53, 1e300];
const TEXTS = ['', 'A', '1', 'x'.repeat(64), 'x'.repeat(65), 'Steady', 'honoured', 'automatic', '__proto__'];
const LISTS = [[], [''], ['A'], [null], many(64), many(65), Object.assign([], { length: 2 })];
const OBJECTS: readonly unknown[] = [
  {},
  { A: 1 },
  { '': {} },
  { ['x'.repeat(65)]: {} },
  { windows: [{ from: '25:00', to: '01:00' }] },
  JSON.parse('{"__proto__":{"a":1}}'),
  new Map(),
];
const EDGES = [undefined, null, true, false, ...NUMBERS, ...TEXTS, ...LISTS, ...OBJECTS];

const WORDS = [
  '__proto__',
  'constructor',
  'newer',
  'staleness',
  'wanted',
  'signals',
  'quiesce',
  'final',
  'pin',
  '0',
  '',
];

/** The state with each of the edges in that place, with nothing there, and with what is there under other names too. */
function neighbours(state: Fields, path: Path): readonly unknown[] {
  const replaced = EDGES.map((value) => edited(state, path, (holder, key) => put(holder, key, value)));
  if (path.length === 0) return replaced;
  const copied = [...WORDS, 'x'.repeat(65)].map((word) =>
    edited(state, path, (holder, key) => put(holder, word, holder[key])),
  );
  return [...replaced, edited(state, path, (holder, key) => delete holder[key]), ...copied];
}

interface Mutation {
  readonly at: number;
  /** `vary`: by something of the same kind. */
  readonly how: 'replace' | 'vary' | 'delete' | 'add';
  readonly word: string;
  readonly value: unknown;
}

const anything = fc.oneof(fc.constantFrom(...EDGES), fc.jsonValue({ maxDepth: 2 }), fc.double(), fc.string());
const aMutation: fc.Arbitrary<Mutation> = fc.record({
  at: fc.nat(),
  how: fc.constantFrom('replace', 'vary', 'vary', 'delete', 'add', 'add'),
  word: fc.oneof(fc.constantFrom(...WORDS), fc.string()),
  value: anything,
});

function mutated(state: unknown, { at, how, word, value }: Mutation): unknown {
  if (!isObject(state)) return state;
  const paths = pathsIn(state);
  return edited(state, paths[at % paths.length]!, (holder, key) => {
    const inside = holder[key];
    if (how === 'add' && isObject(inside) && !Array.isArray(inside)) put(inside, word, value);
    else if (how === 'delete' && !Array.isArray(holder)) delete holder[key];
    else put(holder, key, how === 'vary' ? varied(inside, at, word) : value);
  });
}

function varied(value: unknown, number: number, word: string): unknown {
  if (typeof value === 'number') return number % 7;
  return typeof value === 'string' ? word : value;
}

const mutants = fc
  .tuple(fc.constantFrom(...SAMPLES.map(packed)), fc.array(aMutation, { minLength: 1, maxLength: 3 }))
  .map(([state, mutations]) => throughJson({ value: mutations.reduce<unknown>(mutated, state) })['value'])
  .filter(isStored)
  .filter(({ form }) => form === FORM);

/** The same, but with something in it that only the schema takes: its way is the slow one. */
function theSlowWay(value: StoredState): StoredState {
  const state = value.state as Fields;
  const configuration = isObject(state) ? state['l'] : undefined;
  if (!isObject(configuration) || Array.isArray(configuration)) return value;
  return { ...value, state: { ...state, l: { ...configuration, ah: {} } } };
}

/** What the slow way makes of it, before the parts are held against each other. */
function theSchemaTakes(value: StoredState): boolean {
  return schema.safeParse(unpacked(value)).success;
}

describe('what is read the quick way', () => {
  test('is what the schema takes, field by field, whichever field holds whatever, under whatever name', () => {
    const wrong: string[] = [];
    let usual = 0;
    for (const stored of [healthy(), crowded()].map(packed)) {
      for (const path of pathsIn(stored.state)) {
        for (const [at, state] of neighbours(stored.state as Fields, path).entries()) {
          const candidate = throughJson({ ...stored, state }) as StoredState & Fields;
          const read = readUsual(candidate);
          if (read === undefined) continue;
          usual += 1;
          if (!theSchemaTakes(candidate)) wrong.push(`${path.join('.')}: neighbour ${at}`);
          expect(read).toEqual(unpacked(candidate));
        }
      }
    }
    expect(wrong).toEqual([]);
    expect(usual).toBeGreaterThan(300);
  });

  test('is what the schema takes, however it was made', () => {
    let usual = 0;
    let wrong = 0;
    const property = fc.property(mutants, (value) => {
      const read = readUsual(value);
      const isState = theSchemaTakes(value);
      if (read !== undefined) {
        usual += 1;
        expect(isState).toBe(true);
        expect(read).toEqual(unpacked(value));
      }
      if (!isState) wrong += 1;
    });
    fc.assert(property, { seed: 11, numRuns: 1000 });
    expect(usual).toBeGreaterThan(100);
    expect(wrong).toBeGreaterThan(300);
  });

  test('is nearly every state that there is', () => {
    for (const state of SAMPLES) expect(readUsual(packed(state))).toStrictEqual(throughJson(state));
    let rare = 0;
    let states = 0;
    const property = fc.property(fc.array(aMove, { maxLength: 40, size: 'max' }), (moves) => {
      const see = (before: FailoverState, move: Move): FailoverState => {
        const verdict = transition(before, reportFor(before, move));
        if (verdict.verdict !== 'accepted') return before;
        states += 1;
        if (isRare(verdict.state)) rare += 1;
        const read = readUsual(packed(verdict.state), before);
        if (isRare(verdict.state)) expect(read).toBeUndefined();
        else expect(read).toStrictEqual(throughJson(verdict.state));
        return verdict.state;
      };
      moves.reduce(see, healthy());
    });
    fc.assert(property, { seed: 12, numRuns: 100 });
    expect(states - rare).toBeGreaterThan(500);
  });

  test('shares with what was known before all that is still so, and nothing else', () => {
    const before = failedOver(healthy(), ['B', 'C']);
    const { gcn, regions, configuration } = before;
    const report = { ...regions['B']!.report!, gclsn: 99 };
    const next: FailoverState = {
      ...before,
      gcn: gcn + 1,
      leaseSet: [...before.leaseSet].reverse(),
      configuration: { ...configuration, version: configuration.version + 1 },
      regions: { ...regions, B: { ...regions['B']!, report } },
    };
    const read = readUsual(packed(next), before)!;
    expect(read).toStrictEqual(throughJson(next));
    for (const part of ['raise', 'damping', 'open', 'recent', 'history'] as const)
      expect(read[part]).toBe(before[part]);
    expect(read.regions['B']!.report!.reaches).toBe(regions['B']!.report!.reaches);
    expect(read.regions['B']!.report!.progress).toBe(regions['B']!.report!.progress);
    expect(before.history.length).toBeGreaterThan(0);
    expect(readUsual(packed(before), read)).toStrictEqual(throughJson(before));
  });

  test('is nothing with a field of a newer version: that survives the slow way', () => {
    const value = { ...throughJson(healthy()), newer: { deep: [1] } };
    const stored = throughJson(storedForm(value as unknown as FailoverState)) as unknown as StoredState;
    expect(readUsual(stored)).toBeUndefined();
    expect(parseState(stored)).toEqual({ value });
  });

  test('is nothing with a list that has holes', () => {
    const stored = packed(healthy());
    const holed = { ...stored, state: { ...(stored.state as Fields), p: Object.assign([], { length: 1 }) } };
    expect(readUsual(holed)).toBeUndefined();
  });
});

describe('the two ways to a state', () => {
  test('lead to the same answer: the same value, or the same field refused for the same reason', () => {
    const seen = { taken: 0, malformed: 0, misfit: 0 };
    const property = fc.property(mutants, (value) => {
      const quick = parseState(value);
      const slowly = theSlowWay(value);
      expect(readUsual(slowly)).toBeUndefined();
      const slow = parseState(slowly);
      if ('value' in quick) {
        expect(quick.value).toEqual(unpacked(value));
        expect(slow).toEqual({ value: unpacked(slowly) });
        seen.taken += 1;
        return;
      }
      const parsed = schema.safeParse(unpacked(value));
      if (quick.refusal.code === 'STATE_MALFORMED' && !parsed.success) {
        expect(quick.refusal.field).toBe(parsed.error.issues[0]!.path.join('.') || 'state');
        seen.malformed += 1;
      } else if (quick.refusal.code === 'STATE_MALFORMED') seen.misfit += 1;
      // The field that was put there to make it slow may have been the one that was wrong.
      if (!quick.refusal.field.startsWith('configuration.wanted')) expect(slow).toEqual(quick);
    });
    fc.assert(property, { seed: 13, numRuns: 1000 });
    expect(seen.taken).toBeGreaterThan(80);
    expect(seen.malformed).toBeGreaterThan(300);
    expect(seen.misfit).toBeGreaterThan(20);
  });

  test('refuse what is too new, before they look at the rest', () => {
    const tooNew = packed({ ...healthy(), minReader: MACHINE_VERSION + 1 });
    expect(parseState(tooNew)).toMatchObject({ refusal: { code: 'STATE_TOO_NEW', field: 'minReader' } });
    expect(parseState(theSlowWay(tooNew))).toEqual(parseState(tooNew));
  });

  test('refuse a state whose parts do not fit each other', () => {
    const stranger = packed({ ...healthy(), leaseSet: ['A', 'elsewhere'] });
    expect(readUsual(stranger)).toBeDefined();
    expect(parseState(stranger)).toMatchObject({ refusal: { code: 'STATE_MALFORMED', field: 'leaseSet' } });
  });
});
