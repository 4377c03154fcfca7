/**
 * The metrics of a node's engine and connections. As with the agents' (src/failover/agent-metrics.ts) no label has a
 * partition-set as its value: a node has thousands. What can be added up is added up, of lags the largest is shown, and
 * what can happen is there from the start, as zero. Docs: docs/metrics.md.
 */
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { NODE_REFUSALS } from '../../client/index.ts';
import { type PartitionEvent, type EnginePartition, REFUSALS } from '../../engine/index.ts';
import type { RpcErrorCode } from '../../transport/index.ts';
import type { PeerStanding } from './peers.ts';

/** The node, as far as it is measured. */
export interface MeteredNode {
  readonly engine: { readonly isWell: boolean };
  readonly partitions: readonly EnginePartition[];
  readonly peers: readonly PeerStanding[];
  readonly callers: { readonly node: number; readonly client: number };
}

type Kind = 'write' | 'read' | 'scan' | 'feed';
const KINDS: readonly Kind[] = ['write', 'read', 'scan', 'feed'];
const ENDS: ReadonlySet<string> = new Set([
  'done',
  'unknown',
  ...Object.keys(REFUSALS),
  ...Object.keys(NODE_REFUSALS),
]);
/** Why a listener does not let somebody in. */
const NOT_LET_IN: readonly RpcErrorCode[] = [
  'CLOSED',
  'CLUSTER_DIFFERENT',
  'FRAME_TOO_LARGE',
  'HANDSHAKE_INVALID',
  'HANDSHAKE_TIMED_OUT',
  'NOT_AUTHORIZED',
  'PROTOCOL_VIOLATION',
  'SUPERSEDED',
  'TOO_MANY_CONNECTIONS',
  'UNREACHABLE',
  'VERSION_UNSUPPORTED',
];
/** In seconds: from half a millisecond to somewhat over a minute. */
const BUCKETS = Array.from({ length: 18 }, (_, doublings) => 0.0005 * 2 ** doublings);

interface Lag {
  following: number;
  entries: number;
  seconds: number;
}

/** All partitions, counted in one pass. */
interface Census {
  built: number;
  building: number;
  diskFailed: number;
  logBytes: number;
  waiting: number;
  undone: number;
  readonly lags: Map<string, Lag>;
}

export class EngineMetrics {
  readonly #registry: Registry;
  readonly #node: () => MeteredNode | undefined;
  /** `write done` and so on: counted on every request, so not in a registry's map of labels. */
  readonly #ends = new Map<string, number>();
  readonly #writeSeconds: Histogram;
  readonly #readSeconds: Histogram;
  readonly #events: Counter<'event'>;
  readonly #undone: Counter;
  readonly #refused: Counter<'code'>;
  #census: Census | undefined;

