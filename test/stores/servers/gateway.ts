/**
 * Cosmos DB, as Baton itself does it: an account of one region at Strong, behind the door of that region. The paper keeps its
 * acceptors in such accounts of its own product, too. The server is all processes of that cluster; its disk is what they
 * have on theirs, without the account's keys.
 */
import { readFileSync } from 'node:fs';
import { cp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { CosmosClient } from '@azure/cosmos';
import { formatAddress, LocalCluster, resolveKeys } from 'baton/server';
import { newDirectory } from '../../caspaxos/directories.ts';
import { until } from '../../support/until.ts';
import type { StoreServer } from './server.ts';

const REGION = 'west';
const DATABASE = 'acceptors';
const CONTAINER = 'baton';

export interface GatewayOptions {
  readonly consistency?: 'Strong' | 'Session';
}

export async function startGateway({ consistency = 'Strong' }: GatewayOptions = {}): Promise<GatewayServer> {
  const cluster = await LocalCluster.start({
    directory: newDirectory(),
    isTemporary: true,
    portBase: 'free',
    profile: 'fast',
    gateways: true,
    regions: [REGION],
    acceptors: 1,
    partitionSets: 1,
    consistency,
  });
  const server = new GatewayServer(cluster);
  try {
    await server.settle();
  } catch (error) {
    await server.close();
    throw error;
  }
  return server;
}

export class GatewayServer implements StoreServer {
  readonly kind = 'cosmos';
  readonly #cluster: LocalCluster;
  readonly #door: { readonly name: string; readonly address: string };
  #copies = 0;

  constructor(cluster: LocalCluster) {
    this.#cluster = cluster;
    const { name, address } = cluster.config.gateways.find(({ region }) => region === REGION)!;
    this.#door = { name, address: formatAddress(address) };
  }

  /** Of the account. */
  get key(): string {
    const readFile = (path: string): string => readFileSync(path, 'utf8');
    return resolveKeys(this.#cluster.config, { readFile, env: process.env }).primary!.reveal();
  }

  get endpoint(): string {
    return `http://${this.#door.address}`;
  }

  urlOf(place: string): string {
    const prefix = encodeURIComponent(place);
    return `cosmos://:${encodeURIComponent(this.key)}@${this.#door.address}/${DATABASE}/${CONTAINER}?prefix=${prefix}`;
  }

  async stop(): Promise<void> {
    await this.#cluster.stopOne(this.#everybody);
  }

  async kill(): Promise<void> {
    await this.#cluster.kill(this.#everybody);
  }

  async start(): Promise<void> {
    await this.#cluster.startAgain(this.#everybody);
    await this.#takesWrites();
  }

  pause(): void {
    void this.#cluster.pause(this.#everybody);
  }

  resume(): void {
    void this.#cluster.resume(this.#everybody);
  }

  async heal(): Promise<void> {
    await this.#cluster.heal(this.#everybody);
    await this.settle();
  }

  async empty(): Promise<void> {
    await this.kill();
    await this.#eachDisk((disk) => rm(disk, { recursive: true, force: true }));
    await this.#cluster.startAgain(this.#everybody);
    await this.settle();
  }

  async snapshot(): Promise<() => Promise<void>> {
    this.#copies += 1;
    const ending = `.copy${this.#copies}`;
    await this.kill();
    await this.#eachDisk((disk) => copy(disk, disk + ending));
    await this.start();
    return async () => {
      await this.kill();
      await this.#eachDisk(async (disk) => {
        await rm(disk, { recursive: true, force: true });
        await copy(disk + ending, disk);
      });
      await this.start();
    };
  }

  async close(): Promise<void> {
    await this.#cluster.killAll();
    await rm(this.#cluster.directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
  }

  /** Makes the container: that takes longer than tests let a call take. */
  async settle(): Promise<void> {
    // One door is enough: who else is not needed is not started again and again.
    const others = this.#cluster.processes.filter(({ name }) => !this.#everybody.includes(name));
    await this.#cluster.kill(others.map(({ name }) => name));
    await this.#ask(async (client) => {
      const { database } = await client.databases.createIfNotExists({ id: DATABASE });
      await database.containers.createIfNotExists({
        id: CONTAINER,
        partitionKey: { paths: ['/shard'], version: 2 },
      });
    });
    await this.#takesWrites();
  }

  get #everybody(): readonly string[] {
    const { processes } = this.#cluster;
    const needed = processes.filter(({ role }) => role === 'acceptor' || role === 'node');
    return [...needed.map(({ name }) => name), this.#door.name];
  }

  async #eachDisk(work: (disk: string) => Promise<void>): Promise<void> {
    const { directory, processes } = this.#cluster;
    const disks = processes.filter(({ role }) => role === 'acceptor' || role === 'node');
    for (const { name } of disks) await work(join(directory, name));
  }

  /** In every part of the container. */
  #takesWrites(): Promise<void> {
    const probes = Array.from({ length: 16 }, (_, at) => `probe/${at}`);
    return this.#ask(async (client) => {
      const { items } = client.database(DATABASE).container(CONTAINER);
      await Promise.all(probes.map((shard) => items.upsert({ id: 'probe', shard })));
    });
  }

  async #ask(question: (client: CosmosClient) => Promise<void>): Promise<void> {
    await until('the account answers', async () => {
      const client = new CosmosClient({
        endpoint: this.endpoint,
        key: this.key,
        connectionPolicy: { enableEndpointDiscovery: false, requestTimeout: 30_000 },
      });
      try {
        await question(client);
        return true;
      } finally {
        client.dispose();
      }
    });
  }
}

/** Without the sockets of processes that were killed, which Node does not copy. */
function copy(from: string, to: string): Promise<void> {
  const filter = (path: string): boolean => !path.endsWith('.sock');
  return cp(from, to, { recursive: true, preserveTimestamps: true, filter });
}
