import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { inParallel, OperatedCluster } from './cluster.ts';
import { findCluster } from './find.ts';
import type { PartitionSet } from './merge.ts';
import { FakeCluster, type Manner, NOW } from './testing/fake-cluster.ts';

let fake: FakeCluster;
let cluster: OperatedCluster;

beforeEach(async () => {
  fake = await FakeCluster.start();
  cluster = await operated(60_000);
});

afterEach(() => fake.close());

async function operated(timeoutMs: number): Promise<OperatedCluster> {
  const found = await findCluster(undefined, { env: {}, cwd: fake.directory });
  return new OperatedCluster(found, { timeoutMs, now: () => NOW });
}

async function first(): Promise<PartitionSet> {
  return (await cluster.look()).partitionSets[0]!;
}

const PAUSE = { intent: { kind: 'pause' }, id: 'pause-1', who: 'ops' } as const;

describe('looking', () => {
  it('takes the newest of what the nodes saw: by GCN, then step, then beats', async () => {
    const [west, east, north] = fake.nodes.map((node) => node.view('items-00'));
    Object.assign(west!, { gcn: 3, writeRegion: 'west' });
    west!.regions['west']!.beat = 1000;
    Object.assign(east!, { gcn: 4, writeRegion: null, phase: 'Ungraceful', step: 7 });
    Object.assign(north!, { gcn: 4, writeRegion: 'east', step: 8 });
    expect((await first()).state).toMatchObject({ gcn: 4, writeRegion: 'east' });
    expect((await first()).seen).toEqual({ west: 3, east: 4, north: 4 });
    Object.assign(east!, { step: 8, writeRegion: 'north' });
    east!.regions['east']!.beat = 11;
    expect((await first()).state).toMatchObject({ writeRegion: 'north' });
  });

  it('says which region takes writes by what the nodes themselves do', async () => {
    expect((await first()).writers).toEqual(['west']);
    fake.node('east').local['items-00'] = { canWrite: true };
    expect((await first()).writers).toEqual(['west', 'east']);
  });

  it.each<[Manner, string]>([
    ['hang', 'timed out'],
    ['garbage', 'not understood'],
    ['not let in', 'The operator token is wrong.'],
  ])('goes on without a node that answers with: %s', async (manner, reason) => {
    fake.node('east').manner = manner;
    const { nodes, partitionSets } = await (await operated(500)).look();
    expect(nodes.map(({ isUp }) => isUp)).toEqual([true, false, true]);
    expect(nodes[1]!.reason).toContain(reason);
    expect(partitionSets.map(({ seen }) => Object.keys(seen))).toEqual([
      ['west', 'north'],
      ['west', 'north'],
    ]);
  });

  it('goes on without a dead node, and knows when all are dead', async () => {
    await fake.node('west').stop();
    expect((await cluster.look()).nodes[0]).toMatchObject({ isUp: false, reason: 'connection refused' });
    await fake.node('east').stop();
    await fake.node('north').stop();
    await expect(cluster.look()).rejects.toMatchObject({ code: 'CLUSTER_UNREACHABLE', exit: 3 });
    const local = { ...cluster.found, isLocal: true, dataFlag: ' --data ./two' };
    await expect(new OperatedCluster(local, { timeoutMs: 60_000, now: () => NOW }).look()).rejects.toThrow(
      'If the cluster is not running, start it with `baton up --data ./two`.',
    );
    expect((await cluster.look({ evenIfDead: true })).partitionSets[0]!.state).toBeUndefined();
  });

  it('does not take another cluster’s node, or another node, for its own', async () => {
    fake.node('west').facts['cluster'] = 'other';
    fake.node('east').facts['node'] = 'north-1';
    const { nodes } = await cluster.look();
    expect(nodes.map(({ reason }) => reason)).toEqual([
      'a node of the cluster other answers there',
      'the node north-1 answers there',
      undefined,
    ]);
  });

  it('knows a node that has not seen a state yet', async () => {
    fake.node('west').views[0]!.gcn = null;
    const { nodes, partitionSets } = await cluster.look();
    expect(nodes[0]!.isUp).toBe(true);
    expect(partitionSets.map(({ starting }) => starting)).toEqual([['west'], []]);
    expect(Object.keys(partitionSets[0]!.seen)).toEqual(['east', 'north']);
  });

  it('says that credentials are refused when that is all there is', async () => {
    fake.token = 'secret';
    await expect(cluster.look()).rejects.toMatchObject({ code: 'CREDENTIALS_REFUSED', exit: 1 });
  });
});

