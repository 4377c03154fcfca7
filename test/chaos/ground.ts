/** The cluster of a run, and what can be seen of it from outside: who writes what, and what became of it. */
import { randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { printableUrl } from 'baton/caspaxos';
import type { ConsistencyLevel, StalenessBound } from 'baton/check';
import type { ConnectOptions } from 'baton/client';
import { epkOf } from 'baton/engine';
import type { HistoryEntry } from 'baton/failover';
import { LocalCluster, nodesOf, partitionSetsOf, type PlacedNode } from 'baton/server';
import type { RpcTls } from 'baton/transport';
import type { StoreKind } from './schedule.ts';
import { type AcceptorStanding, isMissed, lackIn, type Told } from './standing.ts';
import type { Stores } from './stores.ts';

export const REGIONS = ['west', 'east', 'north'] as const;
const ACCEPTORS = 5;
/** Small, so that a run comes near it. */
export const STALENESS: StalenessBound = { versions: 500, ms: 5000 };
const ASK_MS = 2000;
/** When all is healed there is time: a slow answer is one. */
const HEALED_ASK_MS = 30_000;
const LOOK_MS = 150;

export interface GroundOptions {
  readonly consistency: ConsistencyLevel;
  readonly partitionSets: number;
  /** Whether links can be cut; needs root. */
  readonly namespaces: boolean;
  /** Acceptors that are no services of ours. */
  readonly stores?: Stores | undefined;
}

export interface View {
  readonly partitionSet: string;
  readonly gcn: number;
  readonly phase: string;
  readonly writeRegion: string | null;
  readonly leaseSet: readonly string[];
  readonly local: { readonly region: string; readonly canWrite: boolean } | null;
}

export interface LostWriteRow {
  readonly partitionSet: string;
  readonly epoch: number;
  readonly lsn: number;
  readonly closed?: string;
  readonly documents: readonly { readonly id: string; readonly body?: { readonly value?: string } }[];
}

export class Ground {
  readonly cluster: LocalCluster;
  readonly stores: Stores | undefined;
  /** Processes that ended, and nobody had asked for that. */
  readonly lost: string[];

  private constructor(cluster: LocalCluster, stores: Stores | undefined, lost: string[]) {
    this.cluster = cluster;
    this.stores = stores;
    this.lost = lost;
  }

  static async start({ consistency, partitionSets, namespaces, stores }: GroundOptions): Promise<Ground> {
    const directory = mkdtempSync(join(tmpdir(), 'baton-chaos-'));
    const urls = stores?.urls ?? [];
    if (consistency === 'BoundedStaleness') writeBoundedFile(directory, partitionSets, urls);
    const lost: string[] = [];
    const cluster = await LocalCluster.start({
      directory,
      portBase: 'free',
      regions: [...REGIONS],
      partitionSets,
      acceptors: ACCEPTORS - urls.length,
      ...(urls.length > 0 && { stores: urls }),
      profile: 'fast',
      consistency,
      namespaces,
      onEvent: (event) => {
        if (event.type === 'lost') lost.push(`${event.process} ended by itself (${event.how}): ${event.log}`);
      },
    });
    return new Ground(cluster, stores, lost);
  }

  get partitionSets(): readonly string[] {
    return partitionSetsOf(this.cluster.config).map(({ name }) => name);
  }

  get nodes(): readonly PlacedNode[] {
    return nodesOf(this.cluster.config);
  }

  /** Acceptors that are processes of the cluster. */
  get services(): string[] {
    return this.cluster.config.acceptors.flatMap(({ name, serve }) => (serve === undefined ? [] : [name]));
  }

  /** What people show to nodes that want a certificate. */
  get tls(): RpcTls | undefined {
    if (this.cluster.config.tls === undefined) return undefined;
    const read = (name: string): string => readFileSync(join(this.cluster.directory, 'certs', name), 'utf8');
    return { ca: read('ca.pem'), cert: read('operator.pem'), key: read('operator.key') };
  }

  connectOptions(preferredRegion: string): ConnectOptions {
    return { ...this.cluster.connectOptions, cacheDirectory: false, preferredRegion };
  }

  /** By partition-set: ids of documents that it owns. */
  documents(perSet: number): ReadonlyMap<string, readonly string[]> {
    const sets = partitionSetsOf(this.cluster.config);
    const found = new Map(sets.map(({ name }): [string, string[]] => [name, []]));
    for (let number = 0; [...found.values()].some(({ length }) => length < perSet); number += 1) {
      const id = `d${number}`;
      const epk = epkOf([id]);
      const ids = found.get(sets.find(({ from, to }) => epk >= from && epk < to)!.name)!;
      if (ids.length < perSet) ids.push(id);
    }
    return found;
  }

  /** What the nodes say that answer; of each partition-set the view with the highest GCN, its writer's if there is one. */
  async views(): Promise<ReadonlyMap<string, View>> {
    const merged = new Map<string, View>();
    const answers = await Promise.all(
      this.nodes.map((node) =>
        this.#ask<{ partitionSets: readonly View[] }>(node, '/v1/partition-sets').catch(() => undefined),
      ),
    );
    for (const view of answers.flatMap((answer) => answer?.partitionSets ?? [])) {
      const known = merged.get(view.partitionSet);
      const isNewer = known === undefined || view.gcn > known.gcn;
      const isWriters = known?.gcn === view.gcn && view.local?.region === view.writeRegion;
      if (isNewer || isWriters) merged.set(view.partitionSet, view);
    }
    return merged;
  }

  /** Every process runs, every link is whole, every store is there. Nodes start without the store that is still away. */
  async heal(): Promise<void> {
    await this.cluster.heal();
    await this.stores?.bringBack();
  }

  /** What every node that answers says of the acceptors. */
  async acceptorsTold(): Promise<Told> {
    const answers = await Promise.all(
      this.nodes.map(async (node) => {
        const path = '/v1/node';
        const about = this.#ask<{ acceptors: readonly AcceptorStanding[] }>(node, path);
        const told = await about.catch(() => undefined);
        return told === undefined ? [] : [[node.name, told.acceptors] as const];
      }),
    );
    return new Map(answers.flat());
  }

  /** Until all nodes miss that store; false if they do not. */
  async misses(store: StoreKind, withinMs: number): Promise<boolean> {
    const url = printableUrl(this.stores!.urlOf(store));
    const until = performance.now() + withinMs;
    for (;;) {
      if (isMissed(await this.acceptorsTold(), url)) return true;
      if (performance.now() > until) return false;
      await sleep(LOOK_MS);
    }
  }

  /**
   * Until every partition-set takes writes with all regions in its lease set, and every node works with every store. Undefined
   * if it does; else what is lacking.
   */
  async calm(withinMs: number): Promise<string | undefined> {
    const until = performance.now() + withinMs;
    return (await this.#setsCalm(until, withinMs)) ?? (this.stores && (await this.#storesCalm(until)));
  }

  async #storesCalm(until: number): Promise<string | undefined> {
    for (;;) {
      const told = await this.acceptorsTold();
      const lack = lackIn(told);
      if (lack === undefined && told.size === this.nodes.length) return undefined;
      if (lack?.isForGood === true || performance.now() > until) return lack?.what ?? 'some node is silent';
      await sleep(LOOK_MS);
    }
  }

  async #setsCalm(until: number, withinMs: number): Promise<string | undefined> {
    for (;;) {
      const views = await this.views();
      const lacking = this.partitionSets.filter((name) => !isCalm(views.get(name)));
      if (lacking.length === 0) return undefined;
      if (performance.now() > until) {
        const shown = lacking.slice(0, 3).map((name) => JSON.stringify(brief(views.get(name), name)));
        return `${lacking.length} partition-sets are not well after ${withinMs} ms: ${shown.join(', ')}`;
      }
      await sleep(LOOK_MS);
    }
  }

  /** Until every partition-set is written in another region. */
  async left(region: string, withinMs: number): Promise<void> {
    const others = REGIONS.filter((one) => one !== region);
    await this.cluster.waitForWriters(others, withinMs);
  }

  /** The region that writes most of them. */
  async writer(): Promise<string> {
    const counts = new Map<string, number>();
    for (const { writeRegion } of (await this.views()).values())
      if (writeRegion !== null) counts.set(writeRegion, (counts.get(writeRegion) ?? 0) + 1);
    const [most] = [...counts].toSorted((a, b) => b[1] - a[1]);
    return most?.[0] ?? REGIONS[0];
  }

  /** Posts it for a partition-set, to any node that takes it. */
  async wish(partitionSet: string, intent: object): Promise<void> {
    const body = JSON.stringify({ intent, id: randomUUID(), who: 'chaos' });
    let why = 'nobody answers';
    for (const node of this.nodes) {
      try {
        await this.#ask(node, `/v1/partition-sets/${partitionSet}/intents`, { body });
        return;
      } catch (error) {
        why = (error as Error).message;
      }
    }
    throw new Error(`The wish ${JSON.stringify(intent)} for ${partitionSet} was not taken: ${why}`);
  }

  /** What the nodes remember of each partition-set. */
  async histories(): Promise<readonly { readonly partitionSet: string; readonly entry: HistoryEntry }[]> {
    const asked = this.nodes.flatMap((node) =>
      this.partitionSets.map(async (partitionSet) => {
        const path = `/v1/partition-sets/${partitionSet}/history`;
        const answer = await this.#ask<{ history: readonly HistoryEntry[] }>(node, path).catch(
          () => undefined,
        );
        return (answer?.history ?? []).map((entry) => ({ partitionSet, entry }));
      }),
    );
    return (await Promise.all(asked)).flat();
  }

  async lostWrites(node: PlacedNode, partitionSet: string): Promise<readonly LostWriteRow[]> {
    const path = `/v1/lost-writes?partitionSet=${partitionSet}`;
    const answer = await this.#ask<{ lostWrites: readonly LostWriteRow[]; hasMore: boolean }>(node, path, {
      withinMs: HEALED_ASK_MS,
    });
    if (answer.hasMore)
      throw new Error(`${node.name} has more lost writes of ${partitionSet} than it lists.`);
    return answer.lostWrites;
  }

  #ask<T>(
    node: PlacedNode,
    path: string,
    { body, withinMs = ASK_MS }: { readonly body?: string; readonly withinMs?: number } = {},
  ): Promise<T> {
    const { host, port } = node.http!;
    const tls = this.tls;
    return new Promise((resolve, reject) => {
      const options = {
        host,
        port,
        path,
        agent: false,
        method: body === undefined ? 'GET' : 'POST',
        headers: {
          authorization: `Bearer ${this.cluster.operatorToken}`,
          ...(body !== undefined && { 'content-type': 'application/json' }),
        },
        signal: AbortSignal.timeout(withinMs),
      };
      const request = tls === undefined ? httpRequest(options) : httpsRequest({ ...options, ...tls });
      request.on('error', reject);
      request.on('response', (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (bytes: Buffer) => chunks.push(bytes));
        response.on('error', reject);
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString('utf8');
          if (response.statusCode === 200) resolve(JSON.parse(text) as T);
          else reject(new Error(`${node.name} says ${response.statusCode}: ${text}`));
        });
      });
      request.end(body);
    });
  }
}

