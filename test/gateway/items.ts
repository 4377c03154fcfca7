/** Single items: every form of reading and writing them, and every condition. */
import { ConsistencyLevel, type Container, type PartitionKey, type PatchOperation } from '@azure/cosmos';
import { beforeAll, describe, expect, test } from 'vitest';
import { codeOf, failureOf, type Item, newContainer } from './calls.ts';
import type { Doors } from './doors.ts';

const MEBIBYTE = 1024 * 1024;

export function itemTests(doors: () => Doors): void {
  let container: Container;

  beforeAll(async () => {
    container = await newContainer(doors().client('west').database('main'), { defaultTtl: -1 });
  });

  describe('items', () => {
    test('are made once, with the properties of the system', async () => {
      const { resource, statusCode, headers, etag } = await container.items.create<Item>({
        id: 'one',
        pk: 'p',
      });
      expect(statusCode).toBe(201);
      expect(resource).toMatchObject({ id: 'one', pk: 'p', _etag: etag, _attachments: expect.any(String) });
      expect(Math.abs(resource!._ts - Date.now() / 1000)).toBeLessThan(60);
      const { resource: definition } = await container.read();
      const rids = [definition!, resource!].map(({ _rid }) =>
        Buffer.from(_rid.replaceAll('-', '/'), 'base64'),
      );
      expect(rids[1]!.subarray(0, 8)).toEqual(rids[0]);
      expect(resource!._self).toContain(definition!._rid);
      expect(Number(headers['x-ms-request-charge'])).toBeGreaterThan(0);
      expect(headers['x-ms-activity-id']).toMatch(/./);
      expect(await codeOf(container.items.create({ id: 'one', pk: 'p' }))).toBe(409);
      expect((await container.items.create({ id: 'one', pk: 'another' })).statusCode).toBe(201);
      const { resource: named } = await container.items.create({ pk: 'p', without: 'id' });
      expect(named!.id).toMatch(/./);
    });

    test('are read, replaced, put and removed', async () => {
      const item = container.item('two', 'p');
      expect(await item.read()).toMatchObject({ statusCode: 404, resource: undefined });
      expect((await container.items.upsert({ id: 'two', pk: 'p', n: 1 })).statusCode).toBe(201);
      expect((await container.items.upsert({ id: 'two', pk: 'p', n: 2 })).statusCode).toBe(200);
      expect((await item.replace({ id: 'two', pk: 'p', n: 3 })).resource).toMatchObject({ n: 3 });
      expect((await item.read()).resource).toMatchObject({ n: 3 });
      expect(await codeOf(container.item('none', 'p').replace({ id: 'none', pk: 'p' }))).toBe(404);
      expect((await item.delete()).statusCode).toBe(204);
      expect(await codeOf(item.delete())).toBe(404);
      expect((await item.read()).statusCode).toBe(404);
    });

    test('are written and read on conditions', async () => {
      const item = container.item('three', 'p');
      const first = (await container.items.create({ id: 'three', pk: 'p', n: 1 })).resource!._etag;
      const match = (condition: string) => ({ accessCondition: { type: 'IfMatch', condition } });
      const none = (condition: string) => ({ accessCondition: { type: 'IfNoneMatch', condition } });
      expect((await item.read(none(first))).statusCode).toBe(304);
      const second = (await item.replace({ id: 'three', pk: 'p', n: 2 }, match(first))).resource!._etag;
      expect(second).not.toBe(first);
      expect((await item.read(none(first))).statusCode).toBe(200);
      const body = { id: 'three', pk: 'p', n: 9 };
      expect(await codeOf(item.replace(body, match(first)))).toBe(412);
      expect(await codeOf(container.items.upsert(body, match(first)))).toBe(412);
      expect(await codeOf(item.delete(match(first)))).toBe(412);
      expect(await codeOf(item.patch([{ op: 'set', path: '/n', value: 9 }], match(first)))).toBe(412);
      expect((await item.read()).resource).toMatchObject({ n: 2 });
      expect((await container.items.upsert({ ...body, n: 4 }, match(second))).statusCode).toBe(200);
      expect((await item.delete(match('*'))).statusCode).toBe(204);
    });

    test.each<[string, PartitionKey, Item['pk']]>([
      ['a text', 'Zürich', 'Zürich'],
      ['a number', 42.5, 42.5],
      ['true', true, true],
      ['false', false, false],
      ['null', null, null],
      ['nothing', undefined as unknown as PartitionKey, undefined],
    ])('are found by a partition key that is %s', async (_, key, pk) => {
      const id = 'typed';
      await container.items.create(pk === undefined ? { id } : { id, pk });
      expect((await container.item(id, key).read()).resource).toMatchObject({ id });
      expect((await container.item(id, 'something else').read()).statusCode).toBe(404);
      expect((await container.item(id, key).delete()).statusCode).toBe(204);
    });

    test.each(['a b', 'üß', '50%25', 'a+b&c=d;e@f,g:h', '😀', "it's", '{"a":1}'])(
      'may be called %s',
      async (id) => {
        await container.items.upsert({ id, pk: 'names' });
        const item = container.item(id, 'names');
        expect((await item.read()).resource).toMatchObject({ id });
        expect((await item.replace({ id, pk: 'names', n: 1 })).resource).toMatchObject({ id, n: 1 });
        expect((await item.delete()).statusCode).toBe(204);
      },
    );

    test('are of up to two mebibytes', async () => {
      const text = 'x'.repeat(2 * MEBIBYTE - 1000);
      await container.items.upsert({ id: 'large', pk: 'p', text });
      expect((await container.item('large', 'p').read<Item>()).resource!['text']).toHaveLength(text.length);
      expect(await codeOf(container.items.upsert({ id: 'large', pk: 'p', text: text + text }))).toBe(413);
      await container.item('large', 'p').delete();
    });

    test('are refused when they are not what they should be', async () => {
      const mismatch = container.item('bad', 'p').replace({ id: 'other', pk: 'p' });
      expect(await codeOf(mismatch)).toBe(400);
      expect(await codeOf(container.items.create({ id: 'x'.repeat(1024), pk: 'p' }))).toBe(400);
      expect(await codeOf(container.items.create({ id: 'a?b', pk: 'p' }))).toBe(400);
    });
  });

  describe('patches', () => {
    test('do all that they can', async () => {
      await container.items.upsert({ id: 'p', pk: 'p', n: 1, list: [1, 3], old: 'o', from: 'f' });
      const operations = [
        { op: 'add', path: '/list/1', value: 2 },
        { op: 'set', path: '/set', value: { a: 1 } },
        { op: 'replace', path: '/set/a', value: 2 },
        { op: 'remove', path: '/old' },
        { op: 'incr', path: '/n', value: 5 },
        { op: 'move', from: '/from', path: '/to' },
      ];
      // Its types leave `move` out.
      const patch = operations as unknown as PatchOperation[];
      const { resource, statusCode } = await container.item('p', 'p').patch<Item>(patch);
      expect(statusCode).toBe(200);
      expect(resource).toMatchObject({ n: 6, list: [1, 2, 3], set: { a: 2 }, to: 'f' });
      expect(resource).not.toHaveProperty('old');
      expect(resource).not.toHaveProperty('from');
      expect(await codeOf(container.item('p', 'p').patch([{ op: 'remove', path: '/nothing' }]))).toBe(400);
      expect(await codeOf(container.item('none', 'p').patch([{ op: 'set', path: '/a', value: 1 }]))).toBe(
        404,
      );
    });

    test('hold to their condition', async () => {
      const item = container.item('q', 'p');
      await container.items.upsert({ id: 'q', pk: 'p', stock: 1, state: 'open' });
      const take = () =>
        item.patch({
          condition: "from c where c.stock > 0 and c.state = 'open'",
          operations: [{ op: 'incr', path: '/stock', value: -1 }],
        });
      expect((await take()).resource).toMatchObject({ stock: 0 });
      expect(await codeOf(take())).toBe(412);
      expect((await item.read()).resource).toMatchObject({ stock: 0 });
      const bad = item.patch({
        condition: 'nonsense',
        operations: [{ op: 'incr', path: '/stock', value: 1 }],
      });
      expect(await codeOf(bad)).toBe(400);
    });
  });

  describe('levels of consistency', () => {
    test.each(Object.values(ConsistencyLevel))('%s is answered', async (consistencyLevel) => {
      await container.items.upsert({ id: 'level', pk: 'p', n: consistencyLevel });
      const weak = doors().client('east', { consistencyLevel }).database('main').container(container.id);
      const item = weak.item('level', 'p');
      const written = (await weak.items.upsert({ id: 'level', pk: 'p', n: 'own' })).resource!;
      const { resource } = await item.read();
      if ([ConsistencyLevel.Strong, ConsistencyLevel.Session].includes(consistencyLevel))
        expect(resource!._etag).toBe(written._etag);
      else expect(resource).toMatchObject({ id: 'level' });
    });

    test('a token names the range, the epoch and the place in the log', async () => {
      const { headers } = await container.items.upsert({ id: 'token', pk: 'p' });
      expect(headers['x-ms-session-token']).toMatch(/^\d+:\d+#\d+$/);
      const { resource } = await container.read();
      expect(headers['x-ms-content-path']).toBe(resource!._rid);
    });

    test('a damaged token is refused', async () => {
      const { code, message } = await failureOf(
        container.item('token', 'p').read({ sessionToken: 'nonsense' }),
      );
      expect(code).toBe(400);
      expect(message).toMatch(/session token/i);
    });
  });
}
