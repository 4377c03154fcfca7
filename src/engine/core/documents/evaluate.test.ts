import { describe, expect, test } from 'vitest';
import { nodeJson } from '../../../../test/engine/json.ts';
import { etagOf, type Version } from '../model.ts';
import { epkOf } from './epk.ts';
import { evaluate, type Evaluation } from './evaluate.ts';
import { LIMITS, type ContainerSettings, type Operation, type PartitionKey } from './request.ts';
import { glanceAt, versionIn } from './versions.ts';

const KEY: PartitionKey = ['a'];
const NOW = 1_000_000;
const settings: ContainerSettings = { partitionKeyPaths: ['/pk'] };
const text = (id: string, more: object = {}) => nodeJson.format({ id, pk: 'a', ...more });

function stored(id: string, lsn: number, more: Partial<Version> = {}): Version {
  const change = {
    epk: epkOf(KEY),
    id,
    partitionKey: '["a"]',
    createdLsn: 0,
    previous: 0,
    body: text(id, { n: lsn }),
  };
  return { ...versionIn({ epoch: 7, lsn, at: NOW - 5000 }, change), ...more };
}
function deletion(id: string, lsn: number): Version {
  const { body: _, ...rest } = stored(id, lsn);
  return rest;
}

function run(operations: Operation[], versions: Version[] = [], more: object = {}, key = KEY): Evaluation {
  const find = ({ id }: { id: string }) => versions.find((version) => version.id === id);
  const context = { settings, limits: LIMITS, json: nodeJson, now: NOW, ...more };
  const glance = (document: { id: string }) => {
    const version = find(document);
    return version && glanceAt(version);
  };
  return evaluate({ partitionKey: key, operations }, { find, glance }, context);
}
const statuses = ({ results }: Evaluation) => results.map(({ status }) => status);
function written(evaluation: Evaluation) {
  if (evaluation.outcome !== 'write') throw new Error(JSON.stringify(evaluation.results));
  return evaluation.changes.map(({ body, ...change }) => ({ ...change, body: body && nodeJson.parse(body) }));
}

const create: Operation = { op: 'create', body: text('x') };
const upsert: Operation = { op: 'upsert', body: text('x') };
const replace: Operation = { op: 'replace', id: 'x', body: text('x') };
const patch: Operation = { op: 'patch', id: 'x', steps: [{ op: 'incr', path: '/n', value: 1 }] };
const remove: Operation = { op: 'delete', id: 'x' };
const read: Operation = { op: 'read', id: 'x' };

describe('the status of one operation', () => {
  const ETAG = etagOf({ epoch: 7, lsn: 4 });
  const there = [stored('x', 4)];
  const cases: [Operation, Version[], number][] = [
    [create, [], 201],
    [create, [deletion('x', 4)], 201],
    [create, there, 409],
    [{ ...create, ifNoneMatch: '*' }, there, 409],
    [{ ...create, ifMatch: '"old"' }, [], 201],
    [upsert, [], 201],
    [upsert, there, 200],
    [{ ...upsert, ifMatch: ETAG }, there, 200],
    [{ ...upsert, ifMatch: '"old"' }, there, 412],
    [{ ...upsert, ifMatch: '"old"' }, [], 201],
    [{ ...upsert, ifNoneMatch: '*' }, there, 412],
    [{ ...upsert, ifNoneMatch: '*' }, [], 201],
    [replace, [], 404],
    [replace, [deletion('x', 4)], 404],
    [replace, there, 200],
    [{ ...replace, ifMatch: ETAG }, there, 200],
    [{ ...replace, ifMatch: '*' }, there, 200],
    [{ ...replace, ifMatch: '*' }, [], 404],
    [{ ...replace, ifMatch: '"7-3"' }, there, 412],
    [{ ...replace, ifNoneMatch: ETAG }, there, 412],
    [{ ...replace, id: 'y' }, there, 400],
    [patch, [], 404],
    [patch, there, 200],
    [{ ...patch, ifMatch: '"7-3"' }, there, 412],
    [{ ...patch, steps: [] }, there, 400],
    [{ ...patch, steps: [{ op: 'set', path: '/ttl', value: 0 }] }, there, 400],
    [{ ...patch, filter: 'from c where c.n = 4' }, there, 200],
    [{ ...patch, filter: 'from c where c.n = 5' }, there, 412],
    [{ ...patch, filter: 'from c where c.missing = 5' }, there, 412],
    [{ ...patch, filter: 'from c where c.n = 4' }, [], 404],
    [{ ...patch, filter: 'c.n = 4' }, there, 400],
    [{ ...patch, filter: 'c.n = 4' }, [], 400],
    [{ ...patch, filter: 'from c where c.n = 4', ifMatch: '"7-3"' }, there, 412],
    [{ ...patch, filter: `from c where c._etag = '${ETAG}' AND c._ts = ${(NOW - 5000) / 1000}` }, there, 200],
    [remove, [], 404],
    [remove, there, 204],
    [{ ...remove, ifMatch: '"7-3"' }, there, 412],
    [read, [], 404],
    [read, there, 200],
    [{ ...read, ifNoneMatch: ETAG }, there, 304],
    [{ ...read, ifNoneMatch: '"7-3"' }, there, 200],
  ];
  test.each(cases)('%j', (operation, versions, status) => {
    const evaluation = run([operation], versions);
    expect(statuses(evaluation)).toEqual([status]);
    const outcome = status >= 400 ? 'refused' : operation.op === 'read' ? 'unchanged' : 'write';
    expect(evaluation.outcome).toBe(outcome);
    expect(evaluation.results[0]!.message === undefined).toBe(status < 400);
  });
});

