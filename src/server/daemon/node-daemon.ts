/**
 * A node as a process: its data, its copies of partition-sets with their agents, and what it answers over HTTP, all from one
 * file. It comes up as far as it can: HTTP first, so that its health can be asked from the start; then its port for nodes
 * and clients; then it waits for its acceptors, as long as it takes; then its partition-sets.
 */
import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import type { CasPaxosError } from '../../caspaxos/index.ts';
import { diskOf, NodeStore, type TrimPolicy } from '../../engine/index.ts';
import type { Logger } from '../../failover/index.ts';
import type { Address, RpcTls } from '../../transport/index.ts';
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
  timingsOf,
  type Tokens,
  trimPolicyOf,
} from '../config/index.ts';
import { type Health, HttpServer, WELL } from '../http/index.ts';
import { RegionNode } from '../node/region-node.ts';
import { DaemonError } from './errors.ts';
import { HistoryKeeper } from './history.ts';
import { clusterMapOf, mapVersion, weakestOf } from './map.ts';
import { nodeRoutes } from './routes.ts';
import { prepareData, readTls, readTokens, roomOn } from './surroundings.ts';

export interface DaemonOptions {
  readonly logger: Logger;
  /** Of the software. */
  readonly version?: string;
  /** Ends a start that waits for acceptors. */
  readonly signal?: AbortSignal;
  /** A node does not start with less room on its disk. */
  readonly leastFreeBytes?: number;
}

/** The file may change these at once; this process reads them when it starts. */
const AT_START: ReadonlySet<string> = new Set(['limits.inFlight', 'limits.inFlightBytes', 'tokens.acceptor']);

function honest({ live, restart, refused }: ReloadDiff): ReloadDiff {
  const later = live.filter(({ field }) => AT_START.has(field));
  return {
    live: live.filter(({ field }) => !AT_START.has(field)),
    restart: [
      ...restart,
      ...later.map(({ field }) => ({
        field,
        sentence: `${field} changes; this node needs a restart for it.`,
      })),
    ],
    refused,
  };
}

export class NodeDaemon {
  readonly #place: PlacedNode;
  readonly #options: DaemonOptions;
  readonly #places: readonly PartitionSetPlace[];
  readonly #history = new HistoryKeeper();
  readonly #metrics = new Registry();
  readonly #startedAt = new Date();
  #config: ClusterConfig;
  #tokens: Tokens;
  #tls: RpcTls | undefined;
  #mapVersion: number;
  #store: NodeStore | undefined;
  #http: HttpServer | undefined;
  #node: RegionNode | undefined;
  #waitingFor: CasPaxosError | undefined;
  #phase: 'starting' | 'running' | 'stopping' = 'starting';

  private constructor(config: ClusterConfig, place: PlacedNode, options: DaemonOptions) {
    this.#config = config;
    this.#place = place;
    this.#options = options;
    this.#places = partitionSetsOn(config, place.name);
    this.#tokens = readTokens(config);
    this.#tls = readTls(config, place.name);
    this.#mapVersion = mapVersion(config.path);
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
    return this.#http?.address;
  }

  get region(): string {
    return this.#place.region;
  }

  get partitionSets(): readonly string[] {
    return this.#places.map(({ name }) => name);
  }

  /** Moves the writes away first, as far as there is time, and closes everything in order. */
  async stop(withinMs: number): Promise<void> {
    this.#phase = 'stopping';
    await this.#node?.stop(withinMs);
    this.#node = undefined;
    await this.close();
  }

  /** Ends at once; what is on disk is what a crash would leave, and complete. */
  async close(): Promise<void> {
    this.#phase = 'stopping';
    await this.#node?.close();
    await this.#store?.close();
    await this.#http?.close();
    this.#node = undefined;
    this.#store = undefined;
    this.#http = undefined;
    this.#metrics.clear();
  }