  /** `node`: undefined while it waits for its acceptors. */
  constructor(registry: Registry, node: () => MeteredNode | undefined) {
    this.#registry = registry;
    this.#node = node;
    this.#writeSeconds = this.#histogram(
      'baton_engine_commit_seconds',
      'How long writes took that were committed',
    );
    this.#readSeconds = this.#histogram(
      'baton_engine_read_seconds',
      'How long reads took that were answered',
    );
    this.#events = this.#counter(
      'baton_engine_damage_total',
      'Entries found damaged on this disk, repaired, and undone without being listed because they were damaged',
      ['event'],
    );
    for (const event of ['damaged', 'repaired', 'unlisted', 'refused', 'short', 'recovered', 'unconfirmed'])
      this.#events.inc({ event }, 0);
    this.#undone = this.#counter(
      'baton_engine_undone_total',
      'Writes of this region that a failover undid',
      [],
    );
    this.#refused = this.#counter('baton_rpc_refused_total', 'Callers that were not let in, by code', [
      'code',
    ]);
    for (const code of [...NOT_LET_IN, 'other']) this.#refused.inc({ code }, 0);
    this.#registerRequests();
    this.#registerCensus();
    this.#registerLags();
    this.#registerLinks();
  }

  onRequest(kind: Kind, end: string, ms: number): void {
    const name = `${kind} ${ENDS.has(end) ? end : 'other'}`;
    this.#ends.set(name, (this.#ends.get(name) ?? 0) + 1);
    if (end !== 'done') return;
    if (kind === 'write') this.#writeSeconds.observe(ms / 1000);
    else if (kind === 'read') this.#readSeconds.observe(ms / 1000);
  }

  onEvent(event: PartitionEvent): void {
    if (event.event === 'undone') this.#undone.inc(event.count);
    else if (event.event === 'unlisted') this.#events.inc({ event: event.event }, event.count);
    else if (event.event !== 'disk') this.#events.inc({ event: event.event });
  }

  onRefused(code: string): void {
    this.#refused.inc({ code: (NOT_LET_IN as readonly string[]).includes(code) ? code : 'other' });
  }

  #registerRequests(): void {
    const requests: Counter<'kind' | 'outcome'> = new Counter({
      name: 'baton_engine_requests_total',
      help: 'Requests of clients, by kind and by how they ended: done, unknown, or the code of the refusal',
      labelNames: ['kind', 'outcome'] as const,
      registers: [this.#registry],
      collect: () => {
        requests.reset();
        for (const kind of KINDS) requests.inc({ kind, outcome: 'done' }, 0);
        for (const [name, count] of this.#ends) {
          const [kind = '', outcome = ''] = name.split(' ');
          requests.inc({ kind, outcome }, count);
        }
      },
    });
  }

  #registerCensus(): void {
    this.#gauge('baton_engine_disk_well', 'Whether the disk took a write lately: 1 or 0', () =>
      this.#node()?.engine.isWell === false ? 0 : 1,
    );
    this.#gauge(
      'baton_engine_disk_failed',
      'Partition-sets whose last write to the disk failed',
      () => this.#look().diskFailed,
    );
    this.#gauge('baton_engine_log_bytes', 'Bytes of the logs', () => this.#look().logBytes);
    this.#gauge('baton_engine_waiting', 'Requests of clients that wait now', () => this.#look().waiting);
    this.#gauge(
      'baton_engine_undone_writes',
      'Writes that a failover undid and nobody has seen to yet',
      () => this.#look().undone,
    );
    this.#gaugeBy(
      'baton_engine_partitions',
      'Copies of partition-sets, by whether they are complete',
      'build',
      () => {
        const { built, building } = this.#look();
        return new Map([
          ['Built', built],
          ['Building', building],
        ]);
      },
    );
  }

  #registerLags(): void {
    const of = (field: keyof Lag) => (): Map<string, number> =>
      new Map([...this.#look().lags].map(([region, lag]) => [region, lag[field]]));
    this.#gaugeBy(
      'baton_engine_replication_followers',
      'Partition-sets that are written here and followed by that region',
      'peer',
      of('following'),
    );
    this.#gaugeBy(
      'baton_engine_replication_lag_entries',
      'Entries by which that region is behind, in the partition-set where it is furthest behind',
      'peer',
      of('entries'),
    );
    this.#gaugeBy(
      'baton_engine_replication_lag_seconds',
      'How long that region would need to catch up, in the partition-set where it needs longest',
      'peer',
      of('seconds'),
    );
  }

  #registerLinks(): void {
    this.#gaugeBy('baton_rpc_callers', 'Connections that were let in, by role', 'role', () => {
      const { node, client } = this.#node()?.callers ?? { node: 0, client: 0 };
      return new Map(Object.entries({ node, client }));
    });
    const peers = (value: (peer: PeerStanding) => number) => (): Map<string, number> =>
      new Map((this.#node()?.peers ?? []).map((peer) => [peer.region, value(peer)]));
    this.#gaugeBy(
      'baton_rpc_peer_up',
      "Whether there is a connection to that region's node: 1 or 0",
      'peer',
      peers(({ isUp }) => (isUp ? 1 : 0)),
    );
    this.#gaugeBy(
      'baton_rpc_peer_round_trip_seconds',
      "The last round trip to that region's node",
      'peer',
      peers(({ rttMs }) => (rttMs ?? 0) / 1000),
    );
    this.#gaugeBy(
      'baton_rpc_peer_queued_bytes',
      "Bytes for that region's node that have not left this process",
      'peer',
      peers(({ queuedBytes }) => queuedBytes),
    );
  }

  #histogram(name: string, help: string): Histogram {
    return new Histogram({ name, help, buckets: BUCKETS, registers: [this.#registry] });
  }

  #counter<T extends string>(name: string, help: string, labelNames: readonly T[]): Counter<T> {
    return new Counter<T>({ name, help, labelNames, registers: [this.#registry] });
  }

  #gauge(name: string, help: string, value: () => number): void {
    const gauge: Gauge = new Gauge({
      name,
      help,
      registers: [this.#registry],
      collect: () => gauge.set(value()),
    });
  }

  #gaugeBy(name: string, help: string, label: string, values: () => ReadonlyMap<string, number>): void {
    const gauge: Gauge = new Gauge({
      name,
      help,
      labelNames: [label],
      registers: [this.#registry],
      collect: () => {
        gauge.reset();
        for (const [value, count] of values()) gauge.set({ [label]: value }, count);
      },
    });
  }

  /** The gauges of one scrape are collected in one turn, and share what the first of them counted. */
  #look(): Census {
    if (this.#census === undefined) {
      this.#census = censusOf(this.#node());
      queueMicrotask(() => (this.#census = undefined));
    }
    return this.#census;
  }
}

function censusOf(node: MeteredNode | undefined): Census {
  const census: Census = {
    built: 0,
    building: 0,
    diskFailed: 0,
    logBytes: 0,
    waiting: 0,
    undone: 0,
    lags: new Map(
      (node?.peers ?? []).map(({ region }) => [region, { following: 0, entries: 0, seconds: 0 }]),
    ),
  };
  for (const partition of node?.partitions ?? []) take(census, partition);
  return census;
}

function take(census: Census, partition: EnginePartition): void {
  const { core } = partition;
  if (core === undefined) return;
  const { reign, store } = core;
  const { build, peers } = core.status();
  if (build === 'Built') census.built += 1;
  else census.building += 1;
  if (core.diskError !== undefined) census.diskFailed += 1;
  census.logBytes += store.logBytes;
  census.waiting += core.waits.size + (reign?.waiting ?? 0);
  for (const { closed } of store.undone()) if (closed === undefined) census.undone += 1;
  if (reign === undefined) return;
  for (const [region, { lsn, behindMs }] of Object.entries(peers)) {
    const lag = census.lags.get(region);
    if (lag === undefined || behindMs === Infinity) continue;
    lag.following += 1;
    lag.entries = Math.max(lag.entries, store.tail.lsn - lsn);
    lag.seconds = Math.max(lag.seconds, behindMs / 1000);
  }
}
