// A test of your own code against a cluster that loses a region. Run it here with `npx vitest run vitest.test.js`.
import { startCluster } from 'baton/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';

let cluster;

beforeAll(async () => {
  cluster = await startCluster({ regions: 3 });
});

afterAll(() => cluster?.stop());

test('an order survives the loss of the write region', async () => {
  const client = await cluster.client();
  const orders = client.container('items');
  await orders.upsert({ id: 'order-1', total: 12 });

  await cluster.kill('west');
  const { writers } = await cluster.waitForFailover();
  expect(Object.values(writers)).not.toContain('west');

  const { document } = await orders.read('order-1');
  expect(document.total).toBe(12);
  await orders.upsert({ id: 'order-2', total: 7 });

  await cluster.heal('west');
  await cluster.waitForWrites({ region: 'west' });
});
