/**
 * A node as a process: its data, its copies of partition-sets with their agents, and what it answers over HTTP, all from one
 * file. It comes up as far as it can: HTTP first, so that its health can be asked from the start; then its port for nodes
 * and clients; then it waits for its acceptors, as long as it takes, and reads the account's catalogue on them; then its
 * partition-sets, which follow the catalogue from then on.
 */
import { join } from 'node:path';
import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import { NODE_HOST } from '../../caspaxos/index.ts';
import type { ClusterMap } from '../../client/index.ts';
import { type ContainerSettings, diskOf, NodeStore, type TrimPolicy } from '../../engine/index.ts';
import type { Configuration, Logger } from '../../failover/index.ts';
import type { Timer } from '../../protocol/index.ts';
import type { Address, RpcTls } from '../../transport/index.ts';
import { type CatalogPlace, CatalogRegister, firstCatalog } from '../catalog/index.ts';
import {
  type ClusterConfig,
  diffForReload,
  failoverConfigurationOf,
  nodeOf,
  type PartitionSetPlace,
  partitionSetsOn,
  peersOf,
  type PlacedNode,
  type ReloadDiff,
  startingAgainFor,
  timingsOf,
  type Tokens,
  trimPolicyOf,
} from '../config/index.ts';
import { type Health, WELL } from '../http/index.ts';
import { RegionNode } from '../node/region-node.ts';
import { CatalogFollower } from './catalog-follower.ts';
import { catalogMemoryIn } from './catalog-memory.ts';
import { logEngineEvent } from './engine-log.ts';
import { DaemonError } from './errors.ts';
import { HistoryKeeper } from './history.ts';
import { LastUse } from './last-use.ts';
import { type ControlClient, controlIn } from './local-control.ts';
import { clusterMapOf, fileVersion, weakestOf } from './map.ts';
import { NodeWeb } from './node-web.ts';
import { mostClients, prepareData, readAcceptorUrls, readTls, readTokens, roomOn } from './surroundings.ts';

export interface DaemonOptions {
  readonly logger: Logger;
  /** Of the software. */
  readonly version?: string;
  /** Ends a start that waits for acceptors. */
  readonly signal?: AbortSignal;
  /** A node does not start with less room on its disk. */
  readonly leastFreeBytes?: number;
  /** Of a local cluster: whoever runs it; what the environment says otherwise. */
  readonly control?: ControlClient;
}

/** The file may change these at once; this process reads them when it starts. */
const AT_START: ReadonlySet<string> = new Set(['limits.inFlight', 'limits.inFlightBytes', 'tokens.acceptor']);

/** The catalogue is not looked at more often, unless somebody asks for it. */
const LOOK_MS = 1000;
const ELSEWHERE =
  'The data directory was last used before this machine was started, or on another one: a whole lease is waited for, in case a process still runs there.';
/** Between two looks whether the directory is this machine's by now. */
const SETTLE_MS = 500;
/** The first heartbeats of a container that was made just now. */
const SOON_MS = 50;

export class NodeDaemon {
  readonly #place: PlacedNode;
  readonly #options: DaemonOptions;
  readonly #history: HistoryKeeper;
  readonly #metrics = new Registry();
  readonly #startedAt = new Date();
  #config: ClusterConfig;
  #tokens: Tokens;
  #tls: RpcTls | undefined;
  #fileVersion: number;
  #store: NodeStore | undefined;
  #lastUse: LastUse | undefined;
  #settling: Timer | undefined;
  #web: NodeWeb | undefined;
  #node: RegionNode | undefined;
  #follower: CatalogFollower | undefined;
  /** Partition-sets that were made while this node ran. */
  readonly #latecomers = new Set<string>();
  #waitingFor: { readonly code: string; readonly message: string } | undefined;
  #phase: 'starting' | 'running' | 'stopping' = 'starting';

  private constructor(config: ClusterConfig, place: PlacedNode, options: DaemonOptions) {
    this.#config = config;
    this.#place = place;
    this.#options = options;
    const warn = (sentence: string): void => options.logger.warn({}, sentence);
    this.#history = new HistoryKeeper({ file: join(place.data, 'history.jsonl'), warn });
    this.#tokens = readTokens(config);
    this.#tls = readTls(config, place.name);
    this.#fileVersion = fileVersion(config.path);
  }

