/** Many items at once: batches, bulk, the whole container page by page, and what has changed. */
import {
  BulkOperationType,
  type BulkOperationResult,
  ChangeFeedStartFrom,
  type Container,
  type OperationInput,
  type OperationResponse,
} from '@azure/cosmos';
import { beforeAll, describe, expect, test } from 'vitest';
import { codeOf, collect, failureOf, type Item, newContainer } from './calls.ts';
import type { Doors } from './doors.ts';

const ITEMS = 60;

export function manyTests(doors: () => Doors): void {
  let container: Container;
  const ids = Array.from({ length: ITEMS }, (_, n) => `i${String(n).padStart(2, '0')}`);
  const sorted = (items: readonly Item[]): string[] => items.map(({ id }) => id).toSorted();
  /** A feed may show an item that changed more than once. */
  const distinct = (items: readonly Item[]): string[] => [...new Set(sorted(items))];

  beforeAll(async () => {
    container = await newContainer(doors().client('west').database('main'));
    await container.items.executeBulkOperations(
      ids.map((id, n) => ({
        operationType: 'Create',
        partitionKey: id,
        resourceBody: { id, pk: id, n },
      })),
    );
  });

  describe('a transactional batch', () => {
    const statuses = ({ result }: { readonly result?: readonly OperationResponse[] | undefined }): number[] =>
      result!.map(({ statusCode }) => statusCode);

    test('is carried out as a whole', async () => {
      const items = await newContainer(doors().client('west').database('main'));
      const operations: OperationInput[] = [
        { operationType: 'Create', resourceBody: { id: 'a', pk: 'p', n: 1 } },
        { operationType: 'Upsert', resourceBody: { id: 'b', pk: 'p', n: 1 } },
        {
          operationType: 'Patch',
          id: 'a',
          resourceBody: { operations: [{ op: 'incr', path: '/n', value: 1 }] },
        },
        { operationType: 'Read', id: 'a' },
        { operationType: 'Replace', id: 'b', resourceBody: { id: 'b', pk: 'p', n: 3 } },
        { operationType: 'Create', resourceBody: { id: 'c', pk: 'p' } },
        { operationType: 'Delete', id: 'c' },
      ];
      const answer = await items.items.batch(operations, 'p');
      expect(statuses(answer)).toEqual([201, 201, 200, 200, 200, 201, 204]);
      expect(answer.result![3]!.resourceBody).toMatchObject({ id: 'a', n: 2 });
      expect(answer.result![0]!.eTag).toMatch(/./);
      expect((await items.item('b', 'p').read()).resource).toMatchObject({ n: 3 });
      expect((await items.item('c', 'p').read()).statusCode).toBe(404);
    });

    test('is not carried out at all when a part of it cannot be', async () => {
      const items = await newContainer(doors().client('west').database('main'));
      await items.items.create({ id: 'there', pk: 'p' });
      const answer = await items.items.batch(
        [
          { operationType: 'Create', resourceBody: { id: 'new', pk: 'p' } },
          { operationType: 'Create', resourceBody: { id: 'there', pk: 'p' } },
          { operationType: 'Delete', id: 'there' },
        ],
        'p',
      );
      expect(answer.code).toBe(207);
      expect(statuses(answer)).toEqual([424, 409, 424]);
      expect(sorted((await items.items.readAll<Item>().fetchAll()).resources)).toEqual(['there']);
    });
  });

  describe('bulk', () => {
    const outcomeOf = ({ response, error }: BulkOperationResult): number =>
      Number(response?.statusCode ?? error!.code);

    test('does each operation for itself, over all ranges', async () => {
      const bulk = await newContainer(doors().client('west').database('main'));
      const create = (id: string) =>
        ({ operationType: 'Create', partitionKey: id, resourceBody: { id, pk: id } }) as const;
      const first = await bulk.items.executeBulkOperations(ids.map(create));
      expect(first.map(outcomeOf)).toEqual(ids.map(() => 201));
      const second = await bulk.items.executeBulkOperations([
        create('i00'),
        { operationType: 'Read', partitionKey: 'i01', id: 'i01' },
        { operationType: 'Delete', partitionKey: 'i02', id: 'i02' },
        { operationType: 'Delete', partitionKey: 'none', id: 'none' },
        { operationType: 'Upsert', partitionKey: 'i03', resourceBody: { id: 'i03', pk: 'i03', n: 1 } },
        {
          operationType: 'Replace',
          partitionKey: 'i04',
          id: 'i04',
          resourceBody: { id: 'i04', pk: 'i04', n: 1 },
        },
        {
          operationType: 'Patch',
          partitionKey: 'i05',
          id: 'i05',
          resourceBody: { operations: [{ op: 'set', path: '/n', value: 5 }] },
        },
      ]);
      expect(second.map(outcomeOf)).toEqual([409, 200, 204, 404, 200, 200, 200]);
      expect(second[1]!.response!.resourceBody).toMatchObject({ id: 'i01' });
    });

    test('of the old kind answers in order', async () => {
      const bulk = await newContainer(doors().client('west').database('main'));
      const answers = await bulk.items.bulk(
        ids.map((id) => ({ operationType: BulkOperationType.Upsert, resourceBody: { id, pk: id } })),
      );
      expect(answers.map(({ resourceBody }) => resourceBody!['id'])).toEqual(ids);
      expect(answers.every(({ statusCode }) => statusCode === 201)).toBe(true);
    });
  });

  describe('the whole container', () => {
    test('is read page by page over its ranges, everything once', async () => {
      const { resources } = await container.readPartitionKeyRanges().fetchAll();
      expect(resources.length).toBeGreaterThan(1);
      const iterator = container.items.readAll<Item>({ maxItemCount: 7 });
      const sizes: number[] = [];
      const all: Item[] = [];
      for await (const page of iterator.getAsyncIterator()) {
        sizes.push(page.resources.length);
        all.push(...page.resources);
      }
      expect(Math.max(...sizes)).toBeLessThanOrEqual(7);
      expect(sorted(all)).toEqual(ids);
    });

    test('is read further by another client, through another door, from where the first one was', async () => {
      const first = await container.items.readAll<Item>({ maxItemCount: 20 }).fetchNext();
      const elsewhere = doors().client('east').database('main').container(container.id);
      const { continuationToken } = first;
      const rest = await collect(
        elsewhere.items.readAll<Item>({ maxItemCount: 20, continuationToken }).getAsyncIterator(),
      );
      expect(sorted([...first.resources, ...rest])).toEqual(ids);
      const damaged = elsewhere.items.readAll({ continuationToken: 'nonsense' }).fetchNext();
      expect(await codeOf(damaged)).toBe(400);
    });

    test('is read for one partition key', async () => {
      const { resources } = await container.items.readAll<Item>({ partitionKey: 'i07' }).fetchAll();
      expect(sorted(resources)).toEqual(['i07']);
    });

    test('is not queried: the refusal says so', async () => {
      for (const query of ['SELECT * FROM c WHERE c.n > 3', 'SELECT VALUE COUNT(1) FROM c']) {
        const { code, message } = await failureOf(container.items.query(query).fetchAll());
        expect(code).toBe(400);
        expect(message).toMatch(/quer/i);
      }
    });
  });

  describe('the change feed', () => {
    async function read(from: ChangeFeedStartFrom): Promise<{ items: Item[]; continuation: string }> {
      const iterator = container.items.getChangeFeedIterator<Item>({
        changeFeedStartFrom: from,
        maxItemCount: 9,
      });
      const items: Item[] = [];
      for (;;) {
        const { statusCode, result, continuationToken } = await iterator.readNext();
        if (statusCode === 304) return { items, continuation: continuationToken };
        items.push(...result);
      }
    }

    test('gives everything from the beginning, and then what changed since', async () => {
      const first = await read(ChangeFeedStartFrom.Beginning());
      expect(distinct(first.items)).toEqual(ids);
      await container.item('i09', 'i09').patch([{ op: 'set', path: '/changed', value: true }]);
      const second = await read(ChangeFeedStartFrom.Continuation(first.continuation));
      expect(second.items).toMatchObject([{ id: 'i09', changed: true }]);
      const third = await read(ChangeFeedStartFrom.Continuation(second.continuation));
      expect(third.items).toEqual([]);
    });

    test('gives that of one range, of one key, from now and from a time', async () => {
      const ranges = await container.getFeedRanges();
      const parts = await Promise.all(
        ranges.map(async (range) => (await read(ChangeFeedStartFrom.Beginning(range))).items),
      );
      expect(parts.filter(({ length }) => length > 0).length).toBeGreaterThan(1);
      expect(distinct(parts.flat())).toEqual(ids);
      expect(sorted((await read(ChangeFeedStartFrom.Beginning('i11'))).items)).toEqual(['i11']);
      const now = await read(ChangeFeedStartFrom.Now());
      expect(now.items).toEqual([]);
      await container.item('i12', 'i12').replace({ id: 'i12', pk: 'i12', now: true });
      const after = await read(ChangeFeedStartFrom.Continuation(now.continuation));
      expect(sorted(after.items)).toEqual(['i12']);
      const hourAgo = await read(ChangeFeedStartFrom.Time(new Date(Date.now() - 3_600_000)));
      expect(distinct(hourAgo.items)).toEqual(ids);
      expect((await read(ChangeFeedStartFrom.Time(new Date(Date.now() + 3_600_000)))).items).toEqual([]);
    });

    test('of the old kind gives that of a partition key', async () => {
      const feed = container.items.changeFeed('i13', { startFromBeginning: true });
      const page = await feed.fetchNext();
      expect(page.result).toMatchObject([{ id: 'i13' }]);
      expect((await feed.fetchNext()).statusCode).toBe(304);
      expect(feed.hasMoreResults).toBe(false);
      const { etag } = page;
      await container.item('i13', 'i13').patch([{ op: 'set', path: '/again', value: true }]);
      const further = await container.items.changeFeed('i13', { continuation: etag }).fetchNext();
      expect(further.result).toMatchObject([{ id: 'i13', again: true }]);
      expect((await container.items.changeFeed('i13').fetchNext()).statusCode).toBe(304);
    });
  });
}
