/**
 * A region's node: a process that keeps copies of partition-sets. Its engine stands on one disk, its agents on the acceptors,
 * and both on one link to each other region's node; clients come in on the same port as the other nodes.
 *
 *   client ──▶ listener ──▶ partition ──▶ engine ──▶ store
 *                                          │  ▲
 *                               peers ◀────┘  └──── listener ◀── the other regions' peers
 */
import type { Registry } from 'prom-client';
import {
  type AcceptorStatus,
  type CasPaxosError,
  type Cluster,
  NODE_HOST,
  type ServiceTls,
} from '../../caspaxos/index.ts';
import {
  type ClusterMap,
  decodeWriteAnswer,
  encodeWrite,
  METHODS,
  type NodeLook,
  type NodeWriteAnswer,
} from '../../client/index.ts';
import {
  type ContainerSettings,
  Engine,
  type EngineDisk,
  type EnginePartition,
  type EpkRange,
  LIMITS,
  nodeJson,
  type PartitionEvent,
  type RegionName,
  type TrimPolicy,
  type WriteRequest,
} from '../../engine/index.ts';
import {
  type AgentEvent,
  AgentHost,
  type Configuration,
  type FailoverState,
  heldLevel,
  lastSaidOf,
  type Logger,
  registerOf,
  StateCodec,
} from '../../failover/index.ts';
import { type Host, Refusals } from '../../protocol/index.ts';
import {
  type Address,
  type Caller,
  type ConnectionHandlers,
  type ConnectionLimits,
  type Identity,
  Listener,
  RpcError,
  type RpcTls,
} from '../../transport/index.ts';
import { openPatiently } from './acceptors.ts';
import { complaintAbout, type RpcTokens } from './callers.ts';
import { ClientRequests, type HostedPartition } from './client-requests.ts';
import { EngineMetrics } from './engine-metrics.ts';
import { decodePeerMessage } from './node-wire.ts';
import { PEER_CHANNEL, Peers, type PeerStanding } from './peers.ts';
import { Turns } from './turns.ts';

export interface PartitionSetOptions {
  readonly partitionSet: string;
  readonly configuration: Configuration;
  readonly settings: ContainerSettings;
  /** Of effective partition keys; what lies elsewhere is refused. */
  readonly range?: EpkRange;
  readonly trim?: TrimPolicy;
  /** Its first heartbeat comes within this: an interval, so that those of many do not come at once. */
  readonly spreadMs?: number;
}

export interface RegionNodeOptions {
  /** Whoever belongs to another cluster is not talked to. */
  readonly cluster: string;
  readonly node: string;
  readonly region: RegionName;
  readonly listen: Address;
  /** The node of each other region. */
  readonly peers: ReadonlyMap<RegionName, { readonly node: string; readonly address: Address }>;
  readonly acceptors: readonly string[];
  readonly acceptorToken?: string;
  /** For acceptors with an https URL. Asked anew for every connection. */
  readonly acceptorTls?: () => ServiceTls | undefined;
  /** The acceptors cannot be reached yet; they are tried again. Without it that is an error of `start`. */
  readonly onWaiting?: (error: CasPaxosError) => void;
  /** Ends a `start` that waits. */
  readonly signal?: AbortSignal;
  readonly disk: EngineDisk;
  /** The disk was last used under another boot or on another machine. */
  readonly isDiskStrange?: () => boolean;
  /** What nodes and clients must show. Asked anew for every caller. */
  readonly tokens?: () => RpcTokens;
  readonly tls?: () => RpcTls | undefined;
  readonly limits?: Partial<ConnectionLimits>;
  /** Connections of clients at a time. */
  readonly maxClients?: number | undefined;
  /** Undefined: not known yet. */
  readonly map?: () => ClusterMap | undefined;
  /** Looks at the account's catalogue now; resolves with the version that this node knows then. */
  readonly look?: (look: NodeLook) => Promise<number>;
  readonly logger?: Logger;
  readonly metrics?: Registry;
  readonly onEvent?: (partitionSet: string, event: PartitionEvent) => void;
  readonly onAgentEvent?: (partitionSet: string, event: AgentEvent) => void;
  readonly host?: Host;
}

