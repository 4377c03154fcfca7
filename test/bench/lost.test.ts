/** The benchmark's count of lost writes sees one that is lost: a count that is always 0 would prove nothing. */
import { BatonClient } from 'baton/client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { countLost } from '../../bench/failover/lost.ts';
import { RegionCluster } from '../client/region-cluster.ts';

const IDS = ['a', 'b', 'c', 'd'];

let cluster: RegionCluster;
let client: BatonClient;

beforeAll(async () => {
  cluster = await RegionCluster.start();
  client = await BatonClient.connect({ account: 'shop', endpoints: cluster.endpoints, timeoutMs: 30_000 });
});

afterAll(async () => {
  await client?.close();
  await cluster?.end();
});

test('counts documents that are gone, and those alone', async () => {
  const items = client.container('items');
  for (const id of IDS) await items.create({ id });
  expect(await countLost(items, IDS)).toBe(0);
  await items.delete('b');
  expect(await countLost(items, IDS)).toBe(1);
  expect(await countLost(items, [...IDS, 'never written'])).toBe(2);
});
