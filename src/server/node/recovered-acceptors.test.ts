/** A node whose acceptors lost their majority for good, started again on those into which the survivor was recovered. */
import { expect, test } from 'vitest';
import { memoryUrls, storeOf } from '../../../test/caspaxos/clusters.ts';
import { until } from '../../../test/support/until.ts';
import { NODE_HOST, recoverAcceptors } from '../../caspaxos/index.ts';
import { diskOf, epkOf, MemoryNodeStore } from '../../engine/index.ts';
import { configurationFor, PROFILES } from '../../failover/index.ts';
import { RegionNode } from './region-node.ts';

const store = new MemoryNodeStore({ host: NODE_HOST, syncMs: () => 0 });

async function started(acceptors: readonly string[]): Promise<RegionNode> {
  const node = await RegionNode.start({
    cluster: 'demo',
    node: 'west-1',
    region: 'west',
    listen: { host: '127.0.0.1', port: 0 },
    peers: new Map(),
    acceptors,
    disk: diskOf(store),
  });
  const configuration = configurationFor(['west'], { timings: PROFILES.fast });
  await node.add({ partitionSet: 'p', configuration, settings: { partitionKeyPaths: ['/id'] } });
  await until('it can be written', () => node.agents.agentOf('p')!.mayWrite());
  return node;
}

function put(node: RegionNode, id: string): Promise<{ readonly outcome: string }> {
  const body = Buffer.from(JSON.stringify({ id }));
  const operations = [{ op: 'upsert' as const, body }];
  return node.partition('p')!.write({ partitionKey: [id], operations }, 60_000);
}

test('goes on with its documents, under its name, as soon as the new acceptors are named', async () => {
  const [old, next] = [memoryUrls(), memoryUrls()];
  const before = await started(old);
  expect(await put(before, 'a')).toMatchObject({ outcome: 'done' });
  const incarnation = before.incarnation;
  await before.close();
  await until(
    'the survivor has the state',
    async () => (await storeOf(old[0]!).list('register/', 1)).length > 0,
  );
  await recoverAcceptors({ from: old.slice(0, 1), to: next, changesMayBeLost: true });

  const after = await started(next);
  try {
    expect(after.incarnation).toBe(incarnation + 1);
    expect(await put(after, 'b')).toMatchObject({ outcome: 'done' });
    for (const id of ['a', 'b']) {
      const answer = await after.partition('p')!.read({ key: { epk: epkOf([id]), id }, level: 'Strong' });
      expect(answer).toMatchObject({ outcome: 'done', version: { body: expect.anything() } });
    }
  } finally {
    await after.close();
  }
});
