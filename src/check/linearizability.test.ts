import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  casRegister,
  checkLinearizability,
  endOf,
  explainLinearizability,
  type History,
  type Operation,
  type RegisterInput,
  type RegisterOutput,
  seededChoose,
  type SequentialModel,
  type SequentialObject,
  simulateHistory,
} from 'baton/check';

type RegisterOperation = Operation<RegisterInput<number>, RegisterOutput<number>>;

const model = casRegister<number>();
let processes = 0;
const operation = (
  start: number,
  end: number | undefined,
  input: RegisterInput<number>,
  output?: RegisterOutput<number>,
): RegisterOperation => ({ process: (processes += 1), start, end, input, output });

const read = (start: number, end: number, value: number | null) =>
  operation(start, end, { kind: 'read' }, { kind: 'value', value });
const write = (start: number, end: number | undefined, value: number) =>
  operation(start, end, { kind: 'write', value }, { kind: 'done' });
const cas = (
  start: number,
  end: number | undefined,
  from: number,
  to: number,
  kind: 'done' | 'refused' = 'done',
) => operation(start, end, { kind: 'cas', from, to }, { kind });

const withKey = (each: RegisterOperation, key: string): RegisterOperation => ({ ...each, key });

const GOOD: Record<string, RegisterOperation[]> = {
  'nothing at all': [],
  'a read of a register never written': [read(0, 1, null)],
  'a read that overlaps a write sees the old value': [write(0, 10, 1), read(1, 2, null)],
  'or the new one': [write(0, 10, 1), read(1, 2, 1)],
  'writes that overlap take either order': [write(0, 10, 1), write(0, 10, 2), read(11, 12, 1)],
  'an unknown write that never happened': [write(0, undefined, 1), read(1, 2, null), read(3, 4, null)],
  'an unknown write that happened late': [write(0, undefined, 1), read(1, 2, null), read(3, 4, 1)],
  'an infinite end is an unknown outcome': [write(0, Infinity, 1), read(1, 2, null)],
  'an unknown cas that happened between two writes': [
    write(0, 1, 1),
    cas(2, undefined, 2, 3),
    read(3, 4, 1),
    write(5, 6, 2),
    read(7, 8, 3),
  ],
  'a refused cas beside a write': [write(0, 1, 1), write(2, 9, 2), cas(3, 4, 1, 5, 'refused'), read(5, 6, 2)],
  'an end at the instant of a start counts as concurrent': [write(0, 5, 1), read(5, 6, null)],
};

const BAD: Record<string, RegisterOperation[]> = {
  'a stale read': [write(0, 1, 1), read(2, 3, null)],
  'a read from the future': [read(0, 1, 1), write(2, 3, 1)],
  'a value from nowhere': [write(0, 1, 1), read(2, 3, 2)],
  'two reads in turn that go back': [write(0, 10, 1), read(1, 2, 1), read(3, 4, null)],
  'two readers that disagree on the order': [
    write(0, 1, 1),
    write(2, 20, 2),
    write(2, 20, 3),
    read(3, 4, 2),
    read(5, 6, 3),
    read(7, 8, 2),
  ],
  'a cas that cannot have succeeded': [write(0, 1, 1), cas(2, 3, 2, 3)],
  'a cas that cannot have been refused': [write(0, 1, 1), cas(2, 3, 1, 2, 'refused')],
  'two cas from one value': [write(0, 1, 1), cas(2, 9, 1, 2), cas(2, 9, 1, 3)],
  'an unknown write that happened before its start': [read(0, 1, 1), write(2, undefined, 1)],
  'an unknown write that happened twice': [
    write(0, undefined, 1),
    read(1, 2, 1),
    write(3, 4, 2),
    read(5, 6, 1),
  ],
  'a lost write': [write(0, 1, 1), write(2, 3, 2), read(4, 5, 1)],
};