describe('a patch with a condition', () => {
  test('leaves nothing of what the system says in the item', () => {
    const filter = 'from c where c._ts > 0';
    expect(written(run([{ ...patch, filter }], [stored('x', 4)]))[0]!.body).toEqual({
      id: 'x',
      pk: 'a',
      n: 5,
    });
  });

  test('sees what the batch did before it', () => {
    const filter = 'from c where c.n = 5 AND NOT IS_DEFINED(c._etag)';
    const evaluation = run([patch, { ...patch, filter }], [stored('x', 4)]);
    expect(written(evaluation)[0]!.body).toMatchObject({ n: 6 });
  });

  test('that does not hold tells nobody before what it saw is committed', () => {
    const evaluation = run([{ ...patch, filter: 'from c where false' }], [stored('x', 4)]);
    expect(evaluation).toMatchObject({
      outcome: 'refused',
      sawLsn: 4,
      results: [{ status: 412, message: 'The condition of the patch does not hold for the item.' }],
    });
  });
});

describe('changes', () => {
  const common = { epk: epkOf(KEY), id: 'x', partitionKey: '["a"]' };

  test('a new item has a creation of 0: the entry that it becomes part of', () => {
    expect(written(run([create]))).toEqual([
      { ...common, createdLsn: 0, previous: 0, body: { id: 'x', pk: 'a' } },
    ]);
    expect(written(run([upsert], [deletion('x', 4)]))[0]).toMatchObject({ createdLsn: 0, previous: 4 });
  });

  test('an item that exists keeps its creation', () => {
    const older = stored('x', 9, { createdLsn: 4 });
    expect(written(run([upsert], [older]))[0]).toMatchObject({ createdLsn: 4, previous: 9 });
    expect(written(run([patch], [older]))[0]).toMatchObject({ createdLsn: 4, previous: 9, body: { n: 10 } });
    expect(written(run([replace], [stored('x', 9, { createdLsn: 0 })]))[0]).toMatchObject({ createdLsn: 9 });
  });

  test('a deletion has no body', () => {
    expect(written(run([remove], [stored('x', 4)]))).toEqual([
      { ...common, createdLsn: 4, previous: 4, body: undefined },
    ]);
  });

  test('a body is kept byte by byte', () => {
    const body = nodeJson.utf8('{ "id":"x", "pk" : "a" }');
    const evaluation = run([{ op: 'create', body }]);
    expect(evaluation.outcome === 'write' && evaluation.changes[0]!.body).toBe(body);
  });

  test('a time to live comes with the change, not with its deletion', () => {
    const container = { settings: { ...settings, defaultTtl: 60 } };
    expect(written(run([create], [], container))[0]).toMatchObject({ ttl: 60 });
    expect(written(run([create]))[0]).not.toHaveProperty('ttl');
    expect(written(run([remove], [stored('x', 4, { ttl: 60 })], container))[0]).not.toHaveProperty('ttl');
    const forEver = { op: 'set', path: '/ttl', value: -1 } as const;
    const patched = run(
      [{ op: 'patch', id: 'x', steps: [forEver] }],
      [stored('x', 4, { ttl: 60 })],
      container,
    );
    expect(written(patched)[0]).not.toHaveProperty('ttl');
  });
});

