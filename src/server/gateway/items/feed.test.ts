/** All items, page by page. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { BatonError } from '../../../client/index.ts';
import { epkOf } from '../../../engine/index.ts';
import { ItemsStage, type Seen } from './testing/items-stage.ts';

let stage: ItemsStage;

beforeEach(async () => {
  stage = await ItemsStage.open({ partitionSets: 3 });
});
afterEach(() => stage.close());

const KEYS = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];

/** Two items for each key; their ids. */
async function fill(): Promise<readonly string[]> {
  const ids: string[] = [];
  for (const pk of KEYS) {
    for (const id of [`${pk}1`, `${pk}2`]) {
      const seen = await stage.ask('POST', 'docs', { key: [pk], body: { id, pk } });
      expect(seen.status).toBe(201);
      ids.push(id);
    }
  }
  return ids;
}

type Headers = Record<string, string>;
interface List {
  readonly _rid: string;
  readonly Documents: readonly { readonly id: string; readonly pk: string; readonly _etag: string }[];
  readonly _count: number;
}

async function pages(headers: Headers = {}, key?: readonly string[]): Promise<readonly Seen[]> {
  const all: Seen[] = [];
  let continuation: string | undefined;
  do {
    const more: Headers = continuation === undefined ? {} : { 'x-ms-continuation': continuation };
    const seen = await stage.ask('GET', 'docs', { headers: { ...headers, ...more }, ...(key && { key }) });
    expect(seen.status, seen.text).toBe(200);
    const { _count, Documents } = seen.body as List;
    expect(Documents).toHaveLength(_count);
    expect(seen.headers['x-ms-item-count']).toBe(String(_count));
    all.push(seen);
    continuation = seen.headers['x-ms-continuation'];
  } while (continuation !== undefined);
  return all;
}

function idsIn(seen: readonly Seen[]): readonly string[] {
  return seen.flatMap(({ body }) => (body as List).Documents.map(({ id }) => id));
}