  /** Puts in force of a new reading of the file what can be, and says what cannot. Throws when the tokens cannot be read. */
  reload(config: ClusterConfig): ReloadDiff {
    const diff = diffForReload(this.#config, config);
    const tokens = readTokens(config);
    const tls = readTls(this.#config, this.#place.name);
    this.#tokens = tokens;
    this.#tls = tls;
    if (tls !== undefined && this.#http !== undefined) this.#http.tls = tls;
    // The rest of it needs a restart: it is compared again next time.
    this.#config = { ...this.#config, tokens: config.tokens, limits: config.limits, log: config.log };
    this.#mapVersion = Math.max(this.#mapVersion, mapVersion(config.path));
    return honest(diff);
  }

  async #start(): Promise<void> {
    const { data } = this.#place;
    await prepareData(data, this.#options.leastFreeBytes);
    this.#store = await NodeStore.open({ directory: data });
    this.#registerMetrics();
    await this.#serveHttp();
    this.#node = await RegionNode.start(this.#nodeOptions(this.#store));
    this.#waitingFor = undefined;
    const configuration = failoverConfigurationOf(this.#config);
    const trim = this.#trim();
    await Promise.all(
      this.#places.map(({ name: partitionSet, partitionKey, from: min, to: max }) =>
        this.#node!.add({
          partitionSet,
          configuration,
          settings: { partitionKeyPaths: partitionKey },
          range: { min, max },
          trim,
        }),
      ),
    );
    this.#phase = 'running';
  }

  #nodeOptions(store: NodeStore): Parameters<typeof RegionNode.start>[0] {
    const config = this.#config;
    const { name, region, listen } = this.#place;
    const { logger, signal } = this.#options;
    const { inFlight: maxRequests, inFlightBytes: maxRequestBytes } = config.limits;
    const ca = this.#tls?.ca;
    const acceptorToken = this.#tokens.acceptor?.reveal();
    return {
      cluster: config.cluster,
      node: name,
      region,
      listen,
      peers: new Map(
        peersOf(config, name).map((peer) => [peer.region, { node: peer.name, address: peer.address }]),
      ),
      acceptors: config.acceptors.map(({ url }) => url),
      ...(acceptorToken !== undefined && { acceptorToken }),
      ...(ca !== undefined && { acceptorCa: String(ca) }),
      onWaiting: (error) => this.#onWaiting(error),
      ...(signal && { signal }),
      disk: diskOf(store),
      intervalMs: timingsOf(config).intervalMs,
      tokens: () => ({ node: this.#tokens.node?.reveal(), client: this.#tokens.client?.reveal() }),
      tls: () => this.#tls,
      limits: { maxRequests, maxRequestBytes },
      map: () => this.#map(),
      logger,
      metrics: this.#metrics,
      onEvent: (partitionSet, event) =>
        logger.warn({ partitionSet, ...event }, `The engine says: ${event.event}.`),
      onAgentEvent: (partitionSet, event) => this.#history.onEvent(partitionSet, event),
    };
  }

  /** Said once for each reason. */
  #onWaiting(error: CasPaxosError): void {
    if (this.#waitingFor?.message !== error.message)
      this.#options.logger.warn({ code: error.code }, `Waiting for acceptors: ${error.message}`);
    this.#waitingFor = error;
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
    const { http, region } = this.#place;
    if (http === undefined) return;
    this.#http = await HttpServer.listen({
      address: http,
      tls: this.#tls,
      token: () => this.#tokens.operator?.reveal(),
      routes: nodeRoutes({
        region,
        places: this.#places,
        history: this.#history,
        metrics: this.#metrics,
        map: () => this.#map(),
        about: () => this.#about(),
        health: () => this.#health(),
        readiness: () => this.#readiness(),
        node: () => this.#node,
        now: () => new Date(),
      }),
      onError: (err, path) => this.#options.logger.error({ err, path }, 'An HTTP request failed.'),
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

  #map(): ReturnType<typeof clusterMapOf> {
    const agents = [...(this.#node?.agents.agents() ?? [])];
    return clusterMapOf(this.#config, this.#mapVersion, weakestOf(agents.map(({ state }) => state)));
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
    if (this.#phase === 'stopping') return { status: 'stopping', reasons: ['The node is being stopped.'] };
    const node = this.#node;
    if (node === undefined) return WELL;
    const reasons = node.engine.isWell ? [] : ['The disk does not take writes.'];
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
      ({ state, role }) => state === undefined || role === undefined,
    );
    const building = node.partitions.filter(({ core }) => core?.isReadable !== true);
    const reasons = [
      ...(unseen.length > 0 ? [`${unseen.length} partition-sets have not been heard of yet.`] : []),
      ...(building.length > 0 ? [`${building.length} copies are not complete yet.`] : []),
    ];
    return reasons.length === 0 ? WELL : { status: 'starting', reasons };
  }
}