describe('the partition-sets', () => {
  async function names(): Promise<string[]> {
    return (await cluster.look()).partitionSets.map(({ name, container }) => `${container} ${name}`);
  }

  it('are those of the newest map, whichever node has it', async () => {
    fake.addContainer('shop/orders', ['shop-orders-00']);
    for (const region of ['west', 'north']) {
      const { map } = fake.node(region);
      Object.assign(map!, { version: map!.version - 1, containers: map!.containers.slice(0, 1) });
    }
    const all = ['items items-00', 'items items-01', 'shop/orders shop-orders-00'];
    expect(await names()).toEqual(all);
    await fake.node('east').stop();
    expect(await names()).toEqual(all.slice(0, 2));
  });

  it('are not those that were deleted, though a node still shows them', async () => {
    const { map } = fake.node('north');
    Object.assign(map!, { version: map!.version + 1, containers: [] });
    expect(await names()).toEqual([]);
  });

  it('are not taken from another cluster’s node', async () => {
    Object.assign(fake.node('west').map!, { cluster: 'other', version: 2 ** 50, containers: [] });
    expect(await names()).toHaveLength(2);
  });

  it('are the file’s, and whatever nodes show, when no node tells', async () => {
    fake.addContainer('shop/orders', ['shop-orders-00']);
    for (const node of fake.nodes) node.map = undefined;
    for (const node of fake.nodes) node.views = node.views.slice(1);
    expect(await names()).toEqual(['items items-00', 'items items-01', 'shop/orders shop-orders-00']);
  });

  it('stay as they were told when nobody tells any more', async () => {
    fake.addContainer('shop/orders', ['shop-orders-00']);
    await names();
    for (const node of fake.nodes) await node.stop();
    const { partitionSets } = await cluster.look({ evenIfDead: true });
    expect(partitionSets).toHaveLength(3);
  });

  it('that were made later are held by the nodes that the map says', async () => {
    fake.addContainer('orders', ['orders-00']);
    for (const { map } of fake.nodes) map!.containers[1]!.partitionSets[0]!.column = 1;
    const { partitionSets } = await cluster.look();
    expect((await cluster.post(partitionSets[2]!, PAUSE)).kind).toBe('unheard');
  });
});

describe('a wish', () => {
  async function postedWith(west: Manner, east: Manner = 'well'): Promise<string> {
    fake.node('west').manner = west;
    fake.node('east').manner = east;
    const view = await cluster.look();
    return (await cluster.post(view.partitionSets[0]!, PAUSE, view)).kind;
  }

  function asked(): string[] {
    return fake.posts.map(({ node }) => node);
  }

  it('goes to the write region’s node', async () => {
    expect(await postedWith('well')).toBe('accepted');
    expect(asked()).toEqual(['west-1']);
  });

  it('goes last to a node that did not answer', async () => {
    fake.everywhere('items-00', (view) => (view.writeRegion = 'east'));
    const view = await cluster.look();
    await cluster.post(view.partitionSets[0]!, PAUSE, view);
    fake.node('east').manner = 'garbage';
    const later = await cluster.look();
    fake.node('east').manner = 'well';
    await cluster.post(later.partitionSets[0]!, { ...PAUSE, id: 'pause-2' }, later);
    expect(asked()).toEqual(['east-1', 'west-1']);
  });

  it('goes to the next, with the same id, when the first may have heard it', async () => {
    expect(await postedWith('cut')).toBe('accepted');
    expect(asked()).toEqual(['west-1', 'east-1']);
    expect(new Set(fake.posts.map(({ body }) => body['id']))).toEqual(new Set(['pause-1']));
  });

  it('goes to the next when the first is busy, or dead since', async () => {
    expect(await postedWith('busy')).toBe('accepted');
    const view = await cluster.look();
    await fake.node('west').stop();
    await expect(cluster.post(view.partitionSets[0]!, PAUSE, view)).resolves.toMatchObject({
      node: 'east-1',
    });
  });

  it('that was refused is not sent again', async () => {
    fake.refuse = () => ({ code: 'INTENT_REFUSED', message: 'No.' });
    expect(await postedWith('well')).toBe('refused');
    expect(asked()).toEqual(['west-1']);
  });

  it('that was perhaps heard, and then refused, is not called refused', async () => {
    fake.refuse = ({ node }) =>
      node === 'east-1' ? { code: 'INTENT_REFUSED', message: 'GCN passed.' } : undefined;
    expect(await postedWith('applied and cut')).toBe('unknown');
  });

  it('that nobody can have heard is not called unknown', async () => {
    const one = await first();
    for (const node of fake.nodes) await node.stop();
    expect((await cluster.post(one, PAUSE)).kind).toBe('unheard');
  });

  it('counts only nodes that are there', async () => {
    const one = await first();
    for (const node of fake.nodes) node.manner = 'cut';
    expect((await cluster.post(one, PAUSE)).kind).toBe('unknown');
    expect(asked()).toHaveLength(3);
  });

  it('stops at wrong credentials', async () => {
    const one = await first();
    fake.token = 'secret';
    await expect(cluster.post(one, PAUSE)).rejects.toMatchObject({ code: 'CREDENTIALS_REFUSED' });
  });
});

it('work in parallel keeps its order and its limit', async () => {
  let [now, most] = [0, 0];
  const results = await inParallel(
    [3, 1, 2, 5, 4],
    async (item) => {
      now += 1;
      most = Math.max(most, now);
      for (let turn = 0; turn < item; turn += 1) await Promise.resolve();
      now -= 1;
      return item * 10;
    },
    2,
  );
  expect(results).toEqual([30, 10, 20, 50, 40]);
  expect(most).toBe(2);
});