describe('a feed of items', () => {
  test('shows each of them once, whatever the size of the pages', async () => {
    const ids = await fill();
    for (const size of ['1', '3', '5', '100', '-1']) {
      const seen = await pages({ 'x-ms-max-item-count': size });
      expect(idsIn(seen).toSorted()).toEqual(ids);
      for (const { body } of seen) {
        if (size !== '-1') expect((body as List)._count).toBeLessThanOrEqual(Number(size));
        expect((body as List)._rid).toBe(seen[0]!.headers['x-ms-content-path']);
      }
    }
  });

  test('of a container without items is one empty page', async () => {
    const seen = await pages();
    expect(seen).toHaveLength(1);
    expect(seen[0]!.body).toMatchObject({ Documents: [], _count: 0 });
  });

  test('of ranges shows each range alone, all of them together', async () => {
    const ids = await fill();
    const found: string[] = [];
    for (const range of ['1', '2', '3'])
      found.push(...idsIn(await pages({ 'x-ms-documentdb-partitionkeyrangeid': range })));
    expect(found.toSorted()).toEqual(ids);
    const gone = await stage.ask('GET', 'docs', { headers: { 'x-ms-documentdb-partitionkeyrangeid': '77' } });
    expect(gone).toMatchObject({ status: 410, substatus: 1002 });
  });

  test('of a part of the hashes', async () => {
    await fill();
    const bound = epkOf(['c']);
    const first = idsIn(await pages({ 'x-ms-end-epk': bound }));
    const rest = idsIn(await pages({ 'x-ms-start-epk': bound.toLowerCase(), 'x-ms-max-item-count': '1' }));
    const expected = KEYS.flatMap((pk) => (epkOf([pk]) < bound ? [`${pk}1`, `${pk}2`] : []));
    expect(first.toSorted()).toEqual(expected.toSorted());
    expect(rest).toHaveLength(KEYS.length * 2 - expected.length);
    const empty = await stage.ask('GET', 'docs', {
      headers: { 'x-ms-start-epk': '3F', 'x-ms-end-epk': '01' },
    });
    expect(empty.status).toBe(400);
  });

  test('of one partition key', async () => {
    await fill();
    expect(idsIn(await pages({ 'x-ms-max-item-count': '1' }, ['c']))).toEqual(['c1', 'c2']);
    expect(idsIn(await pages({}, ['nobody']))).toEqual([]);
  });

  test('goes on where it was after the ranges have new writers', async () => {
    const ids = await fill();
    const half = await stage.ask('GET', 'docs', { headers: { 'x-ms-max-item-count': '7' } });
    for (const name of new Set(stage.asked.map(({ partitionSet }) => partitionSet)))
      await stage.failOver(name, 2);
    const headers = { 'x-ms-continuation': half.headers['x-ms-continuation']! };
    const rest = await stage.ask('GET', 'docs', { headers });
    expect([...idsIn([half]), ...idsIn([rest])].toSorted()).toEqual(ids);
  });

  test('has the session of every range that it asked', async () => {
    await fill();
    const [seen] = await pages();
    expect(seen!.headers['x-ms-session-token']).toMatch(/^1:\d+#\d+,2:\d+#\d+,3:\d+#\d+$/);
  });

  test('leaves out what has outlived its time', async () => {
    stage.close();
    stage = await ItemsStage.open({ defaultTtl: -1, partitionSets: 1 });
    for (const [id, ttl] of [
      ['u', 5],
      ['v', -1],
      ['w', 5],
      ['x', 5],
      ['y', -1],
      ['z', -1],
    ] as const)
      await stage.ask('POST', 'docs', { key: ['a'], body: { id, pk: 'a', ttl } });
    stage.aheadMs = 6000;
    expect(idsIn(await pages())).toEqual(['v', 'y', 'z']);
    const one = await pages({ 'x-ms-max-item-count': '1' });
    expect(idsIn(one)).toEqual(['v', 'y', 'z']);
    expect(one.every(({ body }) => (body as List)._count <= 1)).toBe(true);
  });

  test('with large items has small pages', async () => {
    const text = 'x'.repeat(400_000);
    for (const id of ['1', '2', '3', '4', '5', '6'])
      await stage.ask('POST', 'docs', { key: ['a'], body: { id, pk: 'a', text } });
    const seen = await pages();
    expect(idsIn(seen)).toEqual(['1', '2', '3', '4', '5', '6']);
    expect(seen.length).toBeGreaterThan(2);
  });

  const encoded = (fields: readonly unknown[]): string =>
    Buffer.from(JSON.stringify(fields)).toString('base64url');

  test.each([
    'rubbish',
    encoded([]),
    encoded([2]),
    encoded([1, 99, '1']),
    encoded([1, 2, '77']),
    encoded([1, 2, '1', 'AB', 'x']),
    encoded([1, 2, '1', '0'.repeat(32), 7]),
    encoded([1, 2, '1', '0'.repeat(32), 'x'.repeat(5000)]),
  ])('refuses a continuation that is not its own: %s', async (continuation) => {
    const headers = { 'x-ms-continuation': continuation };
    expect((await stage.ask('GET', 'docs', { headers })).status).toBe(400);
    expect(stage.asked).toEqual([]);
  });
});

describe('queries', () => {
  const query = (text: unknown, headers: Headers = {}): Promise<Seen> =>
    stage.ask('POST', 'docs', {
      body: { query: text, parameters: [] },
      headers: { 'x-ms-documentdb-isquery': 'true', 'content-type': 'application/query+json', ...headers },
      isReadOnlyKey: true,
    });

  test('for everything are the feed', async () => {
    const ids = await fill();
    for (const text of ['SELECT * from c', 'select  *\nFROM root ;']) {
      const first = await query(text, { 'x-ms-max-item-count': '9' });
      const headers = { 'x-ms-continuation': first.headers['x-ms-continuation']! };
      expect([...idsIn([first]), ...idsIn([await query(text, headers)])].toSorted()).toEqual(ids);
    }
  });

  test('are reads: where nobody knows the range, their client is not sent to another writer', async () => {
    stage.before = () => {
      throw new BatonError('PARTITION_SET_UNKNOWN');
    };
    expect(await query('SELECT * from c')).toMatchObject({ status: 503 });
  });

  test('for anything else, and plans, are refused without words that the client takes for others', async () => {
    for (const seen of [
      await query('SELECT c.id FROM c'),
      await query('SELECT * FROM c WHERE c.id = "x"'),
      await query(undefined),
      await query('SELECT * from c', { 'x-ms-cosmos-is-query-plan-request': 'True' }),
      await stage.ask('POST', 'docs', { body: 'x', headers: { 'content-type': 'application/query+json' } }),
    ]) {
      expect(seen).toMatchObject({ status: 400 });
      expect(seen.text).toContain('Queries are not supported');
      expect(seen.text).not.toContain('ross partition');
    }
    expect(stage.asked).toEqual([]);
  });
});
