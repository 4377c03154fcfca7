/** One item at a time, as clients of the API see it. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { BatonError } from '../../../client/index.ts';
import { dropContainer, addContainer } from '../../catalog/index.ts';
import { ItemsStage, type Seen } from './testing/items-stage.ts';

let stage: ItemsStage;

beforeEach(async () => {
  stage = await ItemsStage.open();
});
afterEach(() => stage.close());

const KEY = ['a'];
const item = (id: string, more: object = {}) => ({ id, pk: 'a', ...more });
const create = (id: string, more: object = {}): Promise<Seen> =>
  stage.ask('POST', 'docs', { key: KEY, body: item(id, more) });
const read = (id: string, headers: Record<string, string> = {}): Promise<Seen> =>
  stage.ask('GET', `docs/${id}`, { key: KEY, headers });
const etagIn = ({ headers }: Seen): string => headers['etag']!;

describe('an item', () => {
  test('is created, and shown with what the system says of it', async () => {
    const before = Math.floor(Date.now() / 1000);
    const created = await create('x', { n: 1 });
    expect(created).toMatchObject({ status: 201, charge: 5 });
    const { _ts, _rid, _self } = created.body as { _ts: number; _rid: string; _self: string };
    expect(created.body).toEqual({
      ...item('x', { n: 1 }),
      _rid,
      _self,
      _etag: etagIn(created),
      _attachments: 'attachments/',
      _ts,
    });
    expect(_ts).toBeGreaterThanOrEqual(before);
    expect(_ts).toBeLessThanOrEqual(Date.now() / 1000);
    const shown = await read('x');
    expect(shown).toMatchObject({ status: 200, charge: 1, text: created.text });
    expect(etagIn(shown)).toBe(etagIn(created));
    expect(_self).toMatch(/^dbs\/.+\/colls\/.+\/docs\/.+\/$/);
    expect(shown.headers['x-ms-content-path']).toBe(_self.split('/')[3]);
  });

  test('is replaced, upserted, patched and deleted, each with a new etag', async () => {
    const etags = [etagIn(await create('x', { n: 1 }))];
    const replaced = await stage.ask('PUT', 'docs/x', { key: KEY, body: item('x', { n: 2 }) });
    expect(replaced).toMatchObject({ status: 200, body: { n: 2 } });
    const upsert = { 'x-ms-documentdb-is-upsert': 'true' };
    const upserted = await stage.ask('POST', 'docs', {
      key: KEY,
      body: item('x', { n: 3 }),
      headers: upsert,
    });
    expect(upserted).toMatchObject({ status: 200, body: { n: 3 } });
    const body = { operations: [{ op: 'incr', path: '/n', value: 4 }] };
    const patched = await stage.ask('PATCH', 'docs/x', { key: KEY, body });
    expect(patched).toMatchObject({ status: 200, body: { n: 7, id: 'x', pk: 'a' } });
    for (const seen of [replaced, upserted, patched]) {
      etags.push(etagIn(seen));
      expect((seen.body as { _etag: string })._etag).toBe(etagIn(seen));
    }
    expect(new Set(etags).size).toBe(4);
    const deleted = await stage.ask('DELETE', 'docs/x', { key: KEY });
    expect(deleted).toMatchObject({ status: 204, text: '' });
    expect(await read('x')).toMatchObject({ status: 404, substatus: 0 });
  });

  test('that was read and is sent back is the same, without what the system said', async () => {
    const { body } = await create('x', { n: 1 });
    const again = await stage.ask('PUT', 'docs/x', { key: KEY, body });
    expect(Object.keys(again.body as object)).toEqual(Object.keys(body as object));
    expect(again.text.match(/_etag/g)).toHaveLength(1);
    expect((again.body as { _rid: string })._rid).toBe((body as { _rid: string })._rid);
  });

  test('is not shown again to who does not want it', async () => {
    const headers = { prefer: 'return=minimal' };
    const created = await stage.ask('POST', 'docs', { key: KEY, body: item('x'), headers });
    expect(created).toMatchObject({ status: 201, text: '' });
    expect(etagIn(created)).toBe(etagIn(await read('x')));
  });

  test('costs by its size', async () => {
    const created = await create('x', { text: 'x'.repeat(3000) });
    expect(created.charge).toBe(15);
    expect((await read('x')).charge).toBe(3);
    const body = [{ op: 'set', path: '/n', value: 1 }];
    expect((await stage.ask('PATCH', 'docs/x', { key: KEY, body })).charge).toBe(15);
  });

  test('lives as long as it says', async () => {
    stage.close();
    stage = await ItemsStage.open({ defaultTtl: -1 });
    await create('x', { ttl: 10 });
    expect((await read('x')).status).toBe(200);
    stage.aheadMs = 11_000;
    expect((await read('x')).status).toBe(404);
    expect((await create('x')).status).toBe(201);
  });
});

describe('conditions', () => {
  test('on writes', async () => {
    const first = etagIn(await create('x'));
    const put = (headers: Record<string, string>): Promise<Seen> =>
      stage.ask('PUT', 'docs/x', { key: KEY, body: item('x'), headers });
    expect((await put({ 'if-match': first })).status).toBe(200);
    expect(await put({ 'if-match': first })).toMatchObject({ status: 412 });
    expect(await put({ 'if-none-match': '*' })).toMatchObject({ status: 412 });
    const gone = await stage.ask('DELETE', 'docs/x', { key: KEY, headers: { 'if-match': first } });
    expect(gone.status).toBe(412);
  });

  test('on reads', async () => {
    const etag = etagIn(await create('x'));
    const same = await read('x', { 'if-none-match': etag });
    expect(same).toMatchObject({ status: 304, text: '' });
    expect(etagIn(same)).toBe(etag);
    expect((await read('x', { 'if-none-match': '"other"' })).status).toBe(200);
    expect((await read('x', { 'if-match': '"other"' })).status).toBe(412);
  });

  test('on patches, by what the item holds', async () => {
    await create('x', { n: 3 });
    const operations = [{ op: 'incr', path: '/n', value: 1 }];
    const patch = (condition: unknown): Promise<Seen> =>
      stage.ask('PATCH', 'docs/x', { key: KEY, body: { operations, condition } });
    expect(await patch('from c where c.n = 3')).toMatchObject({ status: 200, body: { n: 4 } });
    expect(await patch('from c where c.n = 3')).toMatchObject({ status: 412 });
    expect(await patch('where c.n = 3')).toMatchObject({ status: 400 });
    expect(await patch(7)).toMatchObject({ status: 400 });
    expect((await read('x')).body).toMatchObject({ n: 4 });
  });
});

describe('what is refused', () => {
  test('says why, and how far the session is', async () => {
    await create('x');
    const conflict = await create('x');
    expect(conflict).toMatchObject({ status: 409, text: expect.stringContaining('already') as string });
    const missing = await stage.ask('PUT', 'docs/y', { key: KEY, body: item('y') });
    expect(missing.status).toBe(404);
    for (const { headers } of [conflict, missing])
      expect(headers['x-ms-session-token']).toMatch(/^[12]:\d+#1$/);
  });

  test.each([
    ['POST', 'docs', { key: KEY, body: { id: 'x', pk: 'b' } }, 400, 1001],
    ['POST', 'docs', { key: KEY, body: Buffer.from('{"id":') }, 400, 0],
    ['POST', 'docs', { key: KEY, body: { pk: 'a' } }, 400, 0],
    ['POST', 'docs', { key: KEY, body: Buffer.from('{"id":"y","id":"z","pk":"a"}') }, 400, 0],
    [
      'PATCH',
      'docs/x',
      { key: KEY, body: Buffer.from('[{"op":"set","path":"/a","path":"/b","value":1}]') },
      400,
      0,
    ],
    ['POST', 'docs', { key: '{"a":1}', body: item('x') }, 400, 0],
    ['POST', 'docs', { key: '["a","b"]', body: item('x') }, 400, 0],
    ['POST', 'docs', { key: KEY, body: item('x', { text: 'x'.repeat(2_100_000) }) }, 413, 0],
    ['PUT', 'docs/x', { key: KEY, body: item('y') }, 400, 0],
    ['GET', 'docs/x', {}, 400, 0],
    ['PATCH', 'docs/x', { key: KEY, body: { operations: 'none' } }, 400, 0],
    ['PATCH', 'docs/x', { key: KEY, body: [{ op: 'copy', path: '/a' }] }, 400, 0],
    ['PUT', 'docs', { key: KEY, body: item('x') }, 405, 0],
    ['POST', 'docs/x', { key: KEY, body: item('x') }, 405, 0],
    ['GET', 'docs/x', { key: KEY, container: 'nowhere' }, 404, 0],
  ] as const)('%s %s %#', async (method, path, asked, status, substatus) => {
    await create('x');
    const seen = await stage.ask(method, path, asked);
    expect({ ...seen, headers: {} }).toMatchObject({ status, substatus });
  });

  test('a read-only key may read', async () => {
    await create('x');
    const isReadOnlyKey = true;
    expect((await stage.ask('GET', 'docs/x', { key: KEY, isReadOnlyKey })).status).toBe(200);
    for (const [method, path] of [
      ['POST', 'docs'],
      ['PUT', 'docs/x'],
      ['DELETE', 'docs/x'],
    ] as const) {
      const seen = await stage.ask(method, path, { key: KEY, body: item('x'), isReadOnlyKey });
      expect(seen).toMatchObject({ status: 403, substatus: 0 });
    }
  });

  test('whoever has used up the units of the container comes back later', async () => {
    stage.close();
    let left = 6;
    const charge = (_: number, units: number): number | undefined => {
      if (left <= 0) return 250;
      left -= units;
      return undefined;
    };
    stage = await ItemsStage.open({ throttle: { charge } });
    expect((await create('x')).status).toBe(201);
    expect((await read('x')).status).toBe(200);
    const refused = await create('y');
    expect(refused).toMatchObject({
      status: 429,
      substatus: 3200,
      headers: { 'x-ms-retry-after-ms': '250' },
    });
    expect(stage.asked.filter(({ method }) => method === 'write')).toHaveLength(1);
  });
});

describe('partition keys', () => {
  test.each([
    ['["a"]', { pk: 'a' }],
    ['[1]', { pk: 1 }],
    ['[true]', { pk: true }],
    ['[null]', { pk: null }],
    ['[{}]', {}],
    ['[]', {}],
    ['["\\u00e9"]', { pk: 'é' }],
  ])('%s', async (key, more) => {
    const body = { id: 'x', ...more };
    expect((await stage.ask('POST', 'docs', { key, body })).status).toBe(201);
    expect((await stage.ask('GET', 'docs/x', { key })).body).toMatchObject(body);
  });

  test('are taken from the item, or its id, when the request has none', async () => {
    expect((await stage.ask('POST', 'docs', { body: item('x') })).status).toBe(201);
    expect((await read('x')).status).toBe(200);
    const container = encodeURIComponent('by id');
    expect((await stage.ask('POST', 'docs', { body: { id: 'x' }, container })).status).toBe(201);
    expect((await stage.ask('GET', 'docs/x', { container })).status).toBe(200);
    expect((await stage.ask('DELETE', 'docs/x', { container })).status).toBe(204);
  });
});

describe('when the partition does not answer', () => {
  const failing = (code: 'NOT_WRITER_HERE' | 'DEADLINE', outcome: 'not applied' | 'unknown'): void => {
    stage.before = () => {
      throw new BatonError(code, { outcome });
    };
  };

  test('a write that may have been done is a 408, one that was not goes elsewhere', async () => {
    stage.close();
    stage = await ItemsStage.open({ door: { region: 'west', holdMs: 10 } });
    failing('DEADLINE', 'unknown');
    expect(await create('x')).toMatchObject({ status: 408 });
    failing('NOT_WRITER_HERE', 'not applied');
    expect(await create('x')).toMatchObject({ status: 403, substatus: 3 });
    failing('DEADLINE', 'not applied');
    expect(await read('x')).toMatchObject({ status: 503 });
  });

  test('a container that was deleted meanwhile is not there; one that was made anew is', async () => {
    await create('x');
    const { catalog } = stage;
    const gone = dropContainer(catalog, 'main', 'items');
    if (!('catalog' in gone)) throw new Error();
    const known = stage.context.catalog;
    let isAsked = false;
    Object.assign(known, {
      known: async () => {
        const now = isAsked ? stage.catalog : catalog;
        isAsked = true;
        return now;
      },
    });
    stage.catalog = gone.catalog;
    stage.before = () => {
      throw new BatonError('PARTITION_SET_UNKNOWN');
    };
    expect(await read('x')).toMatchObject({
      status: 404,
      text: expect.stringContaining('no container') as string,
    });
    const options = { id: 'items', partitionKey: ['/pk'], partitionSets: 1, at: 5 };
    const again = addContainer(gone.catalog, 'main', options);
    if (!('catalog' in again)) throw new Error();
    stage.catalog = again.catalog;
    isAsked = false;
    await read('x');
    expect(stage.asked.at(-1)!.partitionSet).not.toBe(stage.asked[0]!.partitionSet);
  });
});