function isCalm(view: View | undefined): boolean {
  return (
    view?.phase === 'Steady' &&
    view.leaseSet.length === REGIONS.length &&
    view.local?.region === view.writeRegion &&
    view.local.canWrite
  );
}

function brief(view: View | undefined, name: string): object {
  if (view === undefined) return { partitionSet: name, says: 'nobody' };
  const { gcn, phase, writeRegion, leaseSet, local } = view;
  return { partitionSet: name, gcn, phase, writeRegion, leaseSet, canWrite: local?.canWrite };
}

/** A local cluster takes the file that it finds; addresses are settled when it starts. */
function writeBoundedFile(directory: string, partitionSets: number, stores: readonly string[]): void {
  const { versions, ms } = STALENESS;
  const node = (region: string, at: number): string =>
    `  - { name: ${region}, nodes: [{ name: ${region}-1, listen: "127.0.0.1:${4101 + at}", http: "127.0.0.1:${4201 + at}", data: ./${region}-1 }] }`;
  const acceptor = (at: number): string =>
    `  - { name: a${at + 1}, url: "http://127.0.0.1:${4001 + at}", data: ./a${at + 1} }`;
  mkdirSync(directory, { recursive: true });
  const lines = [
    'cluster: demo',
    `account: { name: demo, consistency: BoundedStaleness, staleness: { versions: ${versions}, ms: ${ms} }, minimumDurability: 2 }`,
    'profile: fast',
    'regions:',
    ...REGIONS.map(node),
    'acceptors:',
    ...stores.map((url, at) => `  - { name: s${at + 1}, url: "${url}" }`),
    ...Array.from({ length: ACCEPTORS - stores.length }, (_, at) => acceptor(at)),
    'containers:',
    `  - { name: items, partitionKey: /id, partitionSets: ${partitionSets} }`,
    '',
  ];
  writeFileSync(join(directory, 'baton.yaml'), lines.join('\n'));
}
