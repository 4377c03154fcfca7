/** Transactional batches and bulk requests. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { BatonError } from '../../../client/index.ts';
import { epkOf, epkRanges, rangeContains } from '../../../engine/index.ts';
import { ItemsStage, type Seen, type StageOptions } from './testing/items-stage.ts';

let stage: ItemsStage;

async function open(options: StageOptions = {}): Promise<void> {
  stage?.close();
  stage = await ItemsStage.open({ partitionSets: 2, ...options });
}

beforeEach(() => open());
afterEach(() => stage.close());

interface Result {
  readonly statusCode: number;
  readonly subStatusCode?: number;
  readonly requestCharge: number;
  readonly eTag?: string;
  readonly retryAfterMilliseconds?: number;
  readonly message?: string;
  readonly resourceBody?: Record<string, unknown>;
}

const BATCH = { 'x-ms-cosmos-is-batch-request': 'true' };
const resultsIn = ({ body }: Seen): readonly Result[] => body as readonly Result[];
const statuses = (seen: Seen): readonly number[] => resultsIn(seen).map(({ statusCode }) => statusCode);

const sorted = (numbers: readonly number[]): readonly number[] => numbers.toSorted((a, b) => a - b);

function batch(body: unknown, headers: Record<string, string> = {}): Promise<Seen> {
  const all = { ...BATCH, 'x-ms-cosmos-batch-atomic': 'true', ...headers };
  return stage.ask('POST', 'docs', { key: ['a'], body, headers: all });
}

const create = (id: string, more: object = {}) => ({
  operationType: 'Create',
  resourceBody: { id, pk: 'a', ...more },
});

describe('a transactional batch', () => {
  test('carries everything out, and shows each item as its operation left it', async () => {
    const seen = await batch([
      create('x', { n: 1 }),
      { operationType: 'Upsert', resourceBody: { id: 'y', pk: 'a' } },
      {
        operationType: 'Patch',
        id: 'x',
        resourceBody: { operations: [{ op: 'incr', path: '/n', value: 1 }] },
      },
      { operationType: 'Read', id: 'x' },
      { operationType: 'Replace', id: 'y', resourceBody: { id: 'y', pk: 'a', n: 3 } },
      { operationType: 'Delete', id: 'y' },
    ]);
    expect(seen).toMatchObject({ status: 200, charge: 10 });
    expect(statuses(seen)).toEqual([201, 201, 200, 200, 200, 204]);
    expect(resultsIn(seen).map(({ resourceBody }) => resourceBody?.['n'])).toEqual([
      1,
      undefined,
      2,
      2,
      3,
      undefined,
    ]);
    const [first, ...rest] = resultsIn(seen);
    expect(first!.eTag).toBe(first!.resourceBody!['_etag']);
    expect(rest.slice(0, 4).every(({ eTag }) => eTag === first!.eTag)).toBe(true);
    expect(rest.at(-1)!).not.toHaveProperty('eTag');
    expect(seen.headers['x-ms-session-token']).toMatch(/#1$/);
  });

  test('carries nothing out if one fails', async () => {
    const seen = await batch([create('x'), { operationType: 'Delete', id: 'nobody' }, create('y')]);
    expect(seen.status).toBe(207);
    expect(statuses(seen)).toEqual([424, 404, 424]);
    expect((await stage.ask('GET', 'docs/x', { key: ['a'] })).status).toBe(404);
  });

  test('has conditions', async () => {
    const eTag = resultsIn(await batch([create('x', { n: 1 })]))[0]!.eTag!;
    const replace = (ifMatch: string) => [
      { operationType: 'Replace', id: 'x', ifMatch, resourceBody: { id: 'x', pk: 'a', n: 2 } },
    ];
    expect(statuses(await batch(replace('"other"')))).toEqual([412]);
    expect(statuses(await batch(replace(eTag)))).toEqual([200]);
    const patch = (condition: string) => [
      {
        operationType: 'Patch',
        id: 'x',
        resourceBody: { condition, operations: [{ op: 'remove', path: '/n' }] },
      },
    ];
    expect(statuses(await batch(patch('from c where c.n = 1')))).toEqual([412]);
    expect(statuses(await batch(patch('from c where c.n = 2')))).toEqual([200]);
  });

  test('shows nothing that was written to who does not want it', async () => {
    const seen = await batch([create('x'), { operationType: 'Read', id: 'x' }], { prefer: 'return=minimal' });
    expect(resultsIn(seen).map(({ resourceBody }) => resourceBody === undefined)).toEqual([true, false]);
  });

  test.each([
    ['x', 400],
    [[], 400],
    [[null], 400],
    [[{ operationType: 'Query' }], 400],
    [[{ operationType: 'Read' }], 400],
    [[{ operationType: 'Create', resourceBody: [] }], 400],
    [Array.from({ length: 101 }, (_, at) => create(`${at}`)), 400],
    [[create('x', { text: 'x'.repeat(1_200_000) }), create('y', { text: 'x'.repeat(1_200_000) })], 413],
  ])('that makes no sense is refused as a whole: %#', async (body, status) => {
    expect((await batch(body)).status).toBe(status);
    expect((await stage.ask('GET', 'docs', {})).body).toMatchObject({ _count: 0 });
  });

  test('with an item that is nested without end is refused', async () => {
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
    const body = Buffer.from(`[{"operationType":"Create","resourceBody":{"id":"x","pk":"a","d":${deep}}}]`);
    expect((await batch(body)).status).toBe(400);
  });

  test.each([
    '[{"operationType":"Create","resourceBody":{"id":"y","id":"x","pk":"a"}}]',
    '[{"operationType":"Read","id":"y","id":"x"}]',
  ])('that names a property twice is refused: %s', async (text) => {
    const seen = await batch(Buffer.from(text));
    expect(seen).toMatchObject({ status: 400, body: { message: expect.stringContaining('twice') } });
  });

  test('needs a partition key, and a key that may write', async () => {
    const headers = { ...BATCH, 'x-ms-cosmos-batch-atomic': 'true' };
    expect((await stage.ask('POST', 'docs', { body: [create('x')], headers })).status).toBe(400);
    const seen = await stage.ask('POST', 'docs', {
      key: ['a'],
      body: [create('x')],
      headers,
      isReadOnlyKey: true,
    });
    expect(seen.status).toBe(403);
  });
});

const inFirst = Array.from({ length: 60 }, (_, at) => `k${at}`).filter((pk) =>
  rangeContains(epkRanges(2)[0]!, epkOf([pk])),
);

function bulk(body: readonly object[], headers: Record<string, string> = {}): Promise<Seen> {
  const range = { 'x-ms-documentdb-partitionkeyrangeid': '1', 'x-ms-cosmos-batch-atomic': 'false' };
  return stage.ask('POST', 'docs', { body, headers: { ...BATCH, ...range, ...headers } });
}

const of = (pk: string, operation: object): object => ({ ...operation, partitionKey: JSON.stringify([pk]) });
const put = (pk: string, id: string, more: object = {}): object =>
  of(pk, { operationType: 'Create', resourceBody: { id, pk, ...more } });

describe('a bulk request', () => {
  test('carries out each for itself', async () => {
    const [a, b, c] = inFirst as [string, string, string];
    const seen = await bulk([
      put(a, 'x', { n: 1 }),
      put(a, 'x'),
      of(b, { operationType: 'Read', id: 'nobody' }),
      put(c, 'z'),
      of(a, { operationType: 'Read', id: 'x' }),
      of(a, { operationType: 'Delete', id: 'x' }),
    ]);
    expect(seen.status).toBe(207);
    expect(statuses(seen)).toEqual([201, 409, 404, 201, 200, 204]);
    expect(resultsIn(seen)[4]!.resourceBody).toMatchObject({ id: 'x', n: 1 });
    expect(resultsIn(seen)[1]!.message).toContain('already');
    expect(seen.headers['x-ms-session-token']).toMatch(/^1:\d+#3$/);
  });

  test('of one partition key is carried out in its order', async () => {
    const [a] = inFirst as [string];
    const sets = Array.from({ length: 30 }, (_, n) =>
      of(a, { operationType: 'Patch', id: 'x', resourceBody: [{ op: 'set', path: '/n', value: n }] }),
    );
    const seen = await bulk([put(a, 'x'), ...sets]);
    expect(seen.status).toBe(200);
    expect(resultsIn(seen).at(-1)!.resourceBody).toMatchObject({ n: 29 });
  });

  test('reads after a write what it wrote, wherever it is read', async () => {
    await open({ level: 'Session' });
    const [a] = inFirst as [string];
    const reads = vi.spyOn(stage.context.partitions, 'read');
    const seen = await bulk([put(a, 'x'), of(a, { operationType: 'Read', id: 'x' })]);
    const [, epoch, lsn] = /^1:(\d+)#(\d+)$/.exec(seen.headers['x-ms-session-token']!)!;
    expect(reads.mock.calls.map(([{ session }]) => session)).toEqual([
      { epoch: Number(epoch), lsn: Number(lsn) },
    ]);
  });

  test('names the furthest place it came to, by epoch before number', async () => {
    const [a] = inFirst as [string];
    const { read } = stage.context.partitions;
    vi.spyOn(stage.context.partitions, 'read').mockImplementation(async (call) => ({
      ...(await read(call)),
      position: { epoch: 1, lsn: 999 },
    }));
    const seen = await bulk([put(a, 'x'), of(a, { operationType: 'Read', id: 'x' })]);
    expect(seen.headers['x-ms-session-token']).toMatch(/^1:\d{4,}#1$/);
  });

  test('has a bounded number under way at once', async () => {
    let underWay = 0;
    let most = 0;
    stage.before = async () => {
      underWay += 1;
      most = Math.max(most, underWay);
      await new Promise((resolve) => setImmediate(resolve));
      underWay -= 1;
    };
    expect((await bulk(inFirst.map((pk) => put(pk, 'x')))).status).toBe(200);
    expect(most).toBeGreaterThan(1);
    expect(most).toBeLessThanOrEqual(16);
  });

  test('stops at the first that fails, if it is told so', async () => {
    const [a, b] = inFirst as [string, string];
    const seen = await bulk([put(a, 'x'), put(a, 'x'), put(b, 'y')], {
      'x-ms-cosmos-batch-continue-on-error': 'false',
    });
    expect(statuses(seen)).toEqual([201, 409, 424]);
  });

  test('an operation of another range, or without a key, fails alone', async () => {
    const [a] = inFirst as [string];
    const other = Array.from({ length: 60 }, (_, at) => `k${at}`).find((pk) => !inFirst.includes(pk))!;
    const seen = await bulk([put(a, 'x'), put(other, 'y'), { operationType: 'Read', id: 'x' }]);
    expect(statuses(seen)).toEqual([201, 400, 400]);
    expect((await bulk([], {})).status).toBe(400);
    const gone = await bulk([put(a, 'z')], { 'x-ms-documentdb-partitionkeyrangeid': '99' });
    expect(gone).toMatchObject({ status: 410, substatus: 1002 });
  });

  test('whoever is throttled is told when to come back', async () => {
    let left = 2;
    await open({ throttle: { charge: () => (left-- > 0 ? undefined : 70) } });
    const seen = await bulk(inFirst.slice(0, 4).map((pk) => put(pk, 'x')));
    expect(sorted(statuses(seen))).toEqual([201, 201, 429, 429]);
    const late = resultsIn(seen).filter(({ statusCode }) => statusCode === 429);
    expect(late.every(({ retryAfterMilliseconds }) => retryAfterMilliseconds === 70)).toBe(true);
  });

  test('what does not fit into the answer is asked for again', async () => {
    const keys = inFirst.slice(0, 6);
    const text = 'x'.repeat(1_000_000);
    for (const pk of keys) await stage.ask('POST', 'docs', { key: [pk], body: { id: 'x', pk, text } });
    const seen = await bulk(keys.map((pk) => of(pk, { operationType: 'Read', id: 'x' })));
    expect(sorted(statuses(seen))).toEqual([200, 200, 200, 200, 413, 413]);
    expect(resultsIn(seen).find(({ statusCode }) => statusCode === 413)!.subStatusCode).toBe(3402);
  });
});

describe('a bulk request, when the range moves', () => {
  const door = { region: 'west', holdMs: 5 };
  let writes: number;

  async function failingAfter(
    count: number,
    error: () => BatonError = () => new BatonError('NOT_WRITER_HERE'),
  ): Promise<void> {
    await open({ door });
    writes = 0;
    stage.before = (method) => {
      if (method !== 'write') return;
      writes += 1;
      if (writes > count) throw error();
    };
  }

  test('before anything was done goes elsewhere as a whole, without trying every operation', async () => {
    await failingAfter(0);
    const seen = await bulk(inFirst.map((pk) => put(pk, 'x')));
    expect(seen).toMatchObject({ status: 403, substatus: 3 });
    expect(writes).toBeLessThanOrEqual(16);
  });

  test('in the middle: what was not done is to come again', async () => {
    await failingAfter(3);
    const seen = await bulk(inFirst.slice(0, 10).map((pk) => put(pk, 'x')));
    expect(seen.status).toBe(207);
    expect(sorted(statuses(seen))).toEqual([201, 201, 201, ...Array.from({ length: 7 }, () => 429)]);
    const late = resultsIn(seen).find(({ statusCode }) => statusCode === 429)!;
    expect(late).toMatchObject({
      retryAfterMilliseconds: 100,
      message: expect.stringContaining('west') as string,
    });
  });

  test('what may have been done is not sent elsewhere', async () => {
    await failingAfter(0, () =>
      writes === 1 ? new BatonError('DEADLINE', { outcome: 'unknown' }) : new BatonError('NOT_WRITER_HERE'),
    );
    const seen = await bulk(inFirst.slice(0, 3).map((pk) => put(pk, 'x')));
    expect(seen.status).toBe(207);
    expect(sorted(statuses(seen))).toEqual([408, 429, 429]);
  });

  test('and nothing but what was judged was done, goes elsewhere as a whole', async () => {
    const [a, b] = inFirst as [string, string];
    await failingAfter(2);
    await stage.ask('POST', 'docs', { key: [a], body: { id: 'x', pk: a } });
    const seen = await bulk([put(a, 'x'), put(a, 'y'), put(b, 'x')]);
    expect(seen.status).toBe(403);
  });

  test('one that nobody knows any more does not speak for another that is done after it', async () => {
    const [a, b] = inFirst as [string, string];
    let ended = (): void => {};
    const first = new Promise<void>((resolve) => (ended = resolve));
    await failingAfter(0);
    stage.before = async (method) => {
      if (method !== 'write') return;
      writes += 1;
      if (writes > 1) return first;
      setImmediate(ended);
      throw new BatonError('PARTITION_SET_UNKNOWN');
    };
    const seen = await bulk([put(a, 'x'), put(b, 'x')]);
    expect(seen.status).toBe(207);
    expect(statuses(seen)).toEqual([429, 201]);
  });
});
