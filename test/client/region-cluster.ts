/** Three regions' nodes in this process, over real sockets and real disks, with a map that clients may ask for. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ClusterMap } from 'baton/client';
import { diskOf, epkRanges, NodeStore, type ReadLevel } from 'baton/engine';
import { configurationFor, PROFILES } from 'baton/failover';
import { freePort, RegionNode } from 'baton/server';
import type { Address } from 'baton/transport';

export const REGIONS = ['west', 'east', 'north'] as const;
export type Region = (typeof REGIONS)[number];

export interface RegionClusterOptions {
  readonly consistency?: ReadLevel;
  readonly partitionSets?: number;
  readonly partitionKey?: string;
}

export class RegionCluster {
  readonly #directory = mkdtempSync(join(tmpdir(), 'baton-client-'));
  readonly #addresses = new Map<Region, Address>();
  readonly #nodes = new Map<Region, { readonly node: RegionNode; readonly store: NodeStore }>();
  readonly #acceptors: readonly string[];
  readonly #options: Required<RegionClusterOptions>;
  #map: ClusterMap | undefined;

  private constructor(options: RegionClusterOptions) {
    this.#options = { consistency: 'Strong', partitionSets: 2, partitionKey: '/id', ...options };
    const name = this.#directory.split('-').at(-1);
    this.#acceptors = ['a', 'b', 'c'].map((acceptor) => `memory:client-${process.pid}-${name}-${acceptor}`);
  }

  static async start(options: RegionClusterOptions = {}): Promise<RegionCluster> {
    const cluster = new RegionCluster(options);
    for (const region of REGIONS)
      cluster.#addresses.set(region, { host: '127.0.0.1', port: await freePort() });
    cluster.#map = cluster.#mapOf();
    for (const region of REGIONS) await cluster.startNode(region);
    return cluster;
  }

  get endpoints(): readonly string[] {
    return REGIONS.map((region) => this.address(region));
  }

  address(region: Region): string {
    return `127.0.0.1:${this.#addresses.get(region)!.port}`;
  }

  node(region: Region): RegionNode {
    return this.#nodes.get(region)!.node;
  }

  async startNode(region: Region): Promise<void> {
    const store = await NodeStore.open({ directory: join(this.#directory, region) });
    const others = REGIONS.filter((other) => other !== region);
    const peer = (other: Region): { node: string; address: Address } => ({
      node: `${other}-1`,
      address: this.#addresses.get(other)!,
    });
    const node = await RegionNode.start({
      cluster: 'shop',
      node: `${region}-1`,
      region,
      listen: this.#addresses.get(region)!,
      peers: new Map(others.map((other) => [other, peer(other)])),
      acceptors: this.#acceptors,
      disk: diskOf(store),
      map: () => this.#map,
    });
    this.#nodes.set(region, { node, store });
    const { consistency, partitionKey } = this.#options;
    const staleness = consistency === 'BoundedStaleness' ? { writes: 1000, seconds: 100 } : undefined;
    for (const { name, from, to } of this.#map!.containers[0]!.partitionSets)
      await node.add({
        partitionSet: name,
        configuration: configurationFor(REGIONS, {
          timings: PROFILES.fast,
          consistency,
          ...(staleness && { staleness }),
        }),
        settings: { partitionKeyPaths: [partitionKey] },
        range: { min: from, max: to },
      });
  }

  async kill(region: Region): Promise<void> {
    const { node, store } = this.#nodes.get(region)!;
    this.#nodes.delete(region);
    await node.close();
    await store.abandon();
  }

  /** A planned stop: writes are moved away first. */
  async stop(region: Region): Promise<void> {
    const { node, store } = this.#nodes.get(region)!;
    this.#nodes.delete(region);
    await node.stop(60_000);
    await store.close();
  }

  async end(): Promise<void> {
    await Promise.all([...this.#nodes.keys()].map((region) => this.kill(region)));
    rmSync(this.#directory, { recursive: true });
  }

  #mapOf(): ClusterMap {
    const { consistency, partitionSets, partitionKey } = this.#options;
    return {
      version: 1,
      cluster: 'shop',
      account: { name: 'shop', consistency },
      regions: REGIONS.map((name) => ({ name, nodes: [{ name: `${name}-1`, address: this.address(name) }] })),
      containers: [
        {
          name: 'items',
          rid: 'AAAAAYAAAAI=',
          partitionKey: [partitionKey],
          partitionSets: epkRanges(partitionSets).map(({ min, max }, at) => ({
            name: `items-${at}`,
            rangeId: String(at + 1),
            from: min,
            to: max,
            column: 0,
          })),
        },
      ],
    };
  }
}
