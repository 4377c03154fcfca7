/** Three nodes in one process, each from the cluster's file as `baton node` would start it, on acceptors in memory. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { NODE_HOST } from 'baton/caspaxos';
import {
  type ClusterMap,
  decodeReadAnswer,
  decodeWriteAnswer,
  encodeRead,
  encodeWrite,
  METHODS,
  type NodeReadAnswer,
  type NodeWriteAnswer,
} from 'baton/client';
import { epkOf } from 'baton/engine';
import { type ClusterConfig, type DaemonOptions, freePort, NodeDaemon, parseClusterFile } from 'baton/server';
import { type Connection, dial } from 'baton/transport';
import { until } from '../support/until.ts';

export const REGIONS = ['west', 'east', 'north'] as const;
export type Region = (typeof REGIONS)[number];

/** Beats four times as often as `fast`, whose lease it has: what a test waits for comes sooner, and no lease is lost to a busy machine. */
const PROFILE = '{ intervalMs: 250, leaseMs: 3000, settleMs: 300 }';

/** For a hook that starts nodes: as long as `until` may look. */
export const START_MS = 180_000;

export interface FileOptions {
  readonly partitionSets?: number;
  readonly acceptors?: readonly string[];
  /** More lines for the file. */
  readonly more?: string;
}

export interface Ports {
  readonly rpc: Readonly<Record<string, number>>;
  readonly http: Readonly<Record<string, number>>;
}

export async function portsFor(names: readonly string[]): Promise<Ports> {
  const rpc: Record<string, number> = {};
  const http: Record<string, number> = {};
  for (const name of names) {
    rpc[name] = await freePort();
    http[name] = await freePort();
  }
  return { rpc, http };
}

export function clusterFile({ rpc, http }: Ports, options: FileOptions = {}): string {
  const { partitionSets = 2, acceptors = [], more = '' } = options;
  const lines = ['cluster: demo', `profile: ${PROFILE}`, 'regions:'];
  for (const region of REGIONS) {
    const [listen, web] = [`127.0.0.1:${rpc[region]}`, `127.0.0.1:${http[region]}`];
    lines.push(
      `  - name: ${region}`,
      `    nodes: [{ name: ${region}-1, listen: "${listen}", http: "${web}", data: ./${region}-1 }]`,
    );
  }
  lines.push('acceptors:', ...acceptors.map((line) => `  - ${line}`));
  lines.push('containers:', `  - { name: items, partitionKey: /id, partitionSets: ${partitionSets} }`, more);
  return `${lines.join('\n')}\n`;
}

export interface Answer {
  readonly status: number;
  readonly json: unknown;
}

/** A node has two seconds for a request; how long its answer takes to come is another matter. */
const CALL = { timeoutMs: 60_000 };
const SILENT = { debug() {}, info() {}, warn() {}, error() {} };
let clusters = 0;

export class Daemons {
  readonly directory = mkdtempSync(join(tmpdir(), 'baton-daemons-'));
  readonly ports: Ports;
  readonly path = join(this.directory, 'baton.yaml');
  readonly #acceptors: readonly string[];
  readonly #daemons = new Map<Region, NodeDaemon>();
  readonly #options: FileOptions;