  /** Resolves when its partition-sets are here and their agents run. Rejects with an error that has a code. */
  static async start(config: ClusterConfig, name: string, options: DaemonOptions): Promise<NodeDaemon> {
    const place = nodeOf(config, name);
    if (place === undefined)
      throw new DaemonError('NODE_UNKNOWN', `The file ${config.path} has no node ${name}.`);
    const daemon = new NodeDaemon(config, place, options);
    try {
      await daemon.#start();
    } catch (error) {
      await daemon.close();
      throw error;
    }
    return daemon;
  }

  get address(): Address {
    return this.#node!.address;
  }

  get http(): Address | undefined {
    return this.#web?.address;
  }

  get region(): string {
    return this.#place.region;
  }

  get partitionSets(): readonly string[] {
    return this.#places.map(({ name }) => name);
  }

  /** What the file says, until the catalogue is known. */
  get #places(): readonly PartitionSetPlace[] {
    return this.#follower?.places ?? partitionSetsOn(this.#config, this.#place.name);
  }

  /** Moves the writes away first, as far as there is time, and closes everything in order. */
  async stop(withinMs: number): Promise<void> {
    this.#phase = 'stopping';
    this.#follower?.close();
    await this.#node?.stop(withinMs);
    this.#node = undefined;
    await this.close();
  }

  /** Ends at once; what is on disk is what a crash would leave, and complete. */
  async close(): Promise<void> {
    this.#phase = 'stopping';
    NODE_HOST.cancel(this.#settling);
    this.#web?.hangUp();
    this.#follower?.close();
    await this.#node?.close();
    await this.#follower?.idle();
    await this.#history.close();
    await this.#store?.close();
    await this.#web?.close();
    this.#node = undefined;
    this.#store = undefined;
    this.#web = undefined;
    this.#metrics.clear();
  }

  /** Puts in force of a new reading of the file what can be, and says what cannot. Throws when the tokens cannot be read. */
  reload(config: ClusterConfig): ReloadDiff {
    const diff = diffForReload(this.#config, config);
    const tokens = readTokens(config);
    const tls = readTls(this.#config, this.#place.name);
    if (tls !== undefined && this.#node !== undefined) this.#node.tls = tls;
    this.#tokens = tokens;
    this.#tls = tls;
    this.#web?.reload(tls);
    // The rest of it needs a restart: it is compared again next time.
    this.#config = {
      ...this.#config,
      tokens: config.tokens,
      keys: config.keys,
      limits: config.limits,
      log: config.log,
    };
    this.#fileVersion = Math.max(this.#fileVersion, fileVersion(config.path));
    return startingAgainFor(AT_START, diff, 'node');
  }

  async #start(): Promise<void> {
    const { data } = this.#place;
    await prepareData(data, this.#options.leastFreeBytes);
    this.#store = await NodeStore.open({ directory: data });
    this.#lastUse = new LastUse(data);
    if (this.#lastUse.wasElsewhere) this.#options.logger.info({ data }, ELSEWHERE);
    this.#registerMetrics();
    await this.#serveHttp();
    this.#node = await RegionNode.start(this.#nodeOptions(this.#store));
    this.#waitingFor = undefined;
    this.#follower = this.#follow(this.#node);
    await this.#follower.start();
    this.#waitingFor = undefined;
    this.#phase = 'running';
    this.#settle();
  }

  /** When all partition-sets have seen the end of whatever used this directory elsewhere, it is this machine's. */
  #settle(): void {
    const lastUse = this.#lastUse!;
    if (this.#node === undefined || !lastUse.isStrange) return;
    try {
      const isOver = [...this.#node.agents.agents()].every(({ mayAct }) => mayAct);
      if (isOver && this.#follower!.missing.length === 0) lastUse.settle();
    } catch (err) {
      this.#options.logger.warn({ err }, 'Where the data directory is used cannot be noted on disk.');
    }
    if (lastUse.isStrange) this.#settling = NODE_HOST.after(SETTLE_MS, () => this.#settle());
  }

  #follow(node: RegionNode): CatalogFollower {
    const config = this.#config;
    const { containers, regions } = config;
    const { logger, signal } = this.#options;
    const first = (): ReturnType<typeof firstCatalog> => firstCatalog(containers, Date.now());
    return new CatalogFollower({
      register: new CatalogRegister({ cluster: node.cluster, first }),
      memory: catalogMemoryIn(this.#place.data),
      containers,
      column: this.#place.column,
      columns: regions[0]!.nodes.length,
      open: (place) => this.#open(node, place),
      drop: (partitionSet) => {
        this.#latecomers.delete(partitionSet);
        return node.remove(partitionSet);
      },
      pollMs: Math.max(LOOK_MS, timingsOf(config).intervalMs),
      host: NODE_HOST,
      logger,
      onWaiting: (error) => this.#onWaiting(error),
      signal,
    });
  }

  async #open(node: RegionNode, place: CatalogPlace): Promise<void> {
    const { name: partitionSet, from: min, to: max } = place;
    const isLate = this.#phase === 'running';
    if (isLate) this.#latecomers.add(partitionSet);
    await node.add({
      partitionSet,
      configuration: this.#configuration(),
      settings: this.#settings(place),
      range: { min, max },
      trim: this.#trim(),
      // Somebody waits for it.
      ...(isLate && { spreadMs: SOON_MS }),
    });
  }

  /** What a new partition-set begins with: the consistency level that the account has now, not the one that it began with. */
  #configuration(): Configuration {
    const configuration = failoverConfigurationOf(this.#config);
    const states = [...(this.#node?.agents.agents() ?? [])].map(({ state }) => state);
    const level = weakestOf(states);
    const like = states.find((state) => state?.configuration.consistency === level)?.configuration;
    if (level === undefined || like === undefined) return configuration;
    const { staleness: _, ...rest } = configuration;
    return { ...rest, consistency: level, ...(like.staleness && { staleness: like.staleness }) };
  }

  /** Asked anew every time: the catalogue may change it. */
  #settings({ partitionKey: partitionKeyPaths, number }: CatalogPlace): ContainerSettings {
    const entry = (): { readonly defaultTtl?: number } | undefined => this.#follower?.entry(number);
    return {
      partitionKeyPaths,
      get defaultTtl() {
        return entry()?.defaultTtl;
      },
    } as ContainerSettings;
  }

  #nodeOptions(store: NodeStore): Parameters<typeof RegionNode.start>[0] {
    const config = this.#config;
    const { name, region, listen } = this.#place;
    const { logger, signal } = this.#options;
    const { inFlight: maxRequests, inFlightBytes: maxRequestBytes } = config.limits;
    const acceptorToken = this.#tokens.acceptor?.reveal();
    return {
      cluster: config.cluster,
      node: name,
      region,
      listen,
      peers: new Map(
        peersOf(config, name).map((peer) => [peer.region, { node: peer.name, address: peer.address }]),
      ),
      acceptors: readAcceptorUrls(config),
      ...(acceptorToken !== undefined && { acceptorToken }),
      acceptorTls: () => this.#tls,
      onWaiting: (error) => this.#onWaiting(error),
      ...(signal && { signal }),
      disk: diskOf(store),
      isDiskStrange: () => this.#lastUse!.isStrange,
      tokens: () => ({ node: this.#tokens.node?.reveal(), client: this.#tokens.client?.reveal() }),
      tls: () => this.#tls,
      limits: { maxRequests, maxRequestBytes },
      maxClients: mostClients(),
      map: () => this.#map(),
      look: (look) => this.#follower?.look(look) ?? Promise.resolve(0),
      logger,
      metrics: this.#metrics,
      onEvent: (partitionSet, event) => logEngineEvent(logger, partitionSet, event),
      onAgentEvent: (partitionSet, event) => this.#history.onEvent(partitionSet, event),
    };
  }

  /** Said once for each reason. */
  #onWaiting({ code, message }: { readonly code: string; readonly message: string }): void {
    if (this.#waitingFor?.message !== message)
      this.#options.logger.warn({ code }, `Waiting for acceptors: ${message}`);
    this.#waitingFor = { code, message };
  }

  /** Asked anew every time, so that a reload changes it. */
  #trim(): TrimPolicy {
    const policy = (): TrimPolicy => trimPolicyOf(this.#config);
    return {
      get keepMs() {
        return policy().keepMs;
      },
      get keepBytes() {
        return policy().keepBytes;
      },
      get hardBytes() {
        return policy().hardBytes;
      },
    };
  }

  async #serveHttp(): Promise<void> {
    const { control = controlIn(process.env), version = '', logger } = this.#options;
    this.#web = await NodeWeb.listen({
      config: this.#config,
      place: this.#place,
      version,
      control,
      history: this.#history,
      metrics: this.#metrics,
      tls: this.#tls,
      tokens: () => this.#tokens,
      places: () => this.#places,
      map: () => this.#map() ?? this.#fileMap(),
      about: () => this.#about(),
      health: () => this.#health(),
      readiness: () => this.#readiness(),
      node: () => this.#node,
      logger,
    });
  }

  #registerMetrics(): void {
    collectDefaultMetrics({ register: this.#metrics });
    const gauge = (name: string, help: string, value: () => number): void => {
      const metric: Gauge = new Gauge({
        name,
        help,
        registers: [this.#metrics],
        collect: () => metric.set(value()),
      });
    };
    gauge('baton_engine_store_bytes', 'Bytes that the database uses', () => this.#store?.usedBytes ?? 0);
    gauge(
      'baton_node_acceptors_down',
      'Acceptors that did not answer last',
      () =>
        this.#node?.acceptors.filter(({ state }) => state === 'down').length ?? this.#config.acceptors.length,
    );
    gauge('baton_node_ready', 'Whether the node can be sent work: 1 or 0', () =>
      this.#readiness().status === 'ok' ? 1 : 0,
    );
  }

  /** Undefined until the catalogue is known. */
  #map(): ClusterMap | undefined {
    const catalog = this.#follower?.catalog;
    const agents = [...(this.#node?.agents.agents() ?? [])];
    const level = weakestOf(agents.map(({ state }) => state));
    return catalog && clusterMapOf(this.#config, catalog, this.#fileVersion, level);
  }

  /** What operators are shown meanwhile. Any other map is newer. */
  #fileMap(): ClusterMap {
    const catalog = { ...firstCatalog(this.#config.containers, 0), version: 0 };
    return clusterMapOf(this.#config, catalog, this.#fileVersion);
  }

  async #about(): Promise<object> {
    const { name, region, data } = this.#place;
    const node = this.#node;
    const disk = await roomOn(data);
    return {
      cluster: this.#config.cluster,
      node: name,
      region,
      version: this.#options.version ?? '',
      ...(node && { incarnation: node.incarnation }),
      phase: this.#phase,
      startedAt: this.#startedAt.toISOString(),
      uptimeMs: Date.now() - this.#startedAt.getTime(),
      now: new Date().toISOString(),
      ...(disk && { disk }),
      partitionSets: this.partitionSets,
      ...(this.#follower?.catalog && { catalog: this.#follower.catalog.version }),
      acceptors: this.#acceptors(),
      peers: (node?.peers ?? []).map(({ region: of, node: peer, isUp, rttMs }) => ({
        region: of,
        node: peer,
        isUp,
        rttMs: rttMs ?? null,
      })),
    };
  }

  #acceptors(): readonly object[] {
    const names = new Map(this.#config.acceptors.map(({ name, url }) => [url, name]));
    const known = this.#node?.acceptors;
    if (known === undefined)
      return this.#config.acceptors.map(({ name, url }) => ({ name, url, isUp: false, state: 'unknown' }));
    return known.map(({ url, state, error }) => ({
      ...(names.has(url) && { name: names.get(url) }),
      url,
      isUp: state !== 'down',
      state,
      ...(error && { error: error.message }),
    }));
  }

  /** Something is wrong with this process or its machine. */
  #health(): Health {
    if (this.#phase === 'stopping') return { status: 'stopping', reasons: ['The node is stopping.'] };
    const node = this.#node;
    if (node === undefined) return WELL;
    const reasons = node.engine.isWell ? [] : ['Writing to the disk fails.'];
    return reasons.length === 0 ? WELL : { status: 'failing', reasons };
  }

  /** It takes its part in its partition-sets. */
  #readiness(): Health {
    const health = this.#health();
    if (health.status !== 'ok') return health;
    const node = this.#node;
    if (this.#waitingFor !== undefined)
      return {
        status: 'starting',
        reasons: [`The node waits for its acceptors: ${this.#waitingFor.message}`],
      };
    if (node === undefined || this.#phase === 'starting')
      return { status: 'starting', reasons: ['The node is starting.'] };
    const unseen = [...node.agents.agents()].filter(
      ({ partitionSet, state, role }) =>
        !this.#latecomers.has(partitionSet) && (state === undefined || role === undefined),
    );
    const missing = this.#follower?.missing ?? [];
    const building = node.partitions.filter(({ core }) => core?.isReadable !== true);
    const reasons = [
      ...(missing.length > 0 ? [`${missing.length} partition-sets are not open yet.`] : []),
      ...(unseen.length > 0 ? [`The state of ${unseen.length} partition-sets is not yet known.`] : []),
      ...(building.length > 0 ? [`${building.length} copies are still being built.`] : []),
    ];
    return reasons.length === 0 ? WELL : { status: 'starting', reasons };
  }
}
