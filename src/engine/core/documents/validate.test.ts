import { describe, expect, test } from 'vitest';
import { nodeJson } from '../../../../test/engine/json.ts';
import { LIMITS, type ContainerSettings, type PartitionKey } from './request.ts';
import { validateBody, type Item } from './validate.ts';

const settings: ContainerSettings = { partitionKeyPaths: ['/pk'] };
const limits = { ...LIMITS, documentBytes: 200, idBytes: 10 };

function check(
  body: unknown,
  { key = ['a'] as PartitionKey, ...more }: Partial<ContainerSettings> & { key?: PartitionKey } = {},
) {
  const bytes = nodeJson.utf8(typeof body === 'string' ? body : JSON.stringify(body));
  return validateBody(bytes, key, { settings: { ...settings, ...more }, limits, json: nodeJson });
}
function item(...given: Parameters<typeof check>): Item {
  const validated = check(...given);
  if (!validated.ok) throw new Error(validated.result.message);
  return validated.item;
}
function problem(...given: Parameters<typeof check>): string {
  const validated = check(...given);
  if (validated.ok) throw new Error('It was valid.');
  return `${validated.result.status} ${validated.result.message}`;
}

describe('bodies', () => {
  test('are kept as they were sent', () => {
    const text = ' { "pk" : "a", "id":"x" , "n": 1.0e1, "m": 2 }\n';
    expect(Buffer.from(item(text).body).toString()).toBe(text);
  });

  test.each([
    '{"id":"y","id":"x","pk":"a"}',
    '{"id":"x","\\u0069d":"x","pk":"a"}',
    '{"id":"x","pk":"b","pk":"a"}',
    '{"id":"x","pk":"a","n":{"m":[{"k":1,"k":1}]}}',
    '{"id":"x","pk":"a","n":{"m":{"k":1}},"n":0}',
    '{"id":"x","pk":"a","__proto__":1,"__proto__":2}',
    '{"id":"x","pk":"a","_ts":1,"_ts":2}',
    '{"id":"x","pk":"a","":1,"":2}',
  ])('that name a property twice are refused: %s', (text) => {
    expect(problem(text)).toMatch(/^400 .*names a property twice/);
  });

  test.each([
    ['a name at two levels, and in two objects', '{"id":"x","pk":"a","n":{"id":1},"l":[{"id":1},{"id":1}]}'],
    ['names that differ in case, or in what is escaped', '{"id":"x","pk":"a","Id":1,"i\\\\u0064":1}'],
    ['colons and quotes in texts', '{"id":"x","pk":"a","::":":","t":"\\":\\\\","u":"\\"a\\":1,\\"a\\":2"}'],
    [
      'a long text that ends in escapes',
      `{"id":"x","pk":"a","t":"${'t:'.repeat(40)}\\"${'\\\\'.repeat(3)}","n":1}`,
    ],
    ['empty objects and lists', '{"id":"x","pk":"a","o":{},"l":[],"m":[[],{}]}'],
  ])('may have %s', (_, text) => {
    expect(Buffer.from(item(text).body).toString()).toBe(text);
  });

  test('lose the system properties that a client sends back', () => {
    const sent = {
      id: 'x',
      _rid: 'r',
      _self: 's',
      pk: 'a',
      _etag: 'e',
      _ts: 1,
      _attachments: 'a',
      _lsn: 4,
      _own: 1,
    };
    expect(Buffer.from(item(sent).body).toString()).toBe('{"id":"x","pk":"a","_own":1}');
    expect(Buffer.from(item('{"id":"x","pk":"a","\\u005fts":7}').body).toString()).toBe(
      '{"id":"x","pk":"a"}',
    );
  });

  test('keep a property named __proto__', () => {
    const sent = '{"id":"x","pk":"a","_ts":1,"__proto__":{"a":1}}';
    expect(Buffer.from(item(sent).body).toString()).toBe('{"id":"x","pk":"a","__proto__":{"a":1}}');
  });

  test('are JSON objects in UTF-8', () => {
    for (const text of ['', '{', 'nothing', '{"id":"x","pk":"a"} x'])
      expect(problem(text)).toMatch(/^400 .*not JSON/);
    for (const text of ['[]', 'null', '"x"', '7']) expect(problem(text)).toMatch(/^400 .*not a JSON object/);
    const latin = Buffer.from('{"id":"é","pk":"a"}', 'latin1');
    const validated = validateBody(latin, ['a'], { settings, limits, json: nodeJson });
    expect(validated).toMatchObject({ ok: false, result: { status: 400 } });
  });

  test('have a limit in bytes, without the system properties', () => {
    const padded = (bytes: number, more = '') => {
      const empty = `{"id":"x","pk":"a","p":""${more}}`;
      return empty.replace('"p":""', `"p":"${'p'.repeat(bytes - empty.length + more.length)}"`);
    };
    expect(item(padded(200)).body).toHaveLength(200);
    expect(problem(padded(201))).toMatch(/^413 .*201 bytes; at most 200/);
    expect(item(padded(200, ',"_ts":1234567890')).body).toHaveLength(200);
    expect(problem(padded(9000))).toMatch(/^413 /);
  });

  test('have a limit in depth', () => {
    const nested = (levels: number) => `{"id":"x","pk":"a","n":${'['.repeat(levels)}${']'.repeat(levels)}}`;
    const roomy = { settings, limits: LIMITS, json: nodeJson };
    const ok = (levels: number) => validateBody(nodeJson.utf8(nested(levels)), ['a'], roomy).ok;
    expect([ok(127), ok(128), ok(500_000)]).toEqual([true, false, false]);
  });
});

describe('ids', () => {
  test.each(['a/b', 'a\\b', 'a?b', 'a#b', 'a ', '', 'a'.repeat(11), 'ééééé1', '\ud800', 7, null])(
    '%j is refused',
    (id) => {
      expect(problem({ id, pk: 'a' })).toMatch(/^400 The id/);
    },
  );
  test.each([' a', 'a b', 'a'.repeat(10), 'ééééé', '😀😀', '-'])('%j is allowed', (id) => {
    expect(item({ id, pk: 'a' }).id).toBe(id);
  });
  test('must be there', () => expect(problem({ pk: 'a' })).toMatch(/^400 The id/));
});

test('the partition key of the body is that of the request', () => {
  expect(item({ id: 'x' }, { key: [undefined] }).id).toBe('x');
  expect(problem({ id: 'x', pk: 'b' })).toMatch(/^400 .*not the one of the request/);
  expect(problem({ id: 'x' })).toMatch(/^400 .*not the one of the request/);
  expect(problem({ id: 'x', pk: {} })).toMatch(/^400 .*object or an array/);
});

describe('time to live', () => {
  test.each([0, -2, 1.5, '5', true, 2 ** 31])('%j is refused', (ttl) => {
    expect(problem({ id: 'x', pk: 'a', ttl })).toMatch(/^400 .*ttl/);
  });

  const cases: [
    container: number | undefined,
    own: number | null | undefined,
    seconds: number | undefined,
  ][] = [
    [undefined, 5, undefined],
    [-1, undefined, undefined],
    [-1, 5, 5],
    [60, undefined, 60],
    [60, null, 60],
    [60, 5, 5],
    [60, -1, undefined],
  ];
  test.each(cases)('container %j, item %j: %j seconds', (defaultTtl, ttl, seconds) => {
    const container = defaultTtl === undefined ? {} : { defaultTtl };
    expect(item({ id: 'x', pk: 'a', ttl }, container).ttl).toBe(seconds);
  });
});
