/** All of a node's HTTP: its routes, the page, the events with those who listen to them, and the audit trail. */
import { join } from 'node:path';
import { NODE_HOST } from '../../caspaxos/index.ts';
import type { Logger } from '../../failover/index.ts';
import { Refusals } from '../../protocol/index.ts';
import type { Address, RpcTls } from '../../transport/index.ts';
import { type ClusterConfig, type PlacedNode, timingsOf, type Tokens } from '../config/index.ts';
import { HttpServer, originOf } from '../http/index.ts';
import type { RegionNode } from '../node/region-node.ts';
import { AuditTrail } from './audit.ts';
import {
  ConnectTimes,
  type CopyFigures,
  type EventData,
  EventHub,
  historyEventOf,
  type LocalState,
  RateMeter,
} from './events/index.ts';
import { type NodeFacade, nodeRoutes } from './routes.ts';

export interface WebOptions extends Omit<
  NodeFacade,
  'region' | 'places' | 'audit' | 'events' | 'origins' | 'now'
> {
  readonly config: ClusterConfig;
  readonly place: PlacedNode;
  /** Of the software. */
  readonly version: string;
  readonly places: () => NodeFacade['places'];
  readonly tokens: () => Tokens;
  readonly tls: RpcTls | undefined;
  readonly logger: Logger;
}

export class NodeWeb {
  readonly #server: HttpServer;
  readonly #hub: EventHub;
  readonly #audit: AuditTrail;

  private constructor(server: HttpServer, hub: EventHub, audit: AuditTrail) {
    this.#server = server;
    this.#hub = hub;
    this.#audit = audit;
  }

  /** Undefined: this node has no address for it. */
  static async listen(options: WebOptions): Promise<NodeWeb | undefined> {
    const { config, place, places, tokens, tls, logger } = options;
    const { http: address, region, data } = place;
    if (address === undefined) return undefined;
    const warn = (sentence: string): void => logger.warn({}, sentence);
    const audit = new AuditTrail({ file: join(data, 'audit.jsonl'), warn });
    const hub = hubOf(options);
    const origins = originsOf(config);
    const refusals = new Refusals(NODE_HOST, (said) =>
      logger.warn(said, 'Callers were not let in over HTTP.'),
    );
    const server = await HttpServer.listen({
      address,
      tls,
      title: 'Baton node',
      token: () => tokens().operator?.reveal(),
      viewerToken: () => tokens().viewer?.reveal(),
      origins,
      routes: nodeRoutes({
        ...options,
        region,
        get places() {
          return places();
        },
        audit,
        events: hub,
        origins,
        now: () => new Date(),
      }),
      onError: (err, path) => logger.error({ err, path }, 'An HTTP request failed.'),
      onCrowdedOut: (from) => refusals.note('crowded', 'too many connections that have shown nothing', from),
    });
    return new NodeWeb(server, hub, audit);
  }

  get address(): Address {
    return this.#server.address;
  }

  /** Tokens may be others now: whoever listens has to show one again. */
  reload(tls: RpcTls | undefined): void {
    if (tls !== undefined) this.#server.tls = tls;
    this.#hub.hangUp();
  }

  /** The events end: there is nothing any more that they could tell of. */
  hangUp(): void {
    this.#hub.close();
  }

  async close(): Promise<void> {
    this.#hub.close();
    await this.#server.close();
    await this.#audit.close();
  }
}

/** Where the pages of this cluster's nodes come from. */
function originsOf({ regions, tls }: ClusterConfig): ReadonlySet<string> {
  const addresses = regions.flatMap(({ nodes }) => nodes.flatMap(({ http }) => http ?? []));
  return new Set(addresses.map((address) => originOf(address, tls !== undefined)));
}

function hubOf(options: WebOptions): EventHub {
  const { config, place, version, control, history, metrics, places, node, logger } = options;
  const startedAt = performance.now();
  const meter = new RateMeter(metrics);
  const times = new ConnectTimes();
  return new EventHub({
    now: () => Date.now(),
    every: repeating,
    onError: (err) => logger.warn({ err }, 'Listeners cannot be told how this node is.'),
    sources: {
      sets: {
        places,
        state: (name) => node()?.agents.agentOf(name)?.state,
        copy: (name) => copyOf(node(), name),
      },
      hello: () => ({
        node: place.name,
        region: place.region,
        cluster: config.cluster,
        version,
        isLocal: control !== undefined,
        regions: config.regions.map(({ name }) => name),
        timings: timingsOf(config),
      }),
      node: async () => ({
        uptimeMs: Math.round(performance.now() - startedAt),
        readiness: options.readiness(),
        acceptors: acceptorsOf(config, node(), times),
        peers: (node()?.peers ?? []).map(({ region, node: name, isUp, rttMs }) => ({
          region,
          node: name,
          isUp,
          rttMs: rttMs ?? null,
        })),
        ...(await meter.read()),
      }),
      history: (after, limit) => history.since(after, limit).map(historyEventOf),
      local: control && (() => control.look().catch((): LocalState | undefined => undefined)),
    },
  });
}

function repeating(ms: number, what: () => void): () => void {
  const timer = setInterval(what, ms);
  timer.unref();
  return () => clearInterval(timer);
}

/** What is at hand of a copy: its full standing (`views.ts`) would take too long for thousands. */
function copyOf(node: RegionNode | undefined, name: string): CopyFigures | undefined {
  const core = node?.partition(name)?.core;
  if (node === undefined || core === undefined) return undefined;
  const { store, isReadable, diskError } = core;
  const mayWrite = node.agents.agentOf(name)?.mayWrite() === true;
  return {
    canWrite: mayWrite && diskError === undefined && node.engine.isWell,
    canRead: isReadable,
    lsn: store.tail.lsn,
    gclsn: store.notes.gclsn,
  };
}

function acceptorsOf(
  { acceptors }: ClusterConfig,
  node: RegionNode | undefined,
  times: ConnectTimes,
): EventData<'node'>['acceptors'] {
  const names = new Map(acceptors.map(({ name, url }) => [url, name]));
  const known = node?.acceptors ?? acceptors.map(({ url }) => ({ url, state: 'unknown' as const }));
  return known.map(({ url, state }) => ({ name: names.get(url) ?? url, url, state, rttMs: times.get(url) }));
}
