/** Three regions' nodes over real sockets and real disks, with real agents: what a client sees when one of them goes. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { NODE_HOST } from '../../caspaxos/index.ts';
import {
  decodeReadAnswer,
  decodeWriteAnswer,
  encodeRead,
  encodeWrite,
  METHODS,
  type NodeReadAnswer,
  type NodeWriteAnswer,
} from '../../client/index.ts';
import { diskOf, nodeJson, NodeStore } from '../../engine/index.ts';
import { configurationFor, type FailoverState, PROFILES } from '../../failover/index.ts';
import { type Address, type Connection, dial } from '../../transport/index.ts';
import { freePort } from '../local/free-port.ts';
import { RegionNode } from './region-node.ts';

const REGIONS = ['west', 'east', 'north'] as const;
type Region = (typeof REGIONS)[number];
const PARTITION_SET = 'orders-7';

class Cluster {
  readonly #directory = mkdtempSync(join(tmpdir(), 'baton-nodes-'));
  readonly #addresses = new Map<Region, Address>();
  readonly #nodes = new Map<Region, { node: RegionNode; store: NodeStore }>();
  readonly #clients = new Map<Region, Connection>();
  readonly #acceptors = ['a', 'b', 'c'].map((name) => `memory:nodes-${process.pid}-${Math.random()}-${name}`);

  async start(): Promise<void> {
    for (const region of REGIONS) this.#addresses.set(region, { host: '127.0.0.1', port: await freePort() });
    for (const region of REGIONS) await this.startNode(region);
  }

  async startNode(region: Region): Promise<void> {
    const store = await NodeStore.open({ directory: join(this.#directory, region) });
    const others = REGIONS.filter((other) => other !== region);
    const node = await RegionNode.start({
      cluster: 'test',
      node: `${region}-1`,
      region,
      listen: this.#addresses.get(region)!,
      peers: new Map(
        others.map((other) => [other, { node: `${other}-1`, address: this.#addresses.get(other)! }]),
      ),
      acceptors: this.#acceptors,
      disk: diskOf(store),
      intervalMs: PROFILES.fast.intervalMs,
    });
    this.#nodes.set(region, { node, store });
    await node.add({
      partitionSet: PARTITION_SET,
      configuration: configurationFor(REGIONS, { timings: PROFILES.fast }),
      settings: { partitionKeyPaths: ['/id'] },
    });
  }

  async kill(region: Region): Promise<void> {
    const { node, store } = this.#nodes.get(region)!;
    this.#nodes.delete(region);
    this.#clients.delete(region);
    await node.close();
    await store.abandon();
  }

  /** Of one that does not run: as if its disk had been replaced. */
  empty(region: Region): void {
    rmSync(join(this.#directory, region), { recursive: true });
  }

  async stopNode(region: Region): Promise<void> {
    const { node, store } = this.#nodes.get(region)!;
    this.#nodes.delete(region);
    this.#clients.delete(region);
    await node.stop(5000);
    await store.close();
  }

  node(region: Region): RegionNode {
    return this.#nodes.get(region)!.node;
  }

  async #client(region: Region): Promise<Connection> {
    const known = this.#clients.get(region);
    if (known?.isOpen === true) return known;
    const self = {
      role: 'client',
      cluster: 'test',
      node: 'client',
      region: 'client',
      incarnation: 1,
    } as const;
    const connection = await dial({ host: NODE_HOST, address: this.#addresses.get(region)!, self });
    this.#clients.set(region, connection);
    return connection;
  }

  async put(region: Region, id: string, value: unknown): Promise<NodeWriteAnswer> {
    const operations = [{ op: 'upsert' as const, body: nodeJson.format({ id, value }) }];
    const request = { partitionKey: [id], operations, operation: `${id}-${JSON.stringify(value)}` };
    const payload = encodeWrite({ partitionSet: PARTITION_SET, timeoutMs: 2000, request });
    return decodeWriteAnswer(
      await (await this.#client(region)).call(METHODS.write, payload, { timeoutMs: 3000 }),
    );
  }

  async get(region: Region, id: string, level: 'Strong' | 'Eventual' = 'Strong'): Promise<unknown> {
    const read = { partitionSet: PARTITION_SET, timeoutMs: 2000, partitionKey: [id], id, level };
    const client = await this.#client(region);
    const answer: NodeReadAnswer = decodeReadAnswer(
      await client.call(METHODS.read, encodeRead(read), { timeoutMs: 3000 }),
    );
    if (answer.outcome !== 'done') return answer.code;
    const body = answer.version?.body;
    return body && (nodeJson.parse(body) as { value: unknown }).value;
  }

  /** Tries the regions in turn until one takes the write. */
  async putSomewhere(id: string, value: unknown): Promise<Region> {
    return vi.waitFor(
      async () => {
        for (const region of this.#nodes.keys()) {
          const answer = await this.put(region, id, value).catch(() => undefined);
          if (answer?.outcome === 'done') return region;
        }
        throw new Error('nobody takes it');
      },
      { timeout: 30_000, interval: 50 },
    );
  }

  async end(): Promise<void> {
    for (const region of this.#nodes.keys()) await this.kill(region);
    rmSync(this.#directory, { recursive: true });
  }
}

describe('three nodes', () => {
  let cluster: Cluster;

  beforeEach(async () => {
    cluster = new Cluster();
    await cluster.start();
    expect(await cluster.putSomewhere('first', 0)).toBe('west');
  });

  afterEach(() => cluster.end());

  test('a write is read strongly in every region', async () => {
    await cluster.putSomewhere('a', 1);
    for (const region of REGIONS)
      await vi.waitFor(async () => expect(await cluster.get(region, 'a')).toBe(1), { timeout: 10_000 });
  });

  test('when the write region is killed another takes over with every acknowledged write; it returns and writes again', async () => {
    for (let at = 0; at < 200; at += 1) await cluster.putSomewhere(`d-${at}`, at);
    await cluster.kill('west');
    const writer = await cluster.putSomewhere('after', 1);
    expect(writer).not.toBe('west');
    for (let at = 0; at < 200; at += 1) expect(await cluster.get(writer, `d-${at}`)).toBe(at);
    await cluster.startNode('west');
    await vi.waitFor(
      async () => expect(await cluster.put('west', 'home', 1)).toMatchObject({ outcome: 'done' }),
      {
        timeout: 40_000,
        interval: 200,
      },
    );
    expect(await cluster.get('west', 'after')).toBe(1);
    expect(await cluster.get('west', 'd-199')).toBe(199);
  });

  test('a region whose disk was emptied is not taken for one that has it all, however often it starts', async () => {
    for (let at = 0; at < 50; at += 1) await cluster.putSomewhere(`d-${at}`, at);
    await cluster.kill('east');
    cluster.empty('east');
    await cluster.kill('west');
    await cluster.kill('north');
    for (let life = 0; life < 4; life += 1) {
      await cluster.startNode('east');
      const { agents } = cluster.node('east');
      await vi.waitFor(() => expect(agents.agentOf(PARTITION_SET)!.state).toBeDefined(), { timeout: 10_000 });
      await cluster.kill('east');
    }
    await cluster.startNode('east');
    const state = (): FailoverState | undefined => cluster.node('east').agents.agentOf(PARTITION_SET)!.state;
    await vi.waitFor(() => expect(state()).toMatchObject({ phase: 'Ungraceful', writer: null }), {
      timeout: 20_000,
    });
    expect(state()!.regions['east']).toMatchObject({ building: true });
    await cluster.startNode('west');
    await cluster.startNode('north');
    await cluster.putSomewhere('after', 1);
    await vi.waitFor(async () => expect(await cluster.get('east', 'after')).toBe(1), { timeout: 20_000 });
    for (let at = 0; at < 50; at += 1) expect(await cluster.get('east', `d-${at}`)).toBe(at);
  });

  test('a planned stop moves the writes away first and loses nothing', async () => {
    await cluster.putSomewhere('a', 1);
    await cluster.stopNode('west');
    const writer = await cluster.putSomewhere('b', 2);
    expect(writer).not.toBe('west');
    expect(await cluster.get(writer, 'a')).toBe(1);
  });
});