/** Writes and reads of one partition that wait at a time; more are told to come back. */
const MAX_WAITING = 4096;
/** How long a stop waits for answers that do not come any more. */
const CLOSE_MS = 2000;

interface Beginnings {
  readonly options: RegionNodeOptions;
  readonly self: Identity;
  readonly cluster: Cluster;
  readonly listener: Listener;
  readonly metrics: EngineMetrics | undefined;
}

export class RegionNode {
  readonly agents: AgentHost;
  readonly engine: Engine;
  /** Higher in every life of this node: whoever it was connected to knows the next one from the last. */
  readonly incarnation: number;
  readonly #options: RegionNodeOptions;
  readonly #cluster: Cluster;
  readonly #peers: Peers;
  readonly #turns: Turns;
  readonly #requests: ClientRequests;
  readonly #partitions = new Map<string, HostedPartition>();
  readonly #stopping = new AbortController();
  readonly #listener: Listener;

  private constructor({ options, self, cluster, listener, metrics }: Beginnings) {
    this.#options = options;
    this.incarnation = self.incarnation;
    this.#cluster = cluster;
    this.#listener = listener;
    const { region, disk, logger, onAgentEvent } = options;
    const host = options.host ?? NODE_HOST;
    this.#turns = new Turns(host);
    this.#peers = new Peers({
      host,
      self,
      peers: options.peers,
      token: () => options.tokens?.().node,
      tls: () => options.tls?.(),
      onReady: (other) => this.engine.linkReady(other),
      onLost: (other) => this.engine.linkLost(other),
    });
    this.engine = new Engine({
      region,
      host,
      disk,
      links: this.#peers,
      others: [...options.peers.keys()],
      onEvent: (partitionSet, event) => {
        metrics?.onEvent(event);
        options.onEvent?.(partitionSet, event);
      },
    });
    this.agents = new AgentHost({
      region,
      cluster,
      host,
      ...(logger && { logger }),
      ...(options.metrics && { metrics: options.metrics }),
      ...(onAgentEvent && { onEvent: onAgentEvent }),
      ...(options.isDiskStrange && { isDirectoryStrange: options.isDiskStrange }),
      sendHint: (partitionSet, hint) => {
        for (const other of options.peers.keys())
          this.#peers.sendAny(other, { type: 'hint', partitionSet, hint });
      },
    });
    this.#requests = new ClientRequests({
      region,
      host,
      find: (partitionSet) => this.#partitions.get(partitionSet),
      stateOf: (partitionSet) => this.agents.agentOf(partitionSet)?.state,
      mayWrite: (partitionSet) => this.agents.agentOf(partitionSet)?.mayWrite() ?? false,
      map: options.map,
      look: options.look,
      onEnd: (kind, end, ms) => metrics?.onRequest(kind, end, ms),
      stopping: this.#stopping.signal,
    });
  }

  /** Listens first, then waits for the acceptors: whoever calls meanwhile is let in and told nothing yet. */
  static async start(options: RegionNodeOptions): Promise<RegionNode> {
    const { acceptors, acceptorToken, acceptorTls, onWaiting, signal } = options;
    const host = options.host ?? NODE_HOST;
    let started: RegionNode | undefined;
    const metrics = options.metrics && new EngineMetrics(options.metrics, () => started);
    const { cluster: name, node, region } = options;
    const incarnation = await nextLife(options.disk);
    const self: Identity = { role: 'node', cluster: name, node, region, incarnation };
    const listener = await RegionNode.#listen(
      options,
      self,
      () => started,
      RegionNode.#refusing(options, metrics),
    );
    try {
      const cluster = await openPatiently(
        {
          acceptors,
          proposer: node,
          host,
          ...(acceptorToken !== undefined && { token: acceptorToken }),
          ...(acceptorTls !== undefined && { tls: acceptorTls }),
        },
        { host, onWaiting, signal },
      );
      cluster.on('warning', ({ code, message }) => options.logger?.warn({ code }, message));
      cluster.on('alarm', ({ code, message }) => options.logger?.error({ code }, message));
      started = new RegionNode({ options, self, cluster, listener, metrics });
      return started;
    } catch (error) {
      await listener.close();
      throw error;
    }
  }

  get address(): Address {
    return this.#listener.address;
  }

  get partitions(): readonly EnginePartition[] {
    return [...this.#partitions.values()].map(({ partition }) => partition);
  }

  partition(partitionSet: string): EnginePartition | undefined {
    return this.#partitions.get(partitionSet)?.partition;
  }

  get peers(): readonly PeerStanding[] {
    return this.#peers.standings;
  }

  /** Of the acceptors: the account's catalogue is on it too. */
  get cluster(): Cluster {
    return this.#cluster;
  }

  get acceptors(): readonly AcceptorStatus[] {
    return this.#cluster.acceptors;
  }

  /** Certificates that were read again, for callers from now on; links take what `tls` says when they are made. */
  set tls(tls: RpcTls) {
    this.#listener.tls = tls;
  }

  /** Callers that are connected now, by what they are. */
  get callers(): { readonly node: number; readonly client: number } {
    let node = 0;
    for (const { peer } of this.#listener.connections) if (peer.role === 'node') node += 1;
    return { node, client: this.#listener.connections.size - node };
  }

  /** Brings a copy of a partition-set to life: its data, then its agent. When that fails nothing is left of the attempt. */
  async add({
    partitionSet,
    configuration,
    settings,
    range,
    trim,
    spreadMs,
  }: PartitionSetOptions): Promise<EnginePartition> {
    const partition = this.engine.open({
      partitionSet,
      region: this.#options.region,
      regions: configuration.priorities,
      // Until its agent says what the failover state has.
      consistency: heldLevel(configuration),
      settings,
      limits: LIMITS,
      json: nodeJson,
      maxWaiting: MAX_WAITING,
      ...(trim && { trim }),
    });
    this.#partitions.set(partitionSet, { partition, range });
    try {
      await this.#distrust(partition);
      await this.agents.add({
        partitionSet,
        driver: partition,
        configuration,
        ...(spreadMs !== undefined && { spreadMs }),
      });
    } catch (error) {
      this.#partitions.delete(partitionSet);
      this.engine.release(partitionSet);
      throw error;
    }
    // Too late: nobody would end it.
    if (this.#stopping.signal.aborted) this.agents.remove(partitionSet);
    return partition;
  }

  /** A disk that is not the one which this region last reported from: nothing on it counts before it was built anew. */
  async #distrust(partition: EnginePartition): Promise<void> {
    const { partitionSet } = partition;
    const state = await this.readState(partitionSet);
    if (state === undefined || !(await partition.isOutlived(lastSaidOf(state, this.#options.region)))) return;
    this.#options.logger?.warn(
      { partitionSet, code: 'DATA_LOST' },
      'The data here are not those that this region reported last: they are fetched anew from the write region.',
    );
  }

  /**
   * Gives a copy of a partition-set up, for good: its agent ends without moving the writes, whoever waits is answered, and its data
   * are gone from the disk when it resolves. It need not have been added.
   */
  async remove(partitionSet: string): Promise<void> {
    this.#partitions.delete(partitionSet);
    this.agents.remove(partitionSet);
    await this.engine.remove(partitionSet);
  }

  /** A partition-set's failover state as the acceptors have it now; undefined: they have none. */
  async readState(partitionSet: string, timeoutMs?: number): Promise<FailoverState | undefined> {
    const codec = new StateCodec();
    const { value } = await this.#cluster.read(registerOf(partitionSet), { codec, timeoutMs });
    return value;
  }

  /** A write of this node's own, wherever writes are taken now. Rejects with an RpcError when that cannot be reached. */
  async writeAnywhere(
    partitionSet: string,
    request: WriteRequest,
    timeoutMs: number,
  ): Promise<NodeWriteAnswer> {
    const here = await this.engine.partition(partitionSet).write(request, timeoutMs);
    const writer = this.agents.agentOf(partitionSet)?.state?.writer ?? this.#options.region;
    const isHere = here.outcome !== 'refused' || here.code !== 'NOT_WRITER';
    if (isHere || writer === this.#options.region) return here;
    const payload = encodeWrite({ partitionSet, timeoutMs, request });
    return decodeWriteAnswer(await this.#peers.call(writer, METHODS.write, payload, { timeoutMs }));
  }

  /** Moves the writes away first, as far as there is time. */
  async stop(withinMs: number): Promise<void> {
    await this.agents.stop(withinMs);
    this.#stopping.abort();
    await this.#listener.close();
    await this.close();
  }

  /** Ends at once. */
  async close(): Promise<void> {
    this.#stopping.abort();
    this.agents.close();
    this.engine.close();
    await Promise.all([this.#listener.close(), this.#peers.close()]);
    await this.#cluster.close();
  }

  static #listen(
    options: RegionNodeOptions,
    self: Identity,
    started: () => RegionNode | undefined,
    onRefused: (error: RpcError, from: string) => void,
  ): Promise<Listener> {
    const { listen: address, peers, limits, maxClients, host = NODE_HOST } = options;
    const tokens = options.tokens ?? (() => ({}));
    const tls = options.tls?.();
    const isMutual = tls?.ca !== undefined;
    return Listener.listen({
      host,
      address,
      self,
      tls,
      limits: { closeTimeoutMs: CLOSE_MS, ...limits },
      maxConnections: maxClients,
      authorize: (caller, shown) => complaintAbout(caller, shown, { tokens, isMutual, peers }),
      onConnection: (_, caller) => RegionNode.#handlersFor(caller, started, options.logger),
      onRefused,
    });
  }

  /** Whoever left before they had said anything were not refused: they are counted, and not worth a line. */
  static #refusing(
    { host = NODE_HOST, logger }: RegionNodeOptions,
    metrics: EngineMetrics | undefined,
  ): (error: RpcError, from: string) => void {
    const refusals = new Refusals(host, (said) => logger?.warn(said, 'Callers were not let in.'));
    return ({ code, message }, from) => {
      metrics?.onRefused(code);
      if (code !== 'UNREACHABLE') refusals.note(code, message, from);
    };
  }

  static #handlersFor(
    { role, region }: Caller,
    started: () => RegionNode | undefined,
    logger: Logger | undefined,
  ): ConnectionHandlers {
    const onMessage = (channel: number, payload: Buffer): void => {
      const node = started();
      if (node !== undefined) node.#onPeerMessage(region, channel, payload);
    };
    return {
      ...(role === 'node' && { onMessage }),
      onRequest: (method, payload, context) => {
        const node = started();
        if (node === undefined) throw notReady();
        return node.#turns.take(() => node.#requests.answer(method, payload, context));
      },
      onHandlerError: (err, method) => logger?.error({ err, method }, 'A request of a client failed.'),
    };
  }

  #onPeerMessage(from: RegionName, channel: number, payload: Buffer): void {
    if (channel !== PEER_CHANNEL) return;
    const message = decodePeerMessage(payload);
    if (message.type === 'hint') this.agents.onHint(message.partitionSet, message.hint);
    else this.engine.onMessage(from, message);
  }
}

function notReady(): RpcError {
  return new RpcError('NOT_READY', 'The node is starting.', { retryAfterMs: 100 });
}

/** No partition-set has such a name. */
const LIVES = '.lives';

function nextLife(disk: EngineDisk): Promise<number> {
  const lives = disk.partition(LIVES);
  const incarnation = lives.notes.incarnation + 1;
  lives.note({ incarnation });
  return new Promise((resolve, reject) => {
    lives.sync((error) => (error === undefined ? resolve(incarnation) : reject(error)));
  });
}
