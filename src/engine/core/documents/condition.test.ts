/** The conditions of patches: what they mean, and that no text makes reading or answering them fail or take long. */
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseCondition } from './condition.ts';
import { holds } from './condition-values.ts';
import type { JsonObject } from './json-value.ts';

const ITEM = JSON.parse(`{
  "id": "a", "n": 3, "zero": 0, "minus": -2, "text": "Hello", "flag": true, "off": false, "nothing": null,
  "list": [1, "two", {"three": 3, "four": 4}, [5]], "empty": [], "deep": {"er": {"x y": [10, {"z": "é"}]}},
  "same": {"b": 2, "a": 1}, "like": {"a": 1, "b": 2}, "from": 1, "__proto__": {"own": 1}
}`) as JsonObject;

function outcomeOf(expression: string, document: JsonObject = ITEM): boolean | string {
  const parsed = parseCondition(`FROM c WHERE ${expression}`);
  if (!parsed.ok) return parsed.message;
  return holds(parsed.condition, document) ?? 'too much work';
}

/** Told apart by asking for the opposite as well. */
function truthOf(expression: string): boolean | string | undefined {
  const outcome = outcomeOf(expression);
  if (outcome !== false) return outcome;
  return outcomeOf(`NOT (${expression})`) === true ? false : undefined;
}

