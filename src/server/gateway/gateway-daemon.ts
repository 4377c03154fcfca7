/**
 * A gateway as a process: one door of the account, of a region or the global one. It keeps no data. It stands on the acceptors
 * for the catalogue and on the nodes of all regions for documents, and outlives both: it listens from the start, says 503 until
 * it has found them, and goes on answering whatever becomes of them later.
 */
import { readFileSync } from 'node:fs';
import { collectDefaultMetrics, Registry } from 'prom-client';
import { CasPaxosError, type Cluster, NODE_HOST } from '../../caspaxos/index.ts';
import { PartitionClient } from '../../client/index.ts';
import type { Logger } from '../../failover/index.ts';
import { Refusals } from '../../protocol/index.ts';
import type { Address, RpcTls } from '../../transport/index.ts';
import { CatalogRegister, firstCatalog } from '../catalog/index.ts';
import {
  type ClusterConfig,
  diffForReload,
  formatAddress,
  type GatewayConfig,
  gatewayOf,
  type ReloadDiff,
  startingAgainFor,
  resolveKeys,
  type Tokens,
} from '../config/index.ts';
import { readAcceptorUrls, readTls, readTokens } from '../daemon/surroundings.ts';
import { type Health, HttpServer, statusRoutes, WELL } from '../http/index.ts';
import { openPatiently } from '../node/acceptors.ts';
import { CachedCatalog } from './catalog-source.ts';
import type { GatewayContext, Location, Partitions } from './context.ts';
import { GatewayStartError } from './daemon-errors.ts';
import { dispatcher } from './dispatch.ts';
import { GatewayServer } from './gateway-server.ts';
import { handleItems } from './items/index.ts';
import { AccountKeys } from './keys.ts';
import { GatewayMetrics } from './metrics.ts';
import { TokenBuckets } from './throttle.ts';

export interface GatewayDaemonOptions {
  readonly logger: Logger;
  /** Of the software. */
  readonly version?: string;
  /** Ends a start that waits. */
  readonly signal?: AbortSignal;
}

/**
 * How long a region's door holds a write while nobody takes it: longer than a planned move takes, and not much longer, because
 * a client pays it for each range of a region that is gone before it looks elsewhere.
 */
const HOLD_MS = 1000;
const CONNECT_MS = 3000;
const AGAIN_MS = 250;
const MAX_OPERATIONS = 8192;

/** The file may change these at once; this process reads them when it starts. */
const AT_START: ReadonlySet<string> = new Set(['tokens.acceptor', 'tokens.client', 'tokens.node']);

interface Behind {
  readonly cluster: Cluster;
  readonly partitions: PartitionClient;
  readonly context: GatewayContext;
}

export class GatewayDaemon {
  readonly #gateway: GatewayConfig;
  readonly #options: GatewayDaemonOptions;
  readonly #host = NODE_HOST;
  readonly #registry = new Registry();
  readonly #metrics: GatewayMetrics;
  readonly #handle = dispatcher(handleItems);
  readonly #stopping = new AbortController();
  #config: ClusterConfig;
  #keys: AccountKeys;
  #tokens: Tokens;
  #tls: RpcTls | undefined;
  #catalog: CachedCatalog | undefined;
  readonly #throttle: TokenBuckets;
  #server: GatewayServer | undefined;
  #http: HttpServer | undefined;
  #behind: Behind | undefined;
  #waitingFor = 'The gateway is starting.';

