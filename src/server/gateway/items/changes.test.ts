/** The change feed, as the iterators of clients read it. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { BatonError } from '../../../client/index.ts';
import { epkOf, epkRanges, rangeContains } from '../../../engine/index.ts';
import { ItemsStage, type Seen } from './testing/items-stage.ts';

let stage: ItemsStage;

beforeEach(async () => {
  stage = await ItemsStage.open({ partitionSets: 2, defaultTtl: -1 });
});
afterEach(() => stage.close());

type Headers = Record<string, string>;
interface Change {
  readonly id: string;
  readonly n: number;
  readonly _lsn: number;
}

const isFirst = (pk: string): boolean => rangeContains(epkRanges(2)[0]!, epkOf([pk]));
const [A, B] = ['a', 'b', 'c', 'd', 'e', 'f'].filter(isFirst) as [string, string];

function changes(headers: Headers = {}, range = '1'): Promise<Seen> {
  return stage.ask('GET', 'docs', {
    headers: { 'a-im': 'Incremental Feed', 'x-ms-documentdb-partitionkeyrangeid': range, ...headers },
  });
}

async function put(id: string, n: number, pk = A, more: object = {}): Promise<void> {
  const headers = { 'x-ms-documentdb-is-upsert': 'true' };
  const seen = await stage.ask('POST', 'docs', { key: [pk], body: { id, pk, n, ...more }, headers });
  expect(seen.status).toBeLessThan(300);
}

const shown = ({ body }: Seen): readonly string[] =>
  (body as { Documents: readonly Change[] }).Documents.map(({ id, n }) => `${id}=${n}`);
const after = ({ headers }: Seen): Headers => ({ 'if-none-match': headers['etag']! });

describe('the change feed of a range', () => {
  test('shows what was written, then nothing, then what is new', async () => {
    await put('x', 1);
    await put('y', 1);
    const first = await changes();
    expect(first.status).toBe(200);
    expect(shown(first)).toEqual(['x=1', 'y=1']);
    expect((first.body as { Documents: Change[] }).Documents.map(({ _lsn }) => _lsn)).toEqual([1, 2]);
    const nothing = await changes(after(first));
    expect(nothing).toMatchObject({ status: 304, text: '' });
    await put('x', 2);
    const second = await changes(after(nothing));
    expect(shown(second)).toEqual(['x=2']);
    expect(shown(await changes(after(first)))).toEqual(['x=2']);
    expect(await changes(after(second))).toMatchObject({ status: 304 });
  });

  test('shows an item once in an answer, as it is last, and no deletions', async () => {
    await put('x', 1);
    await put('y', 1);
    await put('x', 2);
    await put('z', 1);
    await stage.ask('DELETE', 'docs/y', { key: [A] });
    expect(shown(await changes())).toEqual(['x=2', 'z=1']);
  });

  test('begins now', async () => {
    await put('x', 1);
    const now = await changes({ 'if-none-match': '*' });
    expect(now.status).toBe(304);
    expect(await changes(after(now))).toMatchObject({ status: 304 });
    await put('y', 1);
    expect(shown(await changes(after(now)))).toEqual(['y=1']);
    const empty = await changes({ 'if-none-match': '*' }, '2');
    expect(empty).toMatchObject({ status: 304 });
    expect(await changes(after(empty), '2')).toMatchObject({ status: 304 });
  });

  test('begins at a time, which is said with every request', async () => {
    await put('x', 1);
    await put('y', 1);
    stage.aheadMs = 3_600_000;
    const since = { 'if-modified-since': new Date(Date.now() + 1_800_000).toUTCString() };
    const nothing = await changes(since);
    expect(nothing.status).toBe(304);
    await put('z', 1);
    expect(shown(await changes(since))).toEqual(['z=1']);
    expect(shown(await changes({ ...since, ...after(nothing) }))).toEqual(['z=1']);
    expect((await changes({ 'if-modified-since': 'soon' })).status).toBe(400);
  });

  test('page by page, and a batch is in one page', async () => {
    for (const n of [1, 2, 3]) await put(`x${n}`, n);
    const body = [4, 5, 6].map((n) => ({ operationType: 'Create', resourceBody: { id: `x${n}`, pk: A, n } }));
    const headers = { 'x-ms-cosmos-is-batch-request': 'true', 'x-ms-cosmos-batch-atomic': 'true' };
    expect((await stage.ask('POST', 'docs', { key: [A], body, headers })).status).toBe(200);
    await put('x7', 7);
    const sizes: number[] = [];
    const all: string[] = [];
    let seen = await changes({ 'x-ms-max-item-count': '2' });
    for (; seen.status === 200; seen = await changes({ 'x-ms-max-item-count': '2', ...after(seen) })) {
      sizes.push(shown(seen).length);
      all.push(...shown(seen));
    }
    expect(sizes).toEqual([2, 4, 1]);
    expect(all).toEqual(['x1=1', 'x2=2', 'x3=3', 'x4=4', 'x5=5', 'x6=6', 'x7=7']);
  });

  test('of one partition key, or a part of the range', async () => {
    await put('x', 1, A);
    await put('y', 1, B);
    const headers = { 'a-im': 'Incremental feed' };
    const one = await stage.ask('GET', 'docs', { key: [B], headers });
    expect(shown(one)).toEqual(['y=1']);
    const none = await stage.ask('GET', 'docs', { key: [B], headers: { ...headers, ...after(one) } });
    expect(none.status).toBe(304);
    const bound = epkOf([A]) < epkOf([B]) ? epkOf([B]) : epkOf([A]);
    const [low, high] = epkOf([A]) < epkOf([B]) ? ['x=1', 'y=1'] : ['y=1', 'x=1'];
    expect(shown(await changes({ 'x-ms-end-epk': bound }))).toEqual([low]);
    expect(shown(await changes({ 'x-ms-start-epk': bound }))).toEqual([high]);
  });

  test('does not show what has outlived its time', async () => {
    await put('x', 1, A, { ttl: 5 });
    await put('y', 1);
    stage.aheadMs = 6000;
    expect(shown(await changes())).toEqual(['y=1']);
  });

  test('goes on where it was after a failover', async () => {
    await put('x', 1);
    const first = await changes();
    await stage.failOver(stage.asked.at(-1)!.partitionSet, 2);
    await put('y', 1);
    expect(shown(await changes(after(first)))).toEqual(['y=1']);
  });

  test('waits a moment for a write that a strong reader must see', async () => {
    const first = await changes();
    expect(first.status).toBe(304);
    await put('x', 1);
    let isHeld = true;
    const { feed } = stage.context.partitions;
    Object.assign(stage.context.partitions, {
      feed: async (call: Parameters<typeof feed>[0]) => {
        const answer = await feed(call);
        if (!isHeld || (call.waitMs ?? 0) > 0) return answer;
        return { ...answer, entries: [], position: call.after };
      },
    });
    expect(shown(await changes(after(first)))).toEqual(['x=1']);
    isHeld = false;
  });
});

describe('what is refused', () => {
  test.each(['FEED_UNDONE', 'FEED_TRIMMED'] as const)(
    '%s: the reader is told, and keeps nothing',
    async (code) => {
      await put('x', 1);
      stage.before = () => {
        throw new BatonError(code);
      };
      const seen = await changes();
      expect(seen).toMatchObject({ status: 400, headers: {} });
      expect(seen.text).toContain('begin it anew');
    },
  );

  test('a place that is damaged, or of another range', async () => {
    await put('x', 1);
    const first = await changes();
    expect((await changes(after(first), '2')).status).toBe(400);
    expect((await changes({ 'if-none-match': '"7"' })).status).toBe(400);
    const cut = first.headers['etag']!.replace(/.{3}"$/, '"');
    expect((await changes({ 'if-none-match': cut })).status).toBe(400);
  });

  test('many ranges at once, and all versions', async () => {
    const several = await stage.ask('GET', 'docs', { headers: { 'a-im': 'Incremental feed' } });
    expect(several.status).toBe(400);
    expect((await changes({ 'a-im': 'Full-Fidelity Feed' })).status).toBe(400);
  });
});
