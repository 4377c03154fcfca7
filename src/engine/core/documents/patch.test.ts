import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { JsonObject } from './json-value.ts';
import { patch } from './patch.ts';
import { LIMITS, type PatchStep } from './request.ts';

function run(document: unknown, ...steps: PatchStep[]): unknown {
  const patched = patch(structuredClone(document) as JsonObject, steps, [['pk', 'part']], LIMITS);
  return patched.ok ? patched.document : patched.message;
}

describe('each kind of step', () => {
  const cases: [name: string, before: unknown, steps: PatchStep[], after: unknown][] = [
    ['add a property', { a: 1 }, [{ op: 'add', path: '/b', value: 2 }], { a: 1, b: 2 }],
    ['add over a property', { a: 1 }, [{ op: 'add', path: '/a', value: null }], { a: null }],
    ['add into an array', { a: [1, 3] }, [{ op: 'add', path: '/a/1', value: 2 }], { a: [1, 2, 3] }],
    ['add at the end', { a: [1] }, [{ op: 'add', path: '/a/1', value: 2 }], { a: [1, 2] }],
    ['append', { a: [1] }, [{ op: 'add', path: '/a/-', value: 2 }], { a: [1, 2] }],
    ['set a property', { a: 1 }, [{ op: 'set', path: '/b', value: 2 }], { a: 1, b: 2 }],
    ['set an element', { a: [1, 2] }, [{ op: 'set', path: '/a/0', value: 9 }], { a: [9, 2] }],
    ['set behind the end', { a: [1] }, [{ op: 'set', path: '/a/-', value: 9 }], { a: [1, 9] }],
    ['replace', { a: { b: 1 } }, [{ op: 'replace', path: '/a/b', value: [] }], { a: { b: [] } }],
    ['replace an element', { a: [1, 2] }, [{ op: 'replace', path: '/a/1', value: 3 }], { a: [1, 3] }],
    ['remove', { a: 1, b: 2 }, [{ op: 'remove', path: '/a' }], { b: 2 }],
    ['remove an element', { a: [1, 2, 3] }, [{ op: 'remove', path: '/a/1' }], { a: [1, 3] }],
    ['incr', { a: 1 }, [{ op: 'incr', path: '/a', value: -2.5 }], { a: -1.5 }],
    ['incr what is missing', {}, [{ op: 'incr', path: '/a', value: 4 }], { a: 4 }],
    ['incr an element', { a: [1] }, [{ op: 'incr', path: '/a/0', value: 4 }], { a: [5] }],
    ['move', { a: 1, b: {} }, [{ op: 'move', from: '/a', path: '/b/c' }], { b: { c: 1 } }],
    ['move over', { a: 1, b: 2 }, [{ op: 'move', from: '/a', path: '/b' }], { b: 1 }],
    ['move in an array', { a: [1, 2, 3] }, [{ op: 'move', from: '/a/0', path: '/a/2' }], { a: [2, 3, 1] }],
    ['move to where it is', { a: 1 }, [{ op: 'move', from: '/a', path: '/a' }], { a: 1 }],
    [
      'escaped names',
      { 'a/b': { '~': 1 } },
      [{ op: 'set', path: '/a~1b/~0', value: 2 }],
      { 'a/b': { '~': 2 } },
    ],
    ['an escaped tilde before a digit', { '~1': 1 }, [{ op: 'set', path: '/~01', value: 2 }], { '~1': 2 }],
    ['a name of digits', { a: {} }, [{ op: 'add', path: '/a/0', value: 2 }], { a: { 0: 2 } }],
    ['ttl', { ttl: 5 }, [{ op: 'set', path: '/ttl', value: 6 }], { ttl: 6 }],
    [
      'beside the key',
      { pk: { part: 1 } },
      [{ op: 'set', path: '/pk/x', value: 6 }],
      { pk: { part: 1, x: 6 } },
    ],
  ];
  test.each(cases)('%s', (_, before, steps, after) => expect(run(before, ...steps)).toEqual(after));
});