describe('what a condition means', () => {
  test.each([
    ['c.n = 3', true],
    ['c.n = 4', false],
    ['c["n"] = 3.0', true],
    ['c.n != 4 AND c.n <> 4', true],
    ['c.n < 4 AND c.n <= 3 AND c.n > 2 AND c.n >= 3', true],
    ["c.text = 'Hello'", true],
    ['c.text < "Help" AND c.text > \'Apple\'', true],
    ['c.flag', true],
    ['c.off', false],
    ['NOT c.off', true],
    ['NOT NOT c.flag', true],
    ['NOT c.n = 4', true],
    ['c.off < c.flag', true],
    ['c.nothing = null', true],
    ['c.nothing != null', false],
    ['c.list[1] = "two"', true],
    ['c.list[2].three + 1 = c.list[2]["four"]', true],
    ["c.deep.er['x y'][1].z = '\\u00e9'", true],
    ['c.same = c.like', true],
    ['c.same != c.like', false],
    ['c.list = c.empty', false],
    ['c.from = 1', true],
    ['c.__proto__.own = 1', true],
    ['c.list.length = 4', undefined],
    ['c.constructor = 1', undefined],
  ])('%s', (expression, truth) => expect(truthOf(expression)).toBe(truth));

  test.each([
    ['c.n = "3"', undefined],
    ['c.n != "3"', undefined],
    ['c.n > null', undefined],
    ['c.missing = 1', undefined],
    ['c.missing = undefined', undefined],
    ['c.missing', undefined],
    ['c.text', undefined],
    ['c.same < c.like', undefined],
    ['c.missing = 1 OR c.flag', true],
    ['c.missing = 1 OR c.off', undefined],
    ['c.missing = 1 AND c.off', false],
    ['c.off AND c.missing = 1', false],
    ['c.missing = 1 AND c.flag', undefined],
    ['c.n OR c.flag', true],
    ['c.n AND c.flag', undefined],
  ])('types that differ, and what is not there: %s', (expression, truth) =>
    expect(truthOf(expression)).toBe(truth),
  );

  test.each([
    ['c.n IN (1, 2, 3)', true],
    ['c.n IN (1, "3")', undefined],
    ['c.n IN (1, 2)', false],
    ['c.n NOT IN (1, 2)', true],
    ['c.n BETWEEN 3 AND 3', true],
    ['c.n BETWEEN 4 AND 5', false],
    ['c.n NOT BETWEEN 4 AND 5', true],
    ['c.n BETWEEN "a" AND 1', false],
    ['c.n BETWEEN 1 AND "a"', undefined],
    ['c.n BETWEEN 1 AND 5 AND c.flag', true],
    ['1 + 2 * 3 = 7 AND (1 + 2) * 3 = 9', true],
    ['c.n % 2 = 1 AND 7 / 2 = 3.5 AND 5 - 1 - 1 = 3', true],
    ['-c.n = -3 AND +c.n = 3 AND -(c.n - 1) = c.minus', true],
    ['c.n / 0 = 1', undefined],
    ['c.text + 1 = 2', undefined],
    ['1e2 = 100 AND .5 = 0.5 AND 5. = 5', true],
    ['true OR false AND false', true],
    ['(true OR false) AND false', false],
  ])('lists, ranges, sums: %s', (expression, truth) => expect(truthOf(expression)).toBe(truth));

  test.each([
    ['IS_DEFINED(c.nothing) AND NOT IS_DEFINED(c.missing)', true],
    ['IS_NULL(c.nothing) AND NOT IS_NULL(c.missing)', true],
    ['IS_BOOL(c.flag) AND IS_NUMBER(c.n) AND IS_STRING(c.text)', true],
    ['IS_ARRAY(c.list) AND IS_OBJECT(c.same) AND NOT IS_OBJECT(c.list) AND NOT IS_OBJECT(c.nothing)', true],
    ['STARTSWITH(c.text, "He") AND ENDSWITH(c.text, "lo") AND CONTAINS(c.text, "ell")', true],
    ['startswith(c.text, "he")', false],
    ['STARTSWITH(c.text, "hE", true) AND CONTAINS(c.text, "ELL", true)', true],
    ['CONTAINS(c.text, "")', true],
    ['CONTAINS(c.text, "lll")', false],
    ['CONTAINS(c.text, c.n)', undefined],
    ['CONTAINS("ababac", "abac") AND NOT CONTAINS("abababa", "abac")', true],
    ['ARRAY_CONTAINS(c.list, "two") AND NOT ARRAY_CONTAINS(c.list, 2)', true],
    ['ARRAY_CONTAINS(c.list, c.list[2]) AND ARRAY_CONTAINS(c.list, c.list[3])', true],
    ['ARRAY_CONTAINS(c.text, "H")', undefined],
    ['LENGTH(c.text) = 5 AND ARRAY_LENGTH(c.list) = 4 AND ARRAY_LENGTH(c.empty) = 0', true],
    ['LENGTH(c.list) = 4', undefined],
    ['ABS(c.minus) = 2', true],
    ['LOWER(c.text) = "hello" AND UPPER(c.text) = "HELLO"', true],
  ])('functions: %s', (expression, truth) => expect(truthOf(expression)).toBe(truth));

  test('part of an object is enough for ARRAY_CONTAINS if it is told so', () => {
    const document = { list: [{ a: 1, b: 2 }], part: { a: 1 } };
    expect(outcomeOf('ARRAY_CONTAINS(c.list, c.part)', document)).toBe(false);
    expect(outcomeOf('ARRAY_CONTAINS(c.list, c.part, true)', document)).toBe(true);
  });

  test('keywords in any case, any name for the item, any white space', () => {
    const parsed = parseCondition('from\n\titem where\r\nitem.n=3 and Not item.off');
    expect(parsed.ok && holds(parsed.condition, ITEM)).toBe(true);
  });
});

