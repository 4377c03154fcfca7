/** `baton dns`: the zone of the accounts over UDP and TCP, on one port. */
import { createSocket, type RemoteInfo, type Socket as UdpSocket } from 'node:dgram';
import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { NODE_HOST } from '../../caspaxos/index.ts';
import type { AccountRecord } from '../../client/index.ts';
import type { Host } from '../../protocol/index.ts';
import { RpcError } from '../../transport/index.ts';
import { answer, type Transport } from './answer.ts';
import { type DnsCounters, type MutableCounters, newCounters } from './counters.ts';
import { TcpConnections, type TcpLimits } from './tcp-connections.ts';
import { Zone } from './zone.ts';

export interface DnsServerOptions {
  /** An IP address, or a name that stands for one. */
  readonly host: string;
  /** 0 picks a port that is free for both. */
  readonly port: number;
  readonly zone: string;
  /** Asked for every query: what it gives now is what is answered now. */
  readonly records: () => ReadonlyMap<string, AccountRecord>;
  readonly limits?: Partial<TcpLimits> | undefined;
  readonly clock?: Host | undefined;
}

const DEFAULT_LIMITS: TcpLimits = { maxConnections: 64, idleMs: 5000 };
/** Answers that wait for the network card; beyond that they are dropped, as the network itself would do. */
const MOST_UNSENT_BYTES = 1_048_576;
/** The system gives out a port for TCP; somebody may hold the same number for UDP. */
const PORT_ATTEMPTS = 20;

export class DnsServer {
  readonly #udp: UdpSocket;
  readonly #tcp: Server;
  readonly #connections: TcpConnections;
  readonly #zone: Zone;
  readonly #counters: MutableCounters = newCounters();

  /** Rejects with LISTEN_FAILED. */
  static async listen(options: DnsServerOptions): Promise<DnsServer> {
    const { address, family } = await addressOf(options.host);
    const zone = new Zone({ ...options, address });
    for (let attempt = 1; ; attempt += 1) {
      const tcp = createServer();
      const udp = createSocket(family === 6 ? 'udp6' : 'udp4');
      try {
        await once(tcp.listen(options.port, address), 'listening');
        udp.bind((tcp.address() as AddressInfo).port, address);
        await once(udp, 'listening');
        return new DnsServer(udp, tcp, zone, options);
      } catch (error) {
        tcp.close();
        udp.close();
        const isTaken = (error as NodeJS.ErrnoException).code === 'EADDRINUSE';
        if (isTaken && options.port === 0 && attempt < PORT_ATTEMPTS) continue;
        throw listenFailed(options, isTaken ? 'the port is taken' : (error as Error).message, error);
      }
    }
  }

  private constructor(udp: UdpSocket, tcp: Server, zone: Zone, { limits, clock }: DnsServerOptions) {
    this.#udp = udp;
    this.#tcp = tcp;
    this.#zone = zone;
    this.#connections = new TcpConnections(
      clock ?? NODE_HOST,
      { ...DEFAULT_LIMITS, ...limits },
      {
        answer: (message) => this.#answer(message, 'tcp'),
        onEnded: () => {
          this.#counters.connectionsEnded += 1;
        },
      },
    );
    udp.on('message', (message, from) => this.#onDatagram(message, from));
    udp.on('error', () => this.#drop());
    tcp.on('connection', (socket) => this.#connections.add(socket));
    tcp.on('error', () => this.#drop());
  }

  get address(): { readonly host: string; readonly port: number } {
    const { address, port } = this.#udp.address();
    return { host: address, port };
  }

  get zone(): string {
    return this.#zone.name;
  }

  get counters(): DnsCounters {
    const { answers, ...rest } = this.#counters;
    return { ...rest, answers: { ...answers }, connections: this.#connections.count };
  }

  async close(): Promise<void> {
    const closed = [once(this.#udp, 'close'), once(this.#tcp, 'close')];
    this.#udp.close();
    this.#tcp.close();
    this.#connections.destroyAll();
    await Promise.all(closed);
  }

  #onDatagram(message: Buffer, from: RemoteInfo): void {
    const bytes = this.#answer(message, 'udp');
    if (bytes === undefined) return;
    if (this.#udp.getSendQueueSize() > MOST_UNSENT_BYTES) {
      this.#drop();
      return;
    }
    this.#udp.send(bytes, from.port, from.address, (error) => {
      if (error !== null) this.#drop();
    });
  }

  #answer(message: Buffer, transport: Transport): Buffer | undefined {
    this.#counters[transport] += 1;
    const answered = answer(this.#zone, message, transport);
    if (answered === undefined) {
      this.#counters.ignored += 1;
      return undefined;
    }
    this.#counters.answers[answered.rcode] += 1;
    if (answered.isTruncated) this.#counters.truncated += 1;
    return answered.bytes;
  }

  #drop(): void {
    this.#counters.dropped += 1;
  }
}

async function addressOf(host: string): Promise<{ address: string; family: number }> {
  try {
    return await lookup(host);
  } catch (error) {
    throw listenFailed({ host, port: undefined }, 'there is no such host', error);
  }
}

function listenFailed(
  { host, port }: { host: string; port: number | undefined },
  why: string,
  cause: unknown,
): RpcError {
  const where = port === undefined ? host : `${host}:${port}`;
  return new RpcError('LISTEN_FAILED', `DNS cannot listen on ${where}: ${why}.`, { cause });
}