describe('a compare-and-set register', () => {
  test.each(Object.entries(GOOD))('linearizable: %s', (_, history) => {
    expect(checkLinearizability(model, history)).toEqual({ verdict: 'linearizable' });
    expect(bruteForce(model, history)).toBe(true);
  });

  test.each(Object.entries(BAD))('not linearizable: %s', (_, history) => {
    expect(checkLinearizability(model, history).verdict).toBe('not linearizable');
    expect(bruteForce(model, history)).toBe(false);
  });

  test('an operation that ends before it starts is an error of the caller', () => {
    expect(() => checkLinearizability(model, [write(2, 1, 1)])).toThrow('ends before it starts');
  });
});

describe('the explanation', () => {
  test('names the order that gets farthest and what does not fit behind it', () => {
    processes = 0;
    const history = [write(0, 1, 1), write(2, 8, 2), read(3, 4, 2), read(5, 6, 1), cas(5, 7, 3, 4)];
    const verdict = checkLinearizability(model, history);
    expect(explainLinearizability(verdict, model)).toMatchInlineSnapshot(`
      "not linearizable: the only key
      after this order, the one that explains the longest time,
        write 1 -> done (process 1, from 0 to 1)
        write 2 -> done (process 2, from 2 to 8)
        read -> 2 (process 3, from 3 to 4)
      the state is 2, and nothing that may come next by its time explains
        read -> 1 (process 4, from 5 to 6)
      nor, concurrent with it,
        cas 3 to 4 -> done (process 5, from 5 to 7)"
    `);
  });

  test('is of the key that is bad, and works without words of the model', () => {
    processes = 0;
    const history = [
      withKey(write(0, 1, 1), 'a'),
      withKey(read(2, 3, null), 'b'),
      withKey(read(2, 3, 7), 'c'),
    ];
    expect(explainLinearizability(checkLinearizability(model, history))).toMatchInlineSnapshot(`
      "not linearizable: key "c"
      before any operation
      the state is null, and nothing that may come next by its time explains
        {"kind":"read"} -> {"kind":"value","value":7} (process 3, from 2 to 3)"
    `);
  });

  test('shows the end of a long order only', () => {
    processes = 0;
    const writes = Array.from({ length: 100 }, (_, index) => write(2 * index, 2 * index + 1, index));
    const verdict = checkLinearizability(model, [...writes, read(300, 301, 0)]);
    expect(explainLinearizability(verdict, model).split('\n').slice(0, 4)).toMatchInlineSnapshot(`
      [
        "not linearizable: the only key",
        "after this order, the one that explains the longest time,",
        "  (92 earlier operations)",
        "  write 92 -> done (process 93, from 184 to 185)",
      ]
    `);
  });
});

/** Many writes at once of which no order explains the read: the search has to try every subset. */
const hard = (key: string, writes: number): RegisterOperation[] => [
  ...Array.from({ length: writes }, (_, index) => withKey(write(0, 10, index), key)),
  withKey(read(11, 12, -1), key),
];

describe('the limit of work', () => {
  test('leaves the verdict open rather than run for ever', () => {
    const verdict = checkLinearizability(model, hard('x', 40), { maxWork: 50_000 });
    expect(verdict).toMatchObject({ verdict: 'undecided', keys: ['x'] });
    expect(explainLinearizability(verdict)).toContain('undecided');
  });

  test('does not hide a key that is plainly bad', () => {
    const history = [...hard('x', 40), withKey(read(0, 1, 5), 'y')];
    const verdict = checkLinearizability(model, history, { maxWork: 50_000 });
    expect(verdict).toMatchObject({ verdict: 'not linearizable', key: 'y' });
  });

  test('is per key', () => {
    const history = Array.from({ length: 50 }, (_, index) => withKey(read(0, 1, null), `key ${index}`));
    expect(checkLinearizability(model, history, { maxWork: 5 }).verdict).toBe('linearizable');
  });
});