describe('an item whose time to live is over', () => {
  const expired = [stored('x', 4, { ttl: 5 })];
  test('is not found', () => {
    expect([replace, patch, remove, read].flatMap((each) => statuses(run([each], expired)))).toEqual([
      404, 404, 404, 404,
    ]);
    expect(statuses(run([replace], [stored('x', 4, { ttl: 6 })]))).toEqual([200]);
  });
  test('can be created anew, and the version before is still named', () => {
    expect(statuses(run([create], expired))).toEqual([201]);
    expect(written(run([upsert], expired))[0]).toMatchObject({ createdLsn: 0, previous: 4 });
  });
});

describe('what an answer shows', () => {
  test('is the item with the etag of the entry to come', () => {
    const { results } = run([create, { ...read, id: 'y' }], [stored('y', 4)]);
    const [made, seen] = results.map(({ shows }) => shows!);
    if (made?.from !== 'entry' || seen?.from !== 'log') throw new Error('shows something else');
    const version = versionIn({ epoch: 7, lsn: 8, at: NOW }, made.change);
    expect([version.createdLsn, version.lsn, etagOf(version), version.id]).toEqual([8, 8, '"7-8"', 'x']);
    expect(etagOf(seen.version)).toBe('"7-4"');
  });

  test('is the version that the client has already, when that is still the newest', () => {
    const { results } = run([{ ...read, ifNoneMatch: '*' }], [stored('x', 4)]);
    expect(results).toMatchObject([{ status: 304, shows: { from: 'log', version: { id: 'x', lsn: 4 } } }]);
  });

  test('is the item as the operation left it', () => {
    const { results } = run([create, patch, read, patch, remove, create]);
    const bodies = results.map(({ shows }) => shows?.from === 'entry' && nodeJson.parse(shows.change.body));
    const [id, pk] = ['x', 'a'];
    expect(bodies).toEqual([
      { id, pk },
      { id, pk, n: 1 },
      { id, pk, n: 1 },
      { id, pk, n: 2 },
      false,
      { id, pk },
    ]);
  });
});

describe('a batch', () => {
  test('has one change for an item, its last state', () => {
    const evaluation = run([patch, { ...create, body: text('y') }, patch], [stored('x', 4)]);
    expect(statuses(evaluation)).toEqual([200, 201, 200]);
    expect(written(evaluation)).toMatchObject([
      { id: 'x', createdLsn: 4, previous: 4, body: { n: 6 } },
      { id: 'y', createdLsn: 0, previous: 0 },
    ]);
  });

  test('that creates and deletes leaves a deletion', () => {
    expect(written(run([create, remove]))).toMatchObject([
      { id: 'x', createdLsn: 0, previous: 0, body: undefined },
    ]);
  });

  test('that deletes and creates makes a new item', () => {
    expect(written(run([remove, create], [stored('x', 4)]))).toMatchObject([{ createdLsn: 0, previous: 4 }]);
  });

  test('cannot name the etag of what it wrote itself', () => {
    const etag = etagOf({ epoch: 7, lsn: 4 });
    expect(statuses(run([patch, { ...replace, ifMatch: etag }], [stored('x', 4)]))).toEqual([424, 412]);
    expect(statuses(run([patch, { ...replace, ifMatch: '*' }], [stored('x', 4)]))).toEqual([200, 200]);
    expect(statuses(run([patch, { ...read, ifNoneMatch: etag }], [stored('x', 4)]))).toEqual([200, 200]);
  });

  test('fails as a whole', () => {
    const evaluation = run([upsert, { ...remove, id: 'y' }, create], []);
    expect(evaluation.outcome).toBe('refused');
    expect(statuses(evaluation)).toEqual([424, 404, 424]);
  });

  test('of reads writes nothing', () => {
    const evaluation = run([read, { ...read, id: 'y', ifNoneMatch: '*' }], [stored('x', 4), stored('y', 9)]);
    expect(evaluation).toMatchObject({ outcome: 'unchanged', sawLsn: 9 });
    expect(statuses(evaluation)).toEqual([200, 304]);
  });

  test('has limits', () => {
    const many = (count: number) => Array.from({ length: count }, () => upsert);
    expect(statuses(run(many(100)))[99]).toBe(200);
    expect(run(many(101))).toMatchObject({ outcome: 'refused', sawLsn: 0 });
    expect(run(many(101)).results[0]).toMatchObject({
      status: 400,
      message: expect.stringContaining('101 operations'),
    });
    expect(statuses(run([]))).toEqual([400]);
    const bytes = 'body' in upsert ? upsert.body.length : 0;
    const limits = { ...LIMITS, batchBytes: bytes * 2 };
    expect(statuses(run(many(2), [], { limits }))).toEqual([201, 200]);
    expect(statuses(run(many(3), [], { limits }))).toEqual([413, 413, 413]);
    expect(statuses(run([upsert], [], { limits: { ...limits, batchBytes: 1 } }))).toEqual([201]);
  });
});

