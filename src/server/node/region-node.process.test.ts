/** Three regions' nodes over real sockets and real disks, with real agents: what a client sees when one of them goes. */
import { cpSync, lstatSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { until } from '../../../test/support/until.ts';
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
/** How long a node may hold a request, and how long its caller waits for the answer. */
const PATIENCE_MS = 2000;
const CALL_MS = 60_000;

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

  /** Of one that runs: its disk as a snapshot has it at this moment. */
  snapshot(region: Region): void {
    cpSync(join(this.#directory, region), this.#snapshotOf(region), {
      recursive: true,
      // The lock of the process that runs is not part of what a snapshot brings back.
      filter: (path) => !lstatSync(path).isSocket(),
    });
  }

  /** Of one that does not run: as if its disk had been restored. */
  restore(region: Region): void {
    this.empty(region);
    renameSync(this.#snapshotOf(region), join(this.#directory, region));
  }

  #snapshotOf(region: Region): string {
    return join(this.#directory, `snapshot-${region}`);
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
    const payload = encodeWrite({ partitionSet: PARTITION_SET, timeoutMs: PATIENCE_MS, request });
    return decodeWriteAnswer(
      await (await this.#client(region)).call(METHODS.write, payload, { timeoutMs: CALL_MS }),
    );
  }

  async get(region: Region, id: string, level: 'Strong' | 'Eventual' = 'Strong'): Promise<unknown> {
    const read = { partitionSet: PARTITION_SET, timeoutMs: PATIENCE_MS, partitionKey: [id], id, level };
    const client = await this.#client(region);
    const answer: NodeReadAnswer = decodeReadAnswer(
      await client.call(METHODS.read, encodeRead(read), { timeoutMs: CALL_MS }),
    );
    if (answer.outcome !== 'done') return answer.code;
    const body = answer.version?.body;
    return body && (nodeJson.parse(body) as { value: unknown }).value;
  }

  /** Tries the regions in turn until one takes the write. */
  async putSomewhere(id: string, value: unknown): Promise<Region> {
    return until(`somebody takes ${id}`, async () => {
      for (const region of this.#nodes.keys()) {
        const answer = await this.put(region, id, value).catch(() => undefined);
        if (answer?.outcome === 'done') return region;
      }
      return undefined;
    });
  }

  async untilRead(region: Region, id: string, value: unknown): Promise<void> {
    await until(`${region} reads ${id}`, async () => (await this.get(region, id)) === value);
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
    await until('the west writes', async () => (await cluster.putSomewhere('first', 0)) === 'west');
  });

  afterEach(() => cluster.end());

  test('a write is read strongly in every region', async () => {
    await cluster.putSomewhere('a', 1);
    for (const region of REGIONS) await cluster.untilRead(region, 'a', 1);
  });

  test('when the write region is killed another takes over with every acknowledged write; it returns and writes again', async () => {
    for (let at = 0; at < 200; at += 1) await cluster.putSomewhere(`d-${at}`, at);
    await cluster.kill('west');
    const writer = await cluster.putSomewhere('after', 1);
    expect(writer).not.toBe('west');
    for (let at = 0; at < 200; at += 1) await cluster.untilRead(writer, `d-${at}`, at);
    await cluster.startNode('west');
    await until('the west writes again', async () => {
      const { outcome } = await cluster.put('west', 'home', 1);
      return outcome === 'done';
    });
    await cluster.untilRead('west', 'after', 1);
    await cluster.untilRead('west', 'd-199', 199);
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
      await until('its agent knows the state', () => agents.agentOf(PARTITION_SET)!.state);
      await cluster.kill('east');
    }
    await cluster.startNode('east');
    const state = (): FailoverState | undefined => cluster.node('east').agents.agentOf(PARTITION_SET)!.state;
    await until('there is no writer', () => state()?.phase === 'Ungraceful' && state()?.writer === null);
    expect(state()!.regions['east']).toMatchObject({ building: true });
    await cluster.startNode('west');
    await cluster.startNode('north');
    await cluster.putSomewhere('after', 1);
    await cluster.untilRead('east', 'after', 1);
    for (let at = 0; at < 50; at += 1) await cluster.untilRead('east', `d-${at}`, at);
  });

  /** Writes until it is told to stop, several at a time; resolves with what was acknowledged. */
  function load(): { stop(): Promise<readonly number[]> } {
    const acknowledged: number[] = [];
    let [next, isOver] = [0, false];
    const worker = async (): Promise<void> => {
      while (!isOver) {
        next += 1;
        const value = next;
        const answer = await cluster.put('west', `load-${value}`, value).catch(() => undefined);
        if (answer?.outcome === 'done') acknowledged.push(value);
      }
    };
    const workers = Array.from({ length: 8 }, () => worker());
    return {
      async stop() {
        isOver = true;
        await Promise.all(workers);
        return acknowledged;
      },
    };
  }

  test.each(['restored from an older copy', 'emptied'] as const)(
    'the write region’s disk is %s within the lease, under load: nothing that was acknowledged is lost',
    async (fault) => {
      const writing = load();
      await cluster.putSomewhere('before', 1);
      cluster.snapshot('west');
      for (let at = 0; at < 100; at += 1) await cluster.put('west', `later-${at}`, at);
      const acknowledged = writing.stop();
      await cluster.kill('west');
      if (fault === 'emptied') cluster.empty('west');
      else cluster.restore('west');
      await cluster.startNode('west');
      await cluster.putSomewhere('after', 1);
      for (let at = 0; at < 100; at += 1) await cluster.untilRead('east', `later-${at}`, at);
      for (const value of await acknowledged) await cluster.untilRead('north', `load-${value}`, value);
      for (const region of REGIONS) {
        await cluster.untilRead(region, 'after', 1);
        await cluster.untilRead(region, 'later-99', 99);
        const undone = cluster.node(region).partitions.flatMap((partition) => partition.undone());
        expect(undone.filter(({ committed }) => committed === true)).toEqual([]);
      }
    },
  );

  test('a planned stop moves the writes away first and loses nothing', async () => {
    await cluster.putSomewhere('a', 1);
    await cluster.stopNode('west');
    const writer = await cluster.putSomewhere('b', 2);
    expect(writer).not.toBe('west');
    await cluster.untilRead(writer, 'a', 1);
  });
});
