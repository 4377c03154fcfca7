// A test of your own code against a cluster that loses a region. Run it here with `node --test node.test.js`.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startCluster } from 'baton/testing';

let cluster;

before(async () => {
  cluster = await startCluster({ regions: 3 });
});

after(() => cluster?.stop());

test('an order survives the loss of the write region', async () => {
  const client = await cluster.client();
  const orders = client.container('items');
  await orders.upsert({ id: 'order-1', total: 12 });

  await cluster.kill('west');
  const { writers } = await cluster.waitForFailover();
  assert.ok(!Object.values(writers).includes('west'));

  const { document } = await orders.read('order-1');
  assert.equal(document.total, 12);
  await orders.upsert({ id: 'order-2', total: 7 });

  await cluster.heal('west');
  await cluster.waitForWrites({ region: 'west' });
});
