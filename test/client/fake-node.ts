/**
 * Nodes that answer as a test says: one for each region of an account, on loopback, gone when their test is over. What is not
 * said is refused as by a region that does not write.
 */
import { NODE_HOST } from 'baton/caspaxos';
import {
  type ClusterMap,
  decodeLook,
  decodeRead,
  decodeWrite,
  encodeLookAnswer,
  encodeMap,
  encodeReadAnswer,
  encodeWriteAnswer,
  METHODS,
  type NodeLook,
  type NodeReadAnswer,
  type Writable,
  type NodeWriteAnswer,
} from 'baton/client';
import { epkRanges, type ReadLevel } from 'baton/engine';
import { freePort } from 'baton/server';
import { type Connection, Listener, type Payload, type RequestContext, type RpcTls } from 'baton/transport';
import { onTestFinished } from 'vitest';

export const NEVER = new Promise<never>(() => {});

/**
 * For a client that is not to take a node for silent because the machine is busy: it waits for half of the time that the operation has.
 * Tests of silence do without.
 */
export const PATIENT = { firstPatienceMs: 600_000, leastPatienceMs: 600_000, mostPatienceMs: 600_000 };

export interface Script {
  write?: (request: ReturnType<typeof decodeWrite>, context: RequestContext) => Promised<NodeWriteAnswer>;
  read?: (request: ReturnType<typeof decodeRead>, context: RequestContext) => Promised<NodeReadAnswer>;
  map?: () => Promised<ClusterMap>;
  /** Which of these can be written there. */
  look?: (look: NodeLook) => Promised<readonly Writable[]>;
  /** Instead of all others. */
  any?: (method: number, payload: Buffer) => Promised<Payload>;
}
type Promised<T> = T | Promise<T>;

export interface FakeAccountOptions {
  readonly regions?: readonly string[];
  readonly consistency?: ReadLevel;
  readonly partitionKey?: string;
  readonly partitionSets?: number;
  readonly token?: string;
  readonly cluster?: string;
  readonly tls?: RpcTls;
}

export class FakeNode {
  readonly region: string;
  readonly address: string;
  script: Script;
  /** The numbers of the methods that were called. */
  readonly calls: number[] = [];
  readonly connections: Connection[] = [];
  readonly listener: Listener;
  readonly #account: FakeAccount;

  constructor(account: FakeAccount, region: string, address: string, listener: Listener) {
    this.#account = account;
    this.region = region;
    this.address = address;
    this.listener = listener;
    this.script = {};
  }

  count(method: keyof typeof METHODS): number {
    return this.calls.filter((one) => one === METHODS[method]).length;
  }

  async answer(method: number, payload: Buffer, context: RequestContext): Promise<Payload> {
    this.calls.push(method);
    const { write, read, map, look, any } = this.script;
    if (any !== undefined) return any(method, payload);
    switch (method) {
      case METHODS.map:
        return encodeMap(await (map?.() ?? this.#account.map));
      case METHODS.write:
        return encodeWriteAnswer(
          (await write?.(decodeWrite(payload), context)) ?? { outcome: 'refused', code: 'NOT_WRITER' },
        );
      case METHODS.read:
        return encodeReadAnswer(
          (await read?.(decodeRead(payload), context)) ?? { outcome: 'refused', code: 'NOT_READY' },
        );
      case METHODS.look:
        return encodeLookAnswer({ version: 1, canWrite: (await look?.(decodeLook(payload))) ?? [] });
      default:
        throw new Error(`method ${method} is not scripted`);
    }
  }

  async stop(): Promise<void> {
    for (const connection of this.connections) connection.destroy();
    await this.listener.close();
  }
}

export class FakeAccount {
  readonly nodes = new Map<string, FakeNode>();
  map: ClusterMap;

  private constructor(map: ClusterMap) {
    this.map = map;
  }

  static async start(options: FakeAccountOptions = {}): Promise<FakeAccount> {
    const { regions = ['west', 'east', 'north'], cluster = 'shop', token, tls } = options;
    const ports = new Map<string, number>();
    for (const region of regions) ports.set(region, await freePort());
    const account = new FakeAccount(mapOf(options, ports));
    for (const [region, port] of ports) {
      const listener = await Listener.listen({
        host: NODE_HOST,
        address: { host: '127.0.0.1', port },
        self: { role: 'node', cluster, node: `${region}-1`, region, incarnation: 1 },
        token,
        tls,
        onConnection: (connection) => {
          node.connections.push(connection);
          return { onRequest: (method, payload, context) => node.answer(method, payload, context) };
        },
      });
      const node: FakeNode = new FakeNode(account, region, `127.0.0.1:${port}`, listener);
      account.nodes.set(region, node);
    }
    onTestFinished(async () => {
      await Promise.all([...account.nodes.values()].map((node) => node.stop()));
    });
    return account;
  }

  node(region: string): FakeNode {
    return this.nodes.get(region)!;
  }

  get endpoints(): readonly string[] {
    return [...this.nodes.values()].map(({ address }) => address);
  }

  /** The partition-sets get other names. */
  rename(prefix: string): void {
    const containers = this.map.containers.map((container) => ({
      ...container,
      partitionSets: container.partitionSets.map((set, at) => ({ ...set, name: `${prefix}-${at}` })),
    }));
    this.map = { ...this.map, version: this.map.version + 1, containers };
  }
}

function mapOf(options: FakeAccountOptions, ports: ReadonlyMap<string, number>): ClusterMap {
  const { consistency = 'Strong', partitionKey = '/id', partitionSets = 2, cluster = 'shop' } = options;
  return {
    version: 1,
    cluster,
    account: { name: 'shop', consistency },
    regions: [...ports].map(([name, port]) => ({
      name,
      nodes: [{ name: `${name}-1`, address: `127.0.0.1:${port}` }],
    })),
    containers: [
      {
        name: 'items',
        rid: 'AAAAAYAAAAI=',
        partitionKey: [partitionKey],
        partitionSets: epkRanges(partitionSets).map(({ min, max }, at) => ({
          name: `items-${at}`,
          rangeId: String(at + 1),
          from: min,
          to: max,
          column: 0,
        })),
      },
    ],
  };
}

let lsn = 0;

/** A write that was carried out. */
export function done(status = 201): NodeWriteAnswer {
  lsn += 1;
  return { outcome: 'done', results: [{ status }], position: { epoch: 2 ** 20, lsn } };
}

/** A read that found this. */
export function found(id: string, body: object = { id }): NodeReadAnswer {
  const position = { epoch: 2 ** 20, lsn: 7 };
  const version = {
    epk: '00',
    id,
    partitionKey: JSON.stringify([id]),
    body: Buffer.from(JSON.stringify(body)),
    createdLsn: 7,
    previous: 0,
    at: 1_700_000_000_000,
    ...position,
  };
  return { outcome: 'done', version, position };
}