describe('a small batch with large items', () => {
  const body = text('x', { n: 1, text: 'x'.repeat(1_000_000) });
  const versions = [stored('x', 4, { body })];
  const most = (bytes: number) => Math.floor(LIMITS.workBytes / bytes);
  const many = (operation: Operation, count: number) => Array.from({ length: count }, () => operation);

  test.each([
    ['patches', patch, 2 * body.length],
    ['reads', read, body.length],
  ] as const)('does no more %s than an entry and an answer can hold', (_, operation, bytes) => {
    expect(run(many(operation, most(bytes)), versions).outcome).not.toBe('refused');
    const beyond = run(many(operation, most(bytes) + 1), versions);
    expect(statuses(beyond)).toEqual([...many(operation, most(bytes)).map(() => 424), 413]);
    expect(beyond.results.at(-1)).toMatchObject({ message: expect.stringContaining(`${LIMITS.workBytes}`) });
  });

  test('is judged by what all items have together', () => {
    const others = ['y', 'z'].map((id) =>
      stored(id, 5, { body: text(id, { n: 1, text: 'x'.repeat(1_900_000) }) }),
    );
    const patches = ['x', 'y', 'z'].map((id) => ({ ...patch, id }));
    const limits = { ...LIMITS, workBytes: 9_000_000 };
    expect(statuses(run(patches, [...versions, ...others], { limits }))).toEqual([424, 424, 413]);
  });
});

describe('what a refusal rests on', () => {
  const versions = [stored('x', 4), deletion('y', 9), stored('z', 2, { ttl: 1 })];
  const cases: [Operation[], number][] = [
    [[create], 4],
    [[{ ...remove, id: 'y' }], 9],
    [[{ ...replace, id: 'z', body: text('z') }], 2],
    [[{ ...remove, id: 'nothing' }], 0],
    [[{ ...patch, steps: [] }], 4],
    [[{ op: 'create', body: text('y') }, create], 9],
    [[create, { op: 'create', body: text('y') }], 4],
    [[{ op: 'create', body: nodeJson.utf8('x') }, create], 0],
  ];
  test.each(cases)('%#', (operations, sawLsn) => {
    expect(run(operations, versions)).toMatchObject({ outcome: 'refused', sawLsn });
  });
});

describe('requests that are wrong as a whole', () => {
  test('by their partition key', () => {
    expect(statuses(run([create, create], [], {}, ['a', 'b']))).toEqual([400, 400]);
    expect(statuses(run([create], [], {}, ['b']))).toEqual([400]);
    expect(statuses(run([read], [], {}, ['x'.repeat(3000)]))).toEqual([400]);
  });

  test('by their name', () => {
    const named = (operation: string) =>
      evaluate(
        { partitionKey: KEY, operations: [create], operation },
        { find: () => undefined, glance: () => undefined },
        {
          settings,
          limits: LIMITS,
          json: nodeJson,
          now: NOW,
        },
      ).outcome;
    expect([named('a-1'), named(''), named('x'.repeat(65)), named('é')]).toEqual([
      'write',
      'refused',
      'refused',
      'refused',
    ]);
  });
});

test('patches cannot nest an item deeper step by step', () => {
  const deeper = (levels: number) => {
    const path = '/n'.repeat(levels);
    const steps = [{ op: 'set', path: `${path}/n`, value: { n: {} } }] as const;
    const nested = `${'{"n":'.repeat(levels)}{}${'}'.repeat(levels)}`;
    const body = nodeJson.utf8(`{"id":"x","pk":"a",${nested.slice(1)}`);
    return statuses(run([{ op: 'patch', id: 'x', steps }], [stored('x', 4, { body })]));
  };
  expect([deeper(125), deeper(126)]).toEqual([[200], [400]]);
});

test('two partition keys with the same hash do not overwrite each other', () => {
  const other = [stored('x', 4, { partitionKey: '["b"]' })];
  const all = [create, upsert, replace, patch, remove, read];
  expect(all.flatMap((each) => statuses(run([each], other)))).toEqual([409, 409, 409, 409, 409, 409]);
});

test('the caller may know the effective partition key', () => {
  expect(written(run([create], [], { epkOf: () => 'KNOWN' }))[0]).toMatchObject({ epk: 'KNOWN' });
});
