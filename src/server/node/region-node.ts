/**
 * A region's node: a process that keeps copies of partition-sets. Its engine stands on one disk, its agents on the acceptors,
 * and both on one link to each other region's node; clients come in on the same port as the other nodes.
 *
 *   client ──▶ listener ──▶ partition ──▶ engine ──▶ store
 *                                          │  ▲
 *                               peers ◀────┘  └──── listener ◀── the other regions' peers
 */
import { type Cluster, NODE_HOST } from '../../caspaxos/index.ts';
import { decodeRead, decodeWrite, encodeReadAnswer, encodeWriteAnswer, METHODS } from '../../client/index.ts';
import {
  type Consistency,
  type ContainerSettings,
  Engine,
  type EngineDisk,
  type EnginePartition,
  epkOf,
  LIMITS,
  nodeJson,
  type PartitionEvent,
  type RegionName,
  type TrimPolicy,
} from '../../engine/index.ts';
import { AgentHost, type Configuration, type Logger, openAgentCluster } from '../../failover/index.ts';
import type { Host } from '../../protocol/index.ts';
import {
  type Address,
  type Caller,
  type ConnectionHandlers,
  type Identity,
  Listener,
  type Payload,
  RpcError,
  type RpcTls,
} from '../../transport/index.ts';
import { decodePeerMessage } from './node-wire.ts';
import { PEER_CHANNEL, Peers } from './peers.ts';
import { Turns } from './turns.ts';

export interface PartitionSetOptions {
  readonly partitionSet: string;
  readonly configuration: Configuration;
  readonly settings: ContainerSettings;
  readonly trim?: TrimPolicy;
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
  readonly disk: EngineDisk;
  readonly intervalMs: number;
  readonly token?: string;
  readonly tls?: RpcTls;
  readonly logger?: Logger;
  readonly onEvent?: (partitionSet: string, event: PartitionEvent) => void;
  readonly host?: Host;
}

/** Writes and reads of one partition that wait at a time; more are told to come back. */
const MAX_WAITING = 4096;
const LONGEST_MS = 60_000;

export class RegionNode {
  readonly agents: AgentHost;
  readonly engine: Engine;
  readonly #options: RegionNodeOptions;
  /** Higher in every life of this node: whoever it was connected to knows the next one from the last. */
  readonly #incarnation: number;
  readonly #cluster: Cluster;
  readonly #peers: Peers;
  readonly #turns: Turns;
  #listener: Listener | undefined;

  private constructor(options: RegionNodeOptions, cluster: Cluster, incarnation: number) {
    this.#options = options;
    this.#incarnation = incarnation;
    this.#cluster = cluster;
    const { region, disk, onEvent, logger } = options;
    const host = options.host ?? NODE_HOST;
    this.#turns = new Turns(host);
    this.#peers = new Peers({
      host,
      self: this.#self,
      peers: options.peers,
      ...(options.token !== undefined && { token: options.token }),
      ...(options.tls && { tls: options.tls }),
      onReady: (other) => this.engine.linkReady(other),
      onLost: (other) => this.engine.linkLost(other),
    });
    this.engine = new Engine({
      region,
      host,
      disk,
      links: this.#peers,
      others: [...options.peers.keys()],
      ...(onEvent && { onEvent }),
    });
    this.agents = new AgentHost({
      region,
      cluster,
      host,
      ...(logger && { logger }),
      sendHint: (partitionSet, hint) => {
        for (const other of options.peers.keys())
          this.#peers.sendAny(other, { type: 'hint', partitionSet, hint });
      },
    });
  }

  static async start(options: RegionNodeOptions): Promise<RegionNode> {
    const { acceptors, node, intervalMs, acceptorToken, host } = options;
    const cluster = await openAgentCluster(
      { acceptors, proposer: node, ...(acceptorToken && { token: acceptorToken }), ...(host && { host }) },
      { intervalMs },
    );
    const started = new RegionNode(options, cluster, await nextLife(options.disk));
    await started.#listen();
    return started;
  }

  get address(): Address {
    return this.#listener!.address;
  }

  /** Brings a copy of a partition-set to life: its data, then its agent. */
  async add({ partitionSet, configuration, settings, trim }: PartitionSetOptions): Promise<EnginePartition> {
    const { consistency, staleness, priorities } = configuration;
    const level: Consistency = { level: consistency, ...(staleness && { staleness }) };
    const partition = this.engine.open({
      partitionSet,
      region: this.#options.region,
      regions: priorities,
      consistency: level,
      settings,
      limits: LIMITS,
      json: nodeJson,
      maxWaiting: MAX_WAITING,
      ...(trim && { trim }),
    });
    await this.agents.add({ partitionSet, driver: partition, configuration });
    return partition;
  }

  /** Moves the writes away first, as far as there is time. */
  async stop(withinMs: number): Promise<void> {
    await this.agents.stop(withinMs);
    await this.close();
  }

  /** Ends at once. */
  async close(): Promise<void> {
    this.agents.close();
    this.engine.close();
    await Promise.all([this.#listener?.close(), this.#peers.close()]);
    await this.#cluster.close();
  }

  get #self(): Identity {
    const { cluster, node, region } = this.#options;
    return { role: 'node', cluster, node, region, incarnation: this.#incarnation };
  }

  async #listen(): Promise<void> {
    const { listen, token, tls, host = NODE_HOST } = this.#options;
    this.#listener = await Listener.listen({
      host,
      address: listen,
      self: this.#self,
      token,
      tls,
      onConnection: (_, caller) => this.#handlersFor(caller),
    });
  }

  #handlersFor(caller: Caller): ConnectionHandlers {
    if (caller.role === 'node') {
      return { onMessage: (channel, payload) => this.#onPeerMessage(caller.region, channel, payload) };
    }
    return { onRequest: (method, payload) => this.#turns.take(() => this.#onRequest(method, payload)) };
  }

  #onPeerMessage(from: RegionName, channel: number, payload: Buffer): void {
    if (channel !== PEER_CHANNEL) return;
    const message = decodePeerMessage(payload);
    if (message.type === 'hint') this.agents.onHint(message.partitionSet, message.hint);
    else this.engine.onMessage(from, message);
  }

  async #onRequest(method: number, payload: Buffer): Promise<Payload> {
    if (method === METHODS.write) {
      const { partitionSet, timeoutMs, request } = decodeWrite(payload);
      const partition = this.engine.partition(partitionSet);
      return encodeWriteAnswer(await partition.write(request, Math.min(timeoutMs, LONGEST_MS)));
    }
    if (method === METHODS.read) {
      const { partitionSet, timeoutMs, partitionKey, id, level, session } = decodeRead(payload);
      const key = { epk: epkOf(partitionKey), id };
      const partition = this.engine.partition(partitionSet);
      const answer = await partition.read(
        { key, level, ...(session && { session }) },
        Math.min(timeoutMs, LONGEST_MS),
      );
      return encodeReadAnswer(answer);
    }
    throw new RpcError('METHOD_UNKNOWN', `There is no method ${method}.`);
  }
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