describe('a step that cannot be', () => {
  const cases: [step: PatchStep, why: string][] = [
    [{ op: 'add', path: '/x/y', value: 1 }, 'leads to nothing'],
    [{ op: 'add', path: '/a/3', value: 1 }, 'leads to nothing'],
    [{ op: 'add', path: '/a/01', value: 1 }, 'leads to nothing'],
    [{ op: 'add', path: '/n/x', value: 1 }, 'leads to nothing'],
    [{ op: 'add', path: '/toString/x', value: 1 }, 'leads to nothing'],
    [{ op: 'add', path: '/b' }, 'needs a value'],
    [{ op: 'replace', path: '/x', value: 1 }, 'leads to nothing'],
    [{ op: 'replace', path: '/a/-', value: 1 }, 'leads to nothing'],
    [{ op: 'remove', path: '/x' }, 'leads to nothing'],
    [{ op: 'remove', path: '/a/2' }, 'leads to nothing'],
    [{ op: 'remove', path: '/toString' }, 'leads to nothing'],
    [{ op: 'incr', path: '/s', value: 1 }, 'not a number'],
    [{ op: 'incr', path: '/n', value: '1' }, 'needs a number'],
    [{ op: 'incr', path: '/n' }, 'needs a number'],
    [{ op: 'incr', path: '/a/2', value: 1 }, 'leads to nothing'],
    [{ op: 'incr', path: '/big', value: 1.7e308 }, 'too large'],
    [{ op: 'move', path: '/b', from: '/x' }, 'nothing to move'],
    [{ op: 'move', path: '/b' }, 'not a JSON pointer'],
    [{ op: 'move', path: '/o/p', from: '/o' }, 'into itself'],
    [{ op: 'move', path: '/b', from: '/id' }, 'the id'],
    [{ op: 'set', path: '/id', value: 'y' }, 'the id'],
    [{ op: 'set', path: '/_etag', value: 'y' }, 'system properties'],
    [{ op: 'set', path: '/pk/part', value: 'y' }, 'the partition key'],
    [{ op: 'set', path: '/pk', value: {} }, 'the partition key'],
    [{ op: 'remove', path: '/pk' }, 'the partition key'],
    [{ op: 'set', path: '/pk/part/x', value: 'y' }, 'the partition key'],
    [{ op: 'set', path: '', value: {} }, 'not a JSON pointer'],
    [{ op: 'set', path: 'b', value: {} }, 'not a JSON pointer'],
    [{ op: 'set', path: '/a~2', value: {} }, 'not a JSON pointer'],
    [{ op: 'copy' as 'set', path: '/b', value: 1 }, 'no such step'],
  ];
  const document = { id: 'x', pk: { part: 'p' }, a: [1, 2], n: 1, s: 's', o: {}, big: 1.7e308 };
  test.each(cases)('%j', (step, why) => {
    const message = run(document, { op: 'set', path: '/fine', value: 1 }, step);
    expect(message).toContain(`Step 2 of the patch, ${step.op} ${step.path}, failed: `);
    expect(message).toContain(why);
  });
});

test('a patch has one to ten steps', () => {
  const step: PatchStep = { op: 'incr', path: '/n', value: 1 };
  expect(run({})).toContain('at least one');
  expect(run({}, ...Array.from({ length: 10 }, () => step))).toEqual({ n: 10 });
  expect(run({}, ...Array.from({ length: 11 }, () => step))).toContain('11 steps');
});

test('the values of the request stay as they are', () => {
  const value = { list: [1] };
  const steps: PatchStep[] = [
    { op: 'set', path: '/a', value },
    { op: 'set', path: '/a/list/-', value: 2 },
  ];
  expect(run({}, ...steps)).toEqual({ a: { list: [1, 2] } });
  expect(value).toEqual({ list: [1] });
});

test('a property named __proto__ is one like any other', () => {
  const value = JSON.parse('{"__proto__":{"polluted":1}}') as unknown;
  const patched = run({}, { op: 'set', path: '/__proto__', value: 1 }, { op: 'set', path: '/a', value });
  expect(JSON.stringify(patched)).toBe('{"__proto__":1,"a":{"__proto__":{"polluted":1}}}');
  expect(run({}, { op: 'set', path: '/__proto__/x', value: 1 })).toContain('leads to nothing');
});

test('a value that is nested too deeply is refused', () => {
  let value: unknown = 1;
  for (let level = 0; level < 100_000; level++) value = [value];
  expect(run({}, { op: 'set', path: '/a', value })).toContain('too deeply');
});

/** The same, naively: nothing is changed in place, every value on the way down is built anew. */
type Edit = (old: { readonly value: unknown } | undefined) => { readonly value: unknown } | 'gone' | 'fail';

