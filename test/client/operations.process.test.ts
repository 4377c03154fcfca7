/** Every operation of the SDK against three real nodes. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { BatonClient, BatonError, type Change } from 'baton/client';
import { RegionCluster } from './region-cluster.ts';

interface Item {
  readonly id: string;
  readonly customer: string;
  readonly n?: number;
  readonly tags?: readonly string[];
}

let cluster: RegionCluster;
let client: BatonClient;

beforeAll(async () => {
  cluster = await RegionCluster.start({ partitionKey: '/customer' });
  client = await BatonClient.connect({ account: 'shop', endpoints: cluster.endpoints, timeoutMs: 120_000 });
});

afterAll(async () => {
  await client?.close();
  await cluster?.end();
});

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}

async function errorOf(promise: Promise<unknown>): Promise<BatonError> {
  const error: unknown = await promise.then(
    () => new Error('it did not fail'),
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(BatonError);
  return error as BatonError;
}

describe('operations', () => {
  const items = () => client.container<Item>('items');

  test('create, read, replace, patch, delete', async () => {
    const created = await items().create({ id: 'a', customer: 'ann', n: 1 });
    expect(created.status).toBe(201);
    const read = await items().read('a', { partitionKey: 'ann' });
    expect(read.document).toMatchObject({ id: 'a', customer: 'ann', n: 1, _etag: created.etag });
    expect(read.etag).toBe(created.etag);
    const replaced = await items().replace('a', { ...read.document, n: 2 }, { ifMatch: read.etag });
    expect(replaced.status).toBe(200);
    expect(replaced.etag).not.toBe(read.etag);
    const patched = await items().patch(
      'a',
      [
        { op: 'incr', path: '/n', value: 5 },
        { op: 'set', path: '/tags', value: ['new'] },
      ],
      { partitionKey: 'ann', ifMatch: replaced.etag },
    );
    const after = await items().read('a', { partitionKey: 'ann' });
    expect(after.document).toMatchObject({
      n: 7,
      tags: ['new'],
      _etag: patched.etag,
      _rid: read.document._rid,
    });
    const deleted = await items().delete('a', { partitionKey: 'ann' });
    expect(deleted).toMatchObject({ status: 204, etag: undefined });
    expect(await errorOf(items().read('a', { partitionKey: 'ann' }))).toMatchObject({ code: 'NOT_FOUND' });
  });

  test('conditions and rejections are typed', async () => {
    const { etag } = await items().upsert({ id: 'b', customer: 'bob', n: 1 });
    expect((await items().upsert({ id: 'b', customer: 'bob', n: 2 })).status).toBe(200);
    const conflict = await errorOf(items().create({ id: 'b', customer: 'bob' }));
    expect(conflict).toMatchObject({ code: 'CONFLICT', status: 409, outcome: 'not applied' });
    const late = await errorOf(items().replace('b', { id: 'b', customer: 'bob' }, { ifMatch: etag }));
    expect(late).toMatchObject({ code: 'PRECONDITION_FAILED', status: 412 });
    const none = await errorOf(items().delete('nobody', { partitionKey: 'bob' }));
    expect(none).toMatchObject({ code: 'NOT_FOUND', status: 404 });
    const bad = await errorOf(items().create({ id: 'x/y', customer: 'bob' }));
    expect(bad).toMatchObject({ code: 'BAD_REQUEST', status: 400 });
    expect(bad.message).toContain('characters');
    const large = { id: 'large', customer: 'bob', tags: ['x'.repeat(2 * 1024 * 1024)] };
    expect(await errorOf(items().create(large))).toMatchObject({ code: 'TOO_LARGE', status: 413 });
    const name = await errorOf(items().create({ id: 'c', customer: 'bob' }, { operationId: '\n' }));
    expect(name).toMatchObject({ code: 'BAD_REQUEST' });
    const steps = [{ op: 'double' as 'set', path: '/n' }];
    const odd = await errorOf(items().patch('b', steps, { partitionKey: 'bob' }));
    expect(odd).toMatchObject({ code: 'BAD_REQUEST', outcome: 'not applied' });
  });

  test('a batch is carried out whole or not at all', async () => {
    const { results, status } = await items().batch('cyd', [
      { op: 'create', document: { id: 'one', customer: 'cyd', n: 1 } },
      { op: 'upsert', document: { id: 'two', customer: 'cyd', n: 2 } },
      { op: 'patch', id: 'two', steps: [{ op: 'incr', path: '/n', value: 1 }] },
      { op: 'check', id: 'one' },
    ]);
    expect(status).toBe(201);
    expect(results.map((one) => one.status)).toEqual([201, 201, 200, 200]);
    const two = await items().read('two', { partitionKey: 'cyd' });
    expect(two.document.n).toBe(3);
    expect(two.etag).toBe(results[1]!.etag);
    const error = await errorOf(
      items().batch('cyd', [
        { op: 'delete', id: 'one' },
        { op: 'check', id: 'nobody' },
      ]),
    );
    expect(error).toMatchObject({ code: 'NOT_FOUND', status: 404, outcome: 'not applied' });
    expect(error.results!.map((one) => one.status)).toEqual([424, 404]);
    expect((await items().read('one', { partitionKey: 'cyd' })).status).toBe(200);
  });

  test('the same operation id twice is one write', async () => {
    const options = { operationId: 'just-once' };
    const first = await items().create({ id: 'once', customer: 'dan' }, options);
    const second = await items().create({ id: 'once', customer: 'dan' }, options);
    expect(second).toMatchObject({ status: 201, etag: first.etag });
  });

  test('readAll gives every document, or those of one key, over pages', async () => {
    const ids = Array.from({ length: 45 }, (_, at) => `r-${String(at).padStart(2, '0')}`);
    await Promise.all(
      ids.map((id, at) => items().upsert({ id, customer: at % 3 === 0 ? 'eve' : `eve-${at}` })),
    );
    const all: string[] = [];
    for await (const document of items().readAll({ pageSize: 4 })) {
      expect(document._etag).toMatch(/^"/);
      all.push(document.id);
    }
    expect(all.filter((id) => id.startsWith('r-')).toSorted()).toEqual(ids);
    expect(new Set(all).size).toBe(all.length);
    const eves: string[] = [];
    for await (const { id } of items().readAll({ partitionKey: 'eve', pageSize: 4 })) eves.push(id);
    expect(eves).toEqual(ids.filter((_, at) => at % 3 === 0));
  });

  test('changes: from the beginning, from a cursor, from now', async () => {
    const ids = Array.from({ length: 46 }, (_, at) => `f-${String(at).padStart(2, '0')}`);
    await Promise.all(ids.map((id) => items().create({ id, customer: id })));
    const caller = new AbortController();
    const seen: string[] = [];
    let middle: string | undefined;
    for await (const change of items().changes({ signal: caller.signal })) {
      if (!change.id.startsWith('f-')) continue;
      if (change.type === 'written') expect(change.document).toMatchObject({ _etag: change.etag });
      seen.push(change.id);
      if (seen.length === 20) middle = change.cursor;
      if (seen.length === 46) caller.abort();
    }
    expect(seen.toSorted()).toEqual(ids);
    const rest: string[] = [];
    for await (const change of items().changes({ from: middle })) {
      if (change.id.startsWith('f-')) rest.push(change.id);
      if (rest.length === 26) break;
    }
    expect(rest).toEqual(seen.slice(20));
    const wrong = items().changes({ from: 'f1,nonsense' });
    expect(await errorOf(wrong.next())).toMatchObject({ code: 'TOKEN_INVALID' });
    expect(client.inFlight).toBe(0);
  });

  test('changes from now on show nothing older', async () => {
    const late = items().changes({ from: 'now', holdMs: 50 });
    let isShown = false;
    const next = late.next().finally(() => {
      isShown = true;
    });
    for (let n = 0; !isShown; n += 1) {
      await items().upsert({ id: 'tick', customer: 'dan', n });
      await pause(20);
    }
    expect((await next).value).toMatchObject({ type: 'written', id: 'tick', partitionKey: ['dan'] });
    const { etag } = await items().upsert({ id: 'tock', customer: 'dan' });
    await items().delete('tock', { partitionKey: 'dan' });
    for await (const change of late) {
      if (change.id === 'tick') continue;
      expect(change).toMatchObject(
        change.type === 'written' ? { id: 'tock', etag } : { id: 'tock', document: undefined },
      );
      if (change.type === 'deleted') break;
    }
    expect(client.inFlight).toBe(0);
  });

  test('the cursor moves on with the last change of a batch', async () => {
    await items().create({ id: 'v', customer: 'fay' });
    let from = '';
    for await (const { id, cursor } of items().changes()) {
      from = cursor;
      if (id === 'v') break;
    }
    const documents = ['x', 'y', 'z'].map((id) => ({ id, customer: 'fay' }));
    await items().batch(
      'fay',
      documents.map((document) => ({ op: 'create' as const, document })),
    );
    const { etag } = await items().create({ id: 'w', customer: 'fay' });
    const shown = await fays(from, 4);
    expect(shown.map(({ id }) => id)).toEqual(['x', 'y', 'z', 'w']);
    expect((await fays(shown[1]!.cursor, 1))[0]!.id).toBe('x');
    expect((await fays(shown[2]!.cursor, 1))[0]).toMatchObject({ id: 'w', etag });
  });

  async function fays(from: string, count: number): Promise<readonly Change<Item>[]> {
    const shown: Change<Item>[] = [];
    for await (const change of items().changes({ from })) {
      if (change.partitionKey[0] === 'fay') shown.push(change);
      if (shown.length === count) break;
    }
    return shown;
  }
});
