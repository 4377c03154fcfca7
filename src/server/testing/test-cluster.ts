/**
 * A whole cluster for a test: real processes on free ports in a directory that is there for the test only. It goes when
 * the test stops it, when the test's process ends, and also when that process is killed.
 */
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BatonClient, type ConnectOptions } from '../../client/index.ts';
import type { ClusterConfig } from '../config/cluster-config.ts';
import { formatAddress } from '../config/values.ts';
import { endpointOf, nodesOf } from '../config/layout.ts';
import {
  type CutOptions,
  type LoadState,
  LocalCluster,
  LocalClusterError,
  type LocalClusterOptions,
  type Names,
  type Observed,
} from '../local/index.ts';

export interface StartOptions extends Omit<LocalClusterOptions, 'directory' | 'isTemporary' | 'portBase'> {
  /** How long it may take until every partition-set takes writes. */
  readonly timeoutMs?: number;
}

export interface WaitOptions {
  readonly timeoutMs?: number;
}

export interface Waited {
  /** Since it was asked for. */
  readonly tookMs: number;
  /** The write region of each partition-set. */
  readonly writers: Readonly<Record<string, string>>;
}

/** Small and quick unless the test says otherwise. */
const DEFAULTS = { regions: 3, acceptors: 3, partitionSets: 4 } as const;
const TIMEOUT_MS = 60_000;

export async function startCluster(options: StartOptions = {}): Promise<TestCluster> {
  const { timeoutMs = TIMEOUT_MS, ...rest } = options;
  const directory = await mkdtemp(join(tmpdir(), 'baton-testing-'));
  const local = new LocalCluster({ ...DEFAULTS, ...rest, directory, portBase: 'free', isTemporary: true });
  const cluster = new TestCluster(local);
  try {
    await local.start();
    await cluster.waitForWrites({ timeoutMs });
    return cluster;
  } catch (error) {
    await cluster.stop();
    throw error;
  }
}

export class TestCluster {
  readonly #local: LocalCluster;
  readonly #clients = new Set<BatonClient>();
  #stopped: Promise<void> | undefined;

  constructor(local: LocalCluster) {
    this.#local = local;
  }

  /** In order of priority. */
  get regions(): readonly string[] {
    return this.#local.config.regions.map(({ name }) => name);
  }

  get directory(): string {
    return this.#local.directory;
  }

  /** The cluster file: for commands such as `baton list --cluster FILE`. */
  get configFile(): string {
    return this.#local.config.path;
  }

  /** Where clients connect, by region. */
  get addresses(): Readonly<Record<string, readonly string[]>> {
    const named = this.regions.map((name) => {
      const nodes = nodesOf(this.#local.config).filter(({ region }) => region === name);
      return [name, nodes.map(({ address }) => formatAddress(address))] as const;
    });
    return Object.fromEntries(named);
  }

  /** It is closed with the cluster at the latest. */
  async client(options: Partial<ConnectOptions> = {}): Promise<BatonClient> {
    const client = await BatonClient.connect({ ...this.#local.connectOptions, ...options });
    this.#clients.add(client);
    return client;
  }

  /** Where HTTP clients come in, in a cluster with `gateways: true`: the global endpoint, and one for each region. */
  get endpoints(): Readonly<Record<string, string>> {
    const { config } = this.#local;
    return Object.fromEntries(
      config.gateways.map((gateway) => [gateway.region ?? 'global', endpointOf(config, gateway)]),
    );
  }

  /** The web page of the cluster, for its operators. */
  get page(): string | undefined {
    return this.#local.page;
  }

  /** What nodes want to be shown over HTTP by whoever acts. */
  get operatorToken(): string {
    return this.#local.operatorToken;
  }

  /** How a client of another process connects: what `BatonClient.connect` takes, and the token with it. */
  get connectOptions(): ConnectOptions {
    return this.#local.connectOptions;
  }

  /** What HTTP clients sign with. */
  get key(): string {
    return readKey(this.#local.config);
  }

  /** Kills regions, nodes, acceptors or gateways with -9. */
  async kill(name: Names): Promise<void> {
    await this.#local.kill(name);
  }

  /** Stops it with SIGSTOP: it keeps its connections and says nothing. */
  async pause(name: Names): Promise<void> {
    await this.#local.pause(name);
  }

  async resume(name: Names): Promise<void> {
    await this.#local.resume(name);
  }

  /** Drops the packets of its links; only in a cluster with `namespaces: true`, which needs root. */
  async cut(name: Names, options: CutOptions = {}): Promise<void> {
    await this.#local.cut(name, options);
  }

  /** Undoes all that was done to it, or to everything. Writes may come back to it later: see `waitForWrites`. */
  async heal(name?: Names): Promise<void> {
    await this.#local.heal(name);
  }

  /** Writes in every partition-set, and some reads; it ends with the cluster at the latest. */
  async load(on: boolean, perSecond?: number): Promise<LoadState> {
    const { load } = await this.#local.load(on, perSecond);
    return load!;
  }

  /** Until every partition-set takes writes in a region that nothing was done to. */
  waitForFailover({ timeoutMs = TIMEOUT_MS }: WaitOptions = {}): Promise<Waited> {
    return this.#waitFor(this.#local.healthyRegions, timeoutMs);
  }

  /** Until every partition-set takes writes: in this region, or anywhere. */
  waitForWrites({ region, timeoutMs = TIMEOUT_MS }: WaitOptions & { region?: string } = {}): Promise<Waited> {
    return this.#waitFor(region === undefined ? this.regions : [region], timeoutMs);
  }

  /** The write region of each partition-set, as far as nodes can be asked. */
  async writers(): Promise<Readonly<Record<string, string>>> {
    return writersOf(await this.#local.observe());
  }

  /** Ends everything at once and removes the data. */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  async #waitFor(regions: readonly string[], timeoutMs: number): Promise<Waited> {
    const begun = performance.now();
    await this.#local.waitForWriters(regions, timeoutMs);
    return { tookMs: performance.now() - begun, writers: await this.writers() };
  }

  async #stop(): Promise<void> {
    await Promise.all([...this.#clients].map((client) => client.close()));
    await this.#local.killAll();
    await rm(this.directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
  }
}

function writersOf(observed: ReadonlyMap<string, Observed>): Record<string, string> {
  return Object.fromEntries(
    [...observed].flatMap(([name, { writeRegion }]) =>
      writeRegion === undefined ? [] : [[name, writeRegion]],
    ),
  );
}

function readKey({ keys: { primary } }: ClusterConfig): string {
  if (primary?.kind === 'file') return readFileSync(primary.file, 'utf8').trim();
  throw new LocalClusterError('OPTIONS_INVALID', 'A key is made in a cluster with `gateways: true` only.');
}
