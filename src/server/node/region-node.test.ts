/** Copies that come and go in a running node. */
import { Registry } from 'prom-client';
import { describe, expect, onTestFinished, test } from 'vitest';
import { RpcClient } from '../../../test/server/daemons.ts';
import { until } from '../../../test/support/until.ts';
import { NODE_HOST } from '../../caspaxos/index.ts';
import { decodeLookAnswer, encodeLook, METHODS, type NodeLookAnswer } from '../../client/index.ts';
import { diskOf, MemoryNodeStore } from '../../engine/index.ts';
import { configurationFor, PROFILES } from '../../failover/index.ts';
import { RegionNode, type RegionNodeOptions } from './region-node.ts';

let nodes = 0;

class Scene {
  syncMs = 0;
  readonly store = new MemoryNodeStore({ host: NODE_HOST, syncMs: () => this.syncMs });
  node!: RegionNode;

  static async started(more: Partial<RegionNodeOptions> = {}): Promise<Scene> {
    const scene = new Scene();
    nodes += 1;
    scene.node = await RegionNode.start({
      cluster: 'demo',
      node: 'west-1',
      region: 'west',
      listen: { host: '127.0.0.1', port: 0 },
      peers: new Map(),
      acceptors: ['a', 'b', 'c'].map((name) => `memory:region-node-${process.pid}-${nodes}-${name}`),
      disk: diskOf(scene.store),
      ...more,
    });
    onTestFinished(() => scene.node.close());
    return scene;
  }

  async add(partitionSet: string): Promise<void> {
    const configuration = configurationFor(['west'], { timings: PROFILES.fast });
    await this.node.add({ partitionSet, configuration, settings: { partitionKeyPaths: ['/id'] } });
  }

  async untilWritable(partitionSet: string): Promise<void> {
    await until(`${partitionSet} can be written`, () => this.node.agents.agentOf(partitionSet)!.mayWrite());
  }

  put(partitionSet: string, id: string): Promise<{ readonly outcome: string }> {
    const body = Buffer.from(JSON.stringify({ id }));
    const request = { partitionKey: [id], operations: [{ op: 'upsert' as const, body }] };
    return this.node.partition(partitionSet)!.write(request, 60_000);
  }
}

describe('a copy', () => {
  test('whose disk takes nothing cannot be added; later it can', async () => {
    const scene = await Scene.started();
    scene.store.fail(new Error('The disk is full.'));
    await expect(scene.add('p')).rejects.toThrow('The disk is full.');
    expect(scene.node.partition('p')).toBeUndefined();
    expect(() => scene.node.engine.partition('p')).toThrow('no copy');
    expect(scene.node.agents.size).toBe(0);
    scene.store.fail(undefined);
    await scene.add('p');
    await scene.untilWritable('p');
    expect(await scene.put('p', 'a')).toMatchObject({ outcome: 'done' });
  });

  test('that is removed is gone with its data; whoever waits is answered, and the others go on', async () => {
    const scene = await Scene.started();
    await Promise.all([scene.add('p'), scene.add('q')]);
    await Promise.all([scene.untilWritable('p'), scene.untilWritable('q')]);
    await scene.put('p', 'a');
    const partition = scene.node.partition('p')!;
    scene.syncMs = 100;
    const writing = scene.put('p', 'b');
    const removing = scene.node.remove('p');
    expect(await writing).toEqual({ outcome: 'unknown' });
    const key = { epk: '', id: 'a' };
    expect(await partition.read({ key, level: 'Eventual' })).toEqual({
      outcome: 'refused',
      code: 'NOT_READY',
    });
    expect(partition.feed({ after: { epoch: 0, lsn: 0 }, maxBytes: 100 })).toEqual({
      outcome: 'refused',
      code: 'NOT_READY',
    });
    await removing;
    expect(scene.store.partitionSets).not.toContain('p');
    expect(scene.node.partitions.map(({ partitionSet }) => partitionSet)).toEqual(['q']);
    expect(scene.node.agents.agentOf('p')).toBeUndefined();
    scene.syncMs = 0;
    expect(await scene.put('q', 'a')).toMatchObject({ outcome: 'done' });
    await scene.node.remove('p');
    await scene.node.remove('never-was');
  });

  test('that is removed while it is being added is not left half open', async () => {
    const scene = await Scene.started();
    scene.syncMs = 50;
    const adding = scene.add('p');
    await scene.node.remove('p');
    await expect(adding).rejects.toMatchObject({ code: 'NOT_STARTED' });
    expect(scene.node.agents.size).toBe(0);
    expect(scene.store.partitionSets).not.toContain('p');
  });
});

test('a node counts whom it does not let in, and logs it, once for many', async () => {
  const metrics = new Registry();
  const lines: object[] = [];
  const log = (line: object): number => lines.push(line);
  const scene = await Scene.started({
    metrics,
    logger: { debug: log, info: log, warn: log, error: log },
    tokens: () => ({ client: 'right' }),
  });
  for (let number = 0; number < 3; number += 1)
    await expect(RpcClient.to(scene.node.address.port)).rejects.toMatchObject({ code: 'NOT_AUTHORIZED' });
  expect(await metrics.metrics()).toMatch(/^baton_rpc_refused_total\{code="NOT_AUTHORIZED"\} 3$/m);
  const said = { kind: 'NOT_AUTHORIZED', reason: 'The token is not the one for a client.', count: 1 };
  expect(lines).toEqual([expect.objectContaining(said)]);
});

test('a node says which partition-sets it can write, though it follows no catalogue', async () => {
  const scene = await Scene.started();
  await scene.add('p');
  await scene.untilWritable('p');
  const { connection } = await RpcClient.to(scene.node.address.port);
  onTestFinished(() => connection.close());
  const look = async (version: number): Promise<NodeLookAnswer> => {
    const payload = encodeLook({ version, partitionSets: ['p', 'q'], timeoutMs: 0 });
    return decodeLookAnswer(await connection.call(METHODS.look, payload, { timeoutMs: 60_000 }));
  };
  expect(await look(0)).toEqual({ version: 0, canWrite: [{ partitionSet: 'p', gcn: 1 }] });
  await expect(look(1)).rejects.toMatchObject({ code: 'METHOD_UNKNOWN' });
});
