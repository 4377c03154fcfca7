/** A cluster with its front doors, one for each region and the global one, and what can be seen of it from outside. */
import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CosmosClient, type CosmosClientOptions } from '@azure/cosmos';
import type { ConsistencyLevel } from 'baton/check';
import {
  formatAddress,
  type KeyName,
  LocalCluster,
  nodesOf,
  partitionSetsOf,
  type PlacedNode,
  resolveKeys,
} from 'baton/server';
import { until } from '../support/until.ts';

const PATIENCE_MS = 120_000;
const ASK_MS = 2000;

export interface DoorsOptions {
  readonly regions: readonly string[];
  readonly acceptors: number;
  readonly partitionSets: number;
  readonly consistency: ConsistencyLevel;
}

interface View {
  readonly partitionSet: string;
  readonly gcn: number;
  readonly phase: string;
  readonly writeRegion: string | null;
  readonly leaseSet: readonly string[];
  readonly local: { readonly region: string; readonly canWrite: boolean } | null;
}

export class Doors {
  readonly cluster: LocalCluster;
  /** Processes that ended, and nobody had asked for that. */
  readonly lost: readonly string[];
  readonly #clients: CosmosClient[] = [];

  private constructor(cluster: LocalCluster, lost: readonly string[]) {
    this.cluster = cluster;
    this.lost = lost;
  }

  static async open({ regions, ...options }: DoorsOptions): Promise<Doors> {
    const lost: string[] = [];
    const cluster = await LocalCluster.start({
      ...options,
      regions: [...regions],
      directory: mkdtempSync(join(tmpdir(), 'baton-gateway-')),
      isTemporary: true,
      portBase: 'free',
      profile: 'fast',
      gateways: true,
      onEvent: (event) => {
        if (event.type === 'lost') lost.push(`${event.process} ended by itself (${event.how}): ${event.log}`);
      },
    });
    const doors = new Doors(cluster, lost);
    await doors.calm();
    return doors;
  }

  async close(): Promise<void> {
    for (const client of this.#clients) client.dispose();
    await this.cluster.killAll();
    rmSync(this.cluster.directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
  }

  get regions(): readonly string[] {
    return this.cluster.config.regions.map(({ name }) => name);
  }

  get nodes(): readonly PlacedNode[] {
    return nodesOf(this.cluster.config);
  }

  get partitionSets(): readonly string[] {
    return partitionSetsOf(this.cluster.config).map(({ name }) => name);
  }

  /** The name of the door's process. */
  doorOf(region: string | undefined): string {
    return this.#gateway(region).name;
  }

  /** Of a region's door, or of the global one. */
  endpoint(region?: string): string {
    return `http://${formatAddress(this.#gateway(region).address)}`;
  }

  key(name: KeyName = 'primary'): string {
    const readFile = (path: string): string => readFileSync(path, 'utf8');
    return resolveKeys(this.cluster.config, { readFile, env: process.env })[name]!.reveal();
  }

  /** The public client with its default options, but for those given. */
  client(region?: string, options: Partial<CosmosClientOptions> = {}): CosmosClient {
    const client = new CosmosClient({ endpoint: this.endpoint(region), key: this.key(), ...options });
    this.#clients.push(client);
    return client;
  }

  pidOf(process: string): number {
    return this.cluster.processes.find(({ name }) => name === process)!.identity!.pid;
  }

  /** Of each partition-set the view with the highest GCN, its writer's if there is one. */
  async views(): Promise<ReadonlyMap<string, View>> {
    const merged = new Map<string, View>();
    const answers = await Promise.all(this.nodes.map((node) => this.#viewsOf(node)));
    for (const view of answers.flat()) {
      const known = merged.get(view.partitionSet);
      const isNewer = known === undefined || view.gcn > known.gcn;
      const isWriters = known?.gcn === view.gcn && view.local?.region === view.writeRegion;
      if (isNewer || isWriters) merged.set(view.partitionSet, view);
    }
    return merged;
  }

  /** Until these partition-sets take writes, in this region if one is named, with every region in their lease sets. */
  async calm(region?: string, partitionSets = this.partitionSets): Promise<void> {
    await until('the partition-sets are well', async () => {
      const views = await this.views();
      const lacking = partitionSets.filter((name) => !this.#isCalm(views.get(name), region));
      if (lacking.length === 0) return true;
      throw new Error(JSON.stringify(lacking.map((name) => views.get(name) ?? name)));
    });
  }

  /** Until none of them is written there. */
  async left(region: string): Promise<void> {
    const others = this.regions.filter((one) => one !== region);
    await this.cluster.waitForWriters(others, PATIENCE_MS);
  }

  /** As an operator: moves the writes of a partition-set, losing nothing. */
  async switchOver(partitionSet: string, target: string): Promise<void> {
    const body = JSON.stringify({ intent: { kind: 'switchover', target }, id: randomUUID(), who: 'test' });
    let why = 'nobody answers';
    for (const { http } of this.nodes) {
      const url = `http://${formatAddress(http!)}/v1/partition-sets/${partitionSet}/intents`;
      const headers = { 'content-type': 'application/json', ...this.operator };
      const response = await fetch(url, { method: 'POST', body, headers }).catch(() => undefined);
      if (response?.ok === true) return;
      why = (await response?.text()) ?? why;
    }
    throw new Error(`The move of ${partitionSet} to ${target} was not taken: ${why}`);
  }

  /** The headers of an operator. */
  get operator(): { readonly authorization: string } {
    return { authorization: `Bearer ${this.cluster.operatorToken}` };
  }

  #gateway(region: string | undefined) {
    return this.cluster.config.gateways.find((one) => one.region === region)!;
  }

  async #viewsOf({ http }: PlacedNode): Promise<readonly View[]> {
    const url = `http://${formatAddress(http!)}/v1/partition-sets`;
    try {
      const response = await fetch(url, { headers: this.operator, signal: AbortSignal.timeout(ASK_MS) });
      return ((await response.json()) as { partitionSets: readonly View[] }).partitionSets;
    } catch {
      return [];
    }
  }

  #isCalm(view: View | undefined, region: string | undefined): boolean {
    return (
      view?.phase === 'Steady' &&
      view.leaseSet.length === this.regions.length &&
      view.local?.region === view.writeRegion &&
      view.local.canWrite &&
      (region === undefined || view.writeRegion === region)
    );
  }
}