function rebuild(node: unknown, [name, ...rest]: string[], edit: Edit, insert: boolean): unknown {
  const descend = (old: { readonly value: unknown } | undefined) => {
    if (rest.length === 0) return edit(old);
    if (old === undefined) return 'fail';
    const inner = rebuild(old.value, rest, edit, insert);
    return inner === FAILED ? 'fail' : { value: inner };
  };
  if (Array.isArray(node)) {
    const at = name === '-' && rest.length === 0 ? node.length : Number(name);
    if (!/^(-|\d+)$/.test(name!) || !(at <= node.length)) return FAILED;
    const inserts = insert && rest.length === 0;
    const result = descend(!inserts && at < node.length ? { value: node[at] as unknown } : undefined);
    if (result === 'fail') return FAILED;
    const middle = result === 'gone' ? [] : [result.value];
    return [
      ...(node as unknown[]).slice(0, at),
      ...middle,
      ...(node as unknown[]).slice(inserts ? at : at + 1),
    ];
  }
  if (typeof node !== 'object' || node === null) return FAILED;
  const entries = new Map(Object.entries(node));
  const result = descend(entries.has(name!) ? { value: entries.get(name!) as unknown } : undefined);
  if (result === 'fail') return FAILED;
  if (result === 'gone') entries.delete(name!);
  else entries.set(name!, result.value);
  return Object.fromEntries(entries);
}
const FAILED = Symbol('failed');

function naive(document: unknown, { op, path, from, value }: PatchStep): unknown {
  const names = path.slice(1).split('/');
  const intoArray = (edit: Edit) => rebuild(document, names, edit, false);
  switch (op) {
    case 'add':
      return rebuild(document, names, () => ({ value }), true);
    case 'set':
      return intoArray(() => ({ value }));
    case 'replace':
      return intoArray((old) => (old === undefined ? 'fail' : { value }));
    case 'remove':
      return intoArray((old) => (old === undefined ? 'fail' : 'gone'));
    case 'incr': {
      const inArray = Array.isArray(lookUp(document, names.slice(0, -1)));
      return intoArray((old) => {
        if (old === undefined) return inArray ? 'fail' : { value };
        return typeof old.value === 'number' ? { value: old.value + (value as number) } : 'fail';
      });
    }
    case 'move': {
      if (path.startsWith(`${from!}/`)) return FAILED;
      let moved: unknown = FAILED;
      const taken = naive(document, { op: 'remove', path: from! });
      if (taken !== FAILED) moved = lookUp(document, from!.slice(1).split('/'));
      return moved === FAILED ? FAILED : naive(taken, { op: 'add', path, value: moved });
    }
  }
}

function lookUp(document: unknown, names: string[]): unknown {
  return names.reduce<unknown>((node, name) => (node as JsonObject | undefined)?.[name], document);
}

test('patches do what the naive rebuilding does', () => {
  const value = fc.letrec((tie) => ({
    tree: fc.oneof(
      { depthSize: 'small' },
      fc.integer({ min: -5, max: 5 }),
      fc.constantFrom('s', null, true),
      fc.array(tie('tree'), { maxLength: 3 }),
      fc.dictionary(fc.constantFrom('a', 'b', '0', '1'), tie('tree'), { maxKeys: 3, noNullPrototype: true }),
    ),
  })).tree;
  const name = fc.constantFrom('a', 'b', '0', '1', '2', '-');
  const path = fc.oneof(
    fc.constantFrom('/a', '/b'),
    name.map((only) => `/${only}`),
    fc.tuple(fc.constantFrom('a', 'b'), name).map(([first, second]) => `/${first}/${second}`),
    fc.tuple(fc.constantFrom('a', 'b'), name, name).map((names) => `/${names.join('/')}`),
  );
  const step: fc.Arbitrary<PatchStep> = fc.oneof(
    fc.record({ op: fc.constantFrom('add', 'set', 'replace'), path, value }),
    fc.record({ op: fc.constant('remove'), path }),
    fc.record({ op: fc.constant('incr'), path, value: fc.integer({ min: -3, max: 3 }) }),
    fc.record({ op: fc.constant('move'), path, from: path }),
  );
  const document = fc.record({ a: value, b: value });
  let succeeded = 0;
  fc.assert(
    fc.property(document, fc.array(step, { minLength: 1, maxLength: 3 }), (before, steps) => {
      const expected = steps.reduce<unknown>(
        (now, each) => (now === FAILED ? FAILED : naive(now, each)),
        before,
      );
      const actual = run(before, ...steps);
      if (expected === FAILED) expect(actual).toContain('failed');
      else {
        expect(actual).toEqual(expected);
        succeeded++;
      }
    }),
    { seed: 3, numRuns: 4000 },
  );
  expect(succeeded).toBeGreaterThan(500);
});