  private constructor(ports: Ports, options: FileOptions) {
    this.ports = ports;
    this.#options = options;
    clusters += 1;
    this.#acceptors = ['a1', 'a2', 'a3'].map(
      (name) => `{ name: ${name}, url: "memory:daemons-${process.pid}-${clusters}-${name}" }`,
    );
    this.writeFile();
  }

  static async of(options: FileOptions = {}): Promise<Daemons> {
    return new Daemons(await portsFor(REGIONS), options);
  }

  static async running(options: FileOptions = {}): Promise<Daemons> {
    const daemons = await Daemons.of(options);
    try {
      for (const region of REGIONS) await daemons.start(region);
      await daemons.#untilReady();
      return daemons;
    } catch (error) {
      await daemons.end();
      throw error;
    }
  }

  async #untilReady(): Promise<void> {
    const isWell = async (region: Region, path: string): Promise<boolean> =>
      (await this.get(region, path)).status === 200;
    for (const region of REGIONS) await until(`${region} is ready`, () => isWell(region, '/readiness'));
    await until('the west writes', () => isWell('west', '/primary'));
  }

  writeFile(more?: string): void {
    const options = more === undefined ? this.#options : { ...this.#options, more };
    writeFileSync(this.path, clusterFile(this.ports, { acceptors: this.#acceptors, ...options }));
  }

  config(): ClusterConfig {
    return parseClusterFile(clusterFile(this.ports, { acceptors: this.#acceptors, ...this.#options }), {
      path: this.path,
    });
  }

  async start(region: Region, options: Partial<DaemonOptions> = {}): Promise<NodeDaemon> {
    const daemon = await NodeDaemon.start(this.config(), `${region}-1`, { logger: SILENT, ...options });
    this.#daemons.set(region, daemon);
    return daemon;
  }

  daemon(region: Region): NodeDaemon {
    return this.#daemons.get(region)!;
  }

  async stop(region: Region, withinMs = 5000): Promise<void> {
    const daemon = this.daemon(region);
    this.#daemons.delete(region);
    await daemon.stop(withinMs);
  }

  get(region: Region, path: string, headers: Record<string, string> = {}): Promise<Answer> {
    return ask(`http://127.0.0.1:${this.ports.http[region]}${path}`, { headers });
  }

  post(region: Region, path: string, body: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    return ask(`http://127.0.0.1:${this.ports.http[region]}${path}`, {
      method: 'POST',
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json', ...headers },
    });
  }

  /** A wish of an operator. */
  wish(region: Region, partitionSet: string, body: object): Promise<Answer> {
    const id = `wish-${Math.random().toString(36).slice(2)}`;
    return this.post(region, `/v1/partition-sets/${partitionSet}/intents`, { id, who: 'test', ...body });
  }

  client(region: Region, token?: string): Promise<RpcClient> {
    return RpcClient.to(this.ports.rpc[region]!, token === undefined ? {} : { token });
  }

  async end(): Promise<void> {
    await Promise.all([...this.#daemons.values()].map((daemon) => daemon.close()));
    rmSync(this.directory, { recursive: true, force: true });
  }
}

export async function ask(url: string, init: RequestInit = {}): Promise<Answer> {
  const response = await fetch(url, { ...init, signal: AbortSignal.timeout(60_000) });
  return { status: response.status, json: await response.json() };
}

export interface CallerOptions {
  readonly role?: 'client' | 'node';
  readonly node?: string;
  readonly region?: string;
  readonly token?: string;
}

/** What a client says, without the SDK. */
export class RpcClient {
  readonly connection: Connection;

  private constructor(connection: Connection) {
    this.connection = connection;
  }

  static async to(port: number, options: CallerOptions = {}): Promise<RpcClient> {
    const { role = 'client', node = 'c', region = 'c', token } = options;
    const self = { role, cluster: 'demo', node, region, incarnation: 1 };
    return new RpcClient(await dial({ host: NODE_HOST, address: { host: '127.0.0.1', port }, self, token }));
  }

  async put(partitionSet: string, id: string, value: unknown = 1): Promise<NodeWriteAnswer> {
    const body = Buffer.from(JSON.stringify({ id, value }));
    const request = { partitionKey: [id], operations: [{ op: 'upsert' as const, body }] };
    const payload = encodeWrite({ partitionSet, timeoutMs: 2000, request });
    return decodeWriteAnswer(await this.connection.call(METHODS.write, payload, CALL));
  }

  async get(partitionSet: string, id: string): Promise<NodeReadAnswer> {
    const read = { partitionSet, timeoutMs: 2000, partitionKey: [id], id, level: 'Strong' as const };
    return decodeReadAnswer(await this.connection.call(METHODS.read, encodeRead(read), CALL));
  }
}

/** Which partition-set of the first container holds that document. */
export function placeOf(map: ClusterMap, id: string): string {
  const epk = epkOf([id]);
  return map.containers[0]!.partitionSets.find(({ from, to }) => from <= epk && epk < to)!.name;
}
