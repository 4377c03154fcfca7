/**
 * The links of a node to the other regions' nodes, as its engine and agents see them. A link that is full takes nothing more
 * until it has drained; what is handed to it in between waits here, and the engine, which is told that it cannot send, hands
 * over no more entries.
 */
import type { EngineLinks, NodeMessage, RegionName } from '../../engine/index.ts';
import type { Host } from '../../protocol/index.ts';
import {
  type Address,
  type CallOptions,
  type Identity,
  type Payload,
  PeerLink,
  RpcError,
  type RpcTls,
} from '../../transport/index.ts';
import { encodePeerMessage, type PeerMessage } from './node-wire.ts';

export const PEER_CHANNEL = 1;
/** Messages that wait for a full link; beyond it the connection is of no use and is made anew. */
const MAX_WAITING = 10_000;

export interface PeersOptions {
  readonly host: Host;
  readonly self: Identity;
  /** Both are asked for anew whenever a link is made. */
  readonly token: () => string | undefined;
  readonly tls: () => RpcTls | undefined;
  /** The node of each other region, and where it is. */
  readonly peers: ReadonlyMap<RegionName, { readonly node: string; readonly address: Address }>;
  readonly onReady: (region: RegionName) => void;
  readonly onLost: (region: RegionName) => void;
}

export interface PeerStanding {
  readonly region: RegionName;
  readonly node: string;
  readonly isUp: boolean;
  readonly rttMs: number | undefined;
  readonly queuedBytes: number;
}

interface Peer {
  readonly link: PeerLink;
  isFull: boolean;
  waiting: Payload[];
}

export class Peers implements EngineLinks {
  readonly #options: PeersOptions;
  readonly #peers = new Map<RegionName, Peer>();

  constructor(options: PeersOptions) {
    this.#options = options;
    const { host, self } = options;
    for (const [region, { node, address }] of options.peers) {
      const link = new PeerLink({
        host,
        self,
        node,
        get token() {
          return options.token();
        },
        get tls() {
          return options.tls();
        },
        address: () => address,
        onUp: () => host.soon(() => options.onReady(region)),
        onDown: () => this.#onDown(region),
        onDrained: () => this.#onDrained(region),
      });
      this.#peers.set(region, { link, isFull: false, waiting: [] });
    }
  }

  canSend(to: RegionName): boolean {
    const peer = this.#peers.get(to);
    return peer !== undefined && peer.link.isUp && !peer.isFull;
  }

  send(to: RegionName, message: NodeMessage): void {
    this.sendAny(to, message);
  }

  sendAny(to: RegionName, message: PeerMessage): void {
    const peer = this.#peers.get(to);
    if (peer === undefined || !peer.link.isUp) return;
    const payload = encodePeerMessage(message);
    if (peer.isFull) this.#wait(peer, payload);
    else if (peer.link.send(PEER_CHANNEL, payload) === 'full') {
      peer.isFull = true;
      this.#wait(peer, payload);
    }
  }

  /** Asks that region's node as a client would. Rejects with an RpcError. */
  call(to: RegionName, method: number, payload: Payload, options: CallOptions): Promise<Buffer> {
    const peer = this.#peers.get(to);
    if (peer !== undefined) return peer.link.call(method, payload, options);
    return Promise.reject(new RpcError('UNREACHABLE', `There is no link to region ${to}.`));
  }

  /** How the links are. */
  get standings(): readonly PeerStanding[] {
    return [...this.#peers].map(([region, { link }]) => ({
      region,
      node: link.node,
      isUp: link.isUp,
      rttMs: link.connection?.rttMs,
      queuedBytes: link.connection?.queuedBytes ?? 0,
    }));
  }

  async close(): Promise<void> {
    await Promise.all([...this.#peers.values()].map(({ link }) => link.close()));
  }

  #wait(peer: Peer, payload: Payload): void {
    peer.waiting.push(payload);
    if (peer.waiting.length > MAX_WAITING) peer.link.connection?.destroy();
  }

  #onDrained(region: RegionName): void {
    const peer = this.#peers.get(region)!;
    peer.isFull = false;
    while (peer.waiting.length > 0) {
      if (peer.link.send(PEER_CHANNEL, peer.waiting[0]!) === 'full') {
        peer.isFull = true;
        return;
      }
      peer.waiting.shift();
    }
    this.#options.onReady(region);
  }

  #onDown(region: RegionName): void {
    const peer = this.#peers.get(region)!;
    peer.isFull = false;
    peer.waiting = [];
    this.#options.onLost(region);
  }
}