  private constructor(config: ClusterConfig, gateway: GatewayConfig, options: GatewayDaemonOptions) {
    this.#config = config;
    this.#gateway = gateway;
    this.#options = options;
    this.#keys = readKeys(config);
    this.#tokens = readTokens(config);
    this.#tls = readTls(config, gateway.name);
    this.#throttle = new TokenBuckets(
      this.#host,
      (number) => this.#catalog?.last?.containers.find((one) => one.number === number)?.throughput,
    );
    collectDefaultMetrics({ register: this.#registry });
    this.#metrics = new GatewayMetrics(this.#registry, this.#host, {
      inFlight: () => this.#server?.inFlight ?? 0,
      throttled: () => this.#throttle.throttled,
      isReady: () => this.#readiness().status === 'ok',
    });
  }

  /** Resolves when it has found acceptors and nodes and serves requests. Rejects with an error that has a code. */
  static async start(
    config: ClusterConfig,
    name: string,
    options: GatewayDaemonOptions,
  ): Promise<GatewayDaemon> {
    const gateway = gatewayOf(config, name);
    if (gateway === undefined)
      throw new GatewayStartError('GATEWAY_UNKNOWN', `The file ${config.path} has no gateway ${name}.`);
    const daemon = new GatewayDaemon(config, gateway, options);
    try {
      await daemon.#listen();
      await daemon.#findOthers();
    } catch (error) {
      await daemon.stop(0);
      throw error;
    }
    return daemon;
  }

  get address(): Address {
    return this.#server!.address;
  }

  get http(): Address | undefined {
    return this.#http?.address;
  }

  get region(): string | undefined {
    return this.#gateway.region;
  }

  /** Answers what is under way, for a while; new requests are told to come over another connection. */
  async stop(withinMs: number): Promise<void> {
    this.#stopping.abort();
    await this.#server?.close(withinMs);
    await this.#behind?.partitions.close();
    await this.#behind?.cluster.close();
    await this.#http?.close();
    this.#behind = undefined;
    this.#http = undefined;
    this.#registry.clear();
  }

  /** Puts in force of a new reading of the file what can be: keys, certificates. Throws when they cannot be read. */
  reload(config: ClusterConfig): ReloadDiff {
    const diff = diffForReload(this.#config, config);
    const keys = readKeys(config);
    const tokens = readTokens(config);
    const tls = readTls(this.#config, this.#gateway.name);
    // First what may throw: a certificate and a key that do not belong together change nothing.
    if (tls !== undefined && this.#server !== undefined) this.#server.tls = tls;
    if (tls !== undefined && this.#http !== undefined) this.#http.tls = tls;
    this.#keys = keys;
    this.#tokens = tokens;
    this.#tls = tls;
    // The rest of it needs a restart: it is compared again next time.
    this.#config = { ...this.#config, keys: config.keys, tokens: config.tokens, log: config.log };
    return startingAgainFor(AT_START, diff, 'gateway');
  }

  async #listen(): Promise<void> {
    const { logger } = this.#options;
    const { listen, http } = this.#gateway;
    const refusals = new Refusals(this.#host, (said) => logger.warn(said, 'Callers were not let in.'));
    const crowdedOut = (from: string): void =>
      refusals.note('crowded', 'too many connections that have shown nothing', from);
    if (http !== undefined)
      this.#http = await HttpServer.listen({
        address: http,
        tls: this.#tls,
        token: () => this.#tokens.operator?.reveal(),
        title: 'Baton gateway',
        routes: statusRoutes({
          health: () => this.#health(),
          readiness: () => this.#readiness(),
          metrics: this.#registry,
        }),
        onError: (err, path) => logger.error({ err, path }, 'An HTTP request failed.'),
        onCrowdedOut: crowdedOut,
      });
    this.#server = await GatewayServer.listen({
      address: listen,
      tls: this.#tls,
      host: this.#host,
      keys: () => this.#keys,
      notReady: () => (this.#behind === undefined ? this.#waitingFor : undefined),
      handle: (request) => this.#handle(request, this.#behind!.context),
      observer: this.#metrics,
      onCrowdedOut: (from) => {
        this.#metrics.crowdedOut();
        crowdedOut(from);
      },
      onError: (err, activityId) => logger.error({ err, activityId }, 'A request of a client failed.'),
    });
  }

  async #findOthers(): Promise<void> {
    const cluster = await this.#openCluster();
    let partitions: PartitionClient | undefined;
    try {
      const register = new CatalogRegister({
        cluster,
        first: () => firstCatalog(this.#config.containers, this.#host.wallClock()),
      });
      const catalog = new CachedCatalog({ register, host: this.#host });
      await this.#patiently('the catalogue', () => catalog.read());
      partitions = await this.#patiently(
        'the nodes',
        () => PartitionClient.connect(this.#connectOptions()),
        (late) => void late.close(),
      );
      this.#catalog = catalog;
      this.#behind = { cluster, partitions, context: this.#contextOf(catalog, partitions) };
    } catch (error) {
      await partitions?.close();
      await cluster.close();
      throw error;
    }
  }

  async #openCluster(): Promise<Cluster> {
    const { logger } = this.#options;
    const token = this.#tokens.acceptor?.reveal();
    const cluster = await openPatiently(
      {
        acceptors: readAcceptorUrls(this.#config),
        proposer: this.#gateway.name,
        host: this.#host,
        ...(token !== undefined && { token }),
        tls: () => this.#tls,
      },
      {
        host: this.#host,
        onWaiting: (error: CasPaxosError) => this.#onWaiting('its acceptors', error),
        signal: this.#signal,
      },
    );
    cluster.on('warning', ({ code, message }) => logger.warn({ code }, message));
    cluster.on('alarm', ({ code, message }) => logger.error({ code }, message));
    return cluster;
  }

  get #signal(): AbortSignal {
    const { signal } = this.#options;
    return signal === undefined ? this.#stopping.signal : AbortSignal.any([signal, this.#stopping.signal]);
  }

  /** What is not there yet may come: it is tried for as long as it takes. What comes when nobody waits any more is undone. */
  async #patiently<T>(what: string, attempt: () => Promise<T>, undo?: (late: T) => void): Promise<T> {
    const signal = this.#signal;
    const given = new Promise<never>((_, reject) => {
      const giveUp = (): void => reject(signal.reason as Error);
      if (signal.aborted) giveUp();
      else signal.addEventListener('abort', giveUp, { once: true });
    });
    given.catch(() => {});
    for (;;) {
      signal.throwIfAborted();
      const trying = attempt();
      try {
        return await Promise.race([trying, given]);
      } catch (error) {
        if (signal.aborted) trying.then(undo, () => {});
        else this.#onWaiting(what, error);
      }
      signal.throwIfAborted();
      await Promise.race([new Promise<void>((resolve) => this.#host.after(AGAIN_MS, resolve)), given]);
    }
  }

  /** Said once for each reason. */
  #onWaiting(what: string, error: unknown): void {
    const sentence = `The gateway waits for ${what}.`;
    if (this.#waitingFor !== sentence) this.#options.logger.warn({ err: error }, sentence);
    this.#waitingFor = sentence;
  }

  #connectOptions(): Parameters<typeof PartitionClient.connect>[0] {
    const { account, cluster, regions } = this.#config;
    return {
      account: account.name,
      cluster,
      endpoints: regions.flatMap(({ nodes }) => nodes.map(({ address }) => formatAddress(address))),
      cacheDirectory: false,
      preferredRegion: this.#gateway.region,
      token: this.#tokens.client?.reveal(),
      tls: this.#tls,
      timeoutMs: CONNECT_MS,
      maxInFlight: MAX_OPERATIONS,
    };
  }

  #contextOf(catalog: CachedCatalog, client: PartitionClient): GatewayContext {
    const { region } = this.#gateway;
    const partitions: Partitions = this.#metrics.watching(client);
    return {
      door: region === undefined ? undefined : { region, holdMs: HOLD_MS },
      account: {
        name: this.#config.account.name,
        consistency: () => partitions.topology.map.account.consistency,
      },
      catalog,
      partitions,
      host: this.#host,
      logger: this.#options.logger,
      locations: () => this.#locations(),
      self: () => this.#endpointOf(this.#gateway),
      throttle: this.#throttle,
    };
  }

  /** A region without a gateway has no door. */
  #locations(): readonly Location[] {
    const { regions, gateways } = this.#config;
    return regions.flatMap(({ name }) => {
      const door = gateways.find(({ region }) => region === name);
      return door === undefined ? [] : [{ name, endpoint: this.#endpointOf(door) }];
    });
  }

  #endpointOf({ address }: GatewayConfig): string {
    return `${this.#config.tls === undefined ? 'http' : 'https'}://${formatAddress(address)}/`;
  }

  #health(): Health {
    if (!this.#stopping.signal.aborted) return WELL;
    return { status: 'stopping', reasons: ['The gateway is being stopped.'] };
  }

  #readiness(): Health {
    const health = this.#health();
    if (health.status !== 'ok' || this.#behind !== undefined) return health;
    return { status: 'starting', reasons: [this.#waitingFor] };
  }
}

/** Throws GATEWAY_KEYS_MISSING, or a ConfigError with the line of every key that is not there. */
function readKeys(config: ClusterConfig): AccountKeys {
  const keys = new AccountKeys(
    resolveKeys(config, { readFile: (path) => readFileSync(path, 'utf8'), env: process.env }),
  );
  if (!keys.isEmpty) return keys;
  throw new GatewayStartError(
    'GATEWAY_KEYS_MISSING',
    `A gateway needs the keys of the account; the file ${config.path} has none under keys.`,
  );
}