describe('what cannot be read', () => {
  test.each([
    ['', 'The condition cannot be read at character 1: it ends, and FROM belongs there.'],
    ['c.n = 3', 'The condition cannot be read at character 1: FROM belongs there, not c.'],
    ['from c', 'The condition cannot be read at character 7: it ends, and WHERE belongs there.'],
    ['from c where', 'The condition cannot be read at character 13: it ends, and a value belongs there.'],
    ['from c where d.n = 3', 'The condition cannot be read at character 14: only c is known there, not d.'],
    ['from c where c.n = 3 c', 'The condition cannot be read at character 22: the end belongs there, not c.'],
    ['from c where NOW() = 3', 'The condition cannot be read at character 14: there is no function NOW.'],
    ['from c where ABS(1, 2) = 3', 'The condition cannot be read at character 14: ABS takes 1 operand.'],
    [
      "from c where c.n = 'x",
      'The condition cannot be read at character 20: the text that begins there does not end.',
    ],
    ['from c where c.n = 3;', 'The condition cannot be read at character 21: ";" has no meaning there.'],
    ["from c where c.n = '\\x'", 'The condition cannot be read at character 21: there is no such escape.'],
    [
      'from c where c[1.5] = 3',
      'The condition cannot be read at character 16: a name in quotation marks or the number of an element belongs there, not 1.5.',
    ],
    ['from c where 1e999 > c.n', 'The condition cannot be read at character 14: the number is too large.'],
    [
      'from c where c.n = 1 = 1',
      'The condition cannot be read at character 22: the end belongs there, not =.',
    ],
  ])('%s', (text, message) => expect(parseCondition(text)).toEqual({ ok: false, message }));

  test('too long, too deep', () => {
    const long = parseCondition(`from c where c.n = ${'1'.repeat(20_000)}`);
    expect(long).toEqual({
      ok: false,
      message: 'The condition has 20019 characters; at most 16384 are allowed.',
    });
    const nested = (levels: number): string => `${'('.repeat(levels)}true${')'.repeat(levels)}`;
    expect(outcomeOf(nested(40))).toBe(true);
    expect(outcomeOf(nested(60))).toMatch('nested deeper than 50 levels');
    expect(outcomeOf(`${'ABS('.repeat(60)}1${')'.repeat(60)} = 1`)).toMatch('nested deeper');
  });
});

describe('any text', () => {
  const words =
    'c|c.n|.|[|]|(|)|"|\'|\\|,|=|<|>|!|+|-|%|AND |OR |NOT | IN | BETWEEN |null|1|e9|CONTAINS(|LENGTH(|ARRAY_CONTAINS(';
  const word = fc.constantFrom(...words.split('|'));

  test('is read or refused, and answered', () => {
    const texts = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 200 }),
      fc.array(word, { maxLength: 40 }).map((some) => some.join('')),
      fc.array(word, { maxLength: 12 }).map((some) => some.join(' ')),
    );
    let read = 0;
    fc.assert(
      fc.property(texts, (text) => {
        const parsed = parseCondition(`from c where ${text}`);
        if (!parsed.ok) {
          expect(parsed.message).toMatch(/^The condition cannot be read at character \d+: .*\.$/s);
          return;
        }
        read += 1;
        expect(typeof holds(parsed.condition, ITEM)).toBe('boolean');
      }),
      { numRuns: 20_000, seed: 7 },
    );
    expect(read).toBeGreaterThan(100);
  });

  test('of the greatest length does not overflow anything', () => {
    for (const [head, again, tail] of [
      ['true', ' AND true', ''],
      ['true', ' OR NOT true', ''],
      ['1', '+1', ' > 0'],
      ['1', '*1', ' > 0'],
      ['', 'NOT ', 'true'],
      ['c', '.a', ' = 1'],
      ['c', '[0]', ' = 1'],
      ['1 IN (1', ',1', ')'],
      ['"', '\\n', '" = "x"'],
    ] as const) {
      const text = head + again.repeat((16_000 - head.length - tail.length) / again.length) + tail;
      expect(typeof outcomeOf(text)).toBe('boolean');
    }
  });

  test('of a condition that looks at a large item again and again is refused', () => {
    const large = { a: 'a'.repeat(1024 * 1024), b: `${'a'.repeat(500_000)}b` };
    expect(outcomeOf('CONTAINS(c.a, c.b)', large)).toBe(false);
    const often = Array.from({ length: 500 }, () => 'CONTAINS(c.a, c.b)').join(' OR ');
    expect(outcomeOf(often, large)).toBe('too much work');
  });

  test('finds what indexOf finds', () => {
    const letters = fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 12 });
    fc.assert(
      fc.property(letters, letters, (a, b) => {
        expect(outcomeOf('CONTAINS(c.a, c.b)', { a, b })).toBe(a.includes(b));
      }),
      { numRuns: 5000, seed: 3 },
    );
  });
});