describe('properties', () => {
  const register: SequentialObject<number | null, RegisterInput<number>, RegisterOutput<number>> = {
    initial: null,
    nextInput(choose) {
      const kind = (['read', 'write', 'cas'] as const)[choose(3)]!;
      if (kind === 'read') return { kind };
      return kind === 'write' ? { kind, value: choose(4) } : { kind, from: choose(4), to: choose(4) };
    },
    apply(state, input) {
      if (input.kind === 'read') return { state, output: { kind: 'value', value: state } };
      if (input.kind === 'write') return { state: input.value, output: { kind: 'done' } };
      if (state !== input.from) return { state, output: { kind: 'refused' } };
      return { state: input.to, output: { kind: 'done' } };
    },
  };

  test('what a real register did is accepted', () => {
    const runs = fc.record({
      seed: fc.nat(),
      operations: fc.integer({ min: 1, max: 80 }),
      processes: fc.integer({ min: 1, max: 6 }),
      keys: fc.integer({ min: 1, max: 3 }),
      unknownPercent: fc.integer({ min: 0, max: 25 }),
    });
    fc.assert(
      fc.property(runs, ({ seed, ...options }) => {
        const history = simulateHistory(register, options, seededChoose(seed));
        expect(checkLinearizability(model, history)).toEqual({ verdict: 'linearizable' });
      }),
      { seed: 2, numRuns: 500 },
    );
  });

  test('the verdict is that of trying every permutation', () => {
    const value = fc.integer({ min: 0, max: 1 });
    const seen = fc.option(value, { nil: null });
    const whatHappened = fc.oneof(
      fc.record({
        input: fc.constant({ kind: 'read' } as const),
        output: fc.record({ kind: fc.constant('value' as const), value: seen }),
      }),
      fc.record({
        input: fc.record({ kind: fc.constant('write' as const), value }),
        output: fc.constant({ kind: 'done' } as const),
      }),
      fc.record({
        input: fc.record({ kind: fc.constant('cas' as const), from: value, to: value }),
        output: fc.constantFrom({ kind: 'done' } as const, { kind: 'refused' } as const),
      }),
    );
    const time = fc.record({
      start: fc.nat(8),
      length: fc.option(fc.nat(4), { nil: undefined, freq: 4 }),
    });
    const operations = fc
      .tuple(whatHappened, time)
      .map(([{ input, output }, { start, length }]): RegisterOperation => {
        return operation(start, length === undefined ? undefined : start + length, input, output);
      });
    const verdicts = { good: 0, bad: 0 };
    fc.assert(
      fc.property(fc.array(operations, { maxLength: 6 }), (history) => {
        const good = bruteForce(model, history);
        verdicts[good ? 'good' : 'bad'] += 1;
        expect(checkLinearizability(model, history).verdict).toBe(good ? 'linearizable' : 'not linearizable');
      }),
      { seed: 3, numRuns: 2000 },
    );
    expect(Math.min(verdicts.good, verdicts.bad)).toBeGreaterThan(300);
  });
});

/** Every subset of the unknown operations, every permutation of those and the completed ones. */
function bruteForce<S, I, O>(object: SequentialModel<S, I, O>, history: History<I, O>): boolean {
  const completed = history.filter((each) => endOf(each) !== Infinity);
  const unknown = history.filter((each) => endOf(each) === Infinity);
  for (let subset = 0; subset < 2 ** unknown.length; subset += 1) {
    const chosen = unknown.filter((_, index) => (subset >> index) % 2 === 1);
    for (const order of permutations([...completed, ...chosen])) {
      if (keepsToTime(order) && explains(object, order)) return true;
    }
  }
  return false;
}

function* permutations<T>(items: readonly T[]): Iterable<T[]> {
  if (items.length === 0) yield [];
  for (const [index, item] of items.entries()) {
    for (const rest of permutations(items.toSpliced(index, 1))) yield [item, ...rest];
  }
}

function keepsToTime(order: History<unknown, unknown>): boolean {
  return order.every((earlier, index) =>
    order.slice(index + 1).every((later) => endOf(later) >= earlier.start),
  );
}

function explains<S, I, O>(object: SequentialModel<S, I, O>, order: History<I, O>): boolean {
  let states: readonly S[] = [object.initial];
  for (const each of order) {
    states = states.flatMap((state) =>
      endOf(each) === Infinity
        ? object.effects(state, each.input)
        : object.step(state, each.input, each.output as O),
    );
  }
  return states.length > 0;
}
