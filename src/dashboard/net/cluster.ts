/**
 * The page's side of the cluster: one stream to every node of the map, so that the page lives on when the node that served it
 * does not, and requests to whichever node can answer.
 */
import type {
  AuditEntry,
  ClusterMap,
  Intent,
  KeptEntry,
  LocalOrder,
  SetDetail,
  StateChange,
} from '../api.ts';
import type { Model, NodeInfo } from '../state/model.ts';
import { ApiError, ask } from './http.ts';
import { NodeStream } from './stream.ts';

export interface ClusterUser {
  readonly model: Model;
  readonly token: string | undefined;
  /** Something came in; `tookMs` is how long it took to take it in. */
  readonly onChange: (tookMs: number) => void;
  readonly onRefused: (error: ApiError) => void;
}

const TICK_MS = 500;
const MAP_MS = 30_000;
/** A process that is started has to be ready before its order is done. */
const ORDER_MS = 30_000;
/** In front of what the page asks for on its own, so that the audit trail says where it came from. */
const WHO = 'page';

export class Cluster {
  readonly #user: ClusterUser;
  readonly #streams = new Map<string, NodeStream>();
  readonly #timers: number[] = [];

  constructor(user: ClusterUser) {
    this.#user = user;
  }

  /** Throws ApiError when the node that served the page does not tell its map. */
  async start(): Promise<void> {
    const map = await ask<ClusterMap>(`${location.origin}/v1/map`, { token: this.#user.token });
    const better = betterAddress(map);
    if (better !== undefined) {
      const token = this.#user.token;
      location.replace(`${better}/#${token === undefined ? '/' : `token=${encodeURIComponent(token)}`}`);
      return;
    }
    this.#use(map);
    this.#timers.push(
      window.setInterval(() => this.#tick(), TICK_MS),
      window.setInterval(() => void this.#refreshMap(), MAP_MS),
    );
  }

  stop(): void {
    for (const timer of this.#timers) clearInterval(timer);
    for (const stream of this.#streams.values()) stream.close();
    this.#streams.clear();
  }

  /** What the register holds, read now, by a node that has a copy; and what each copy measures. */
  async detail(name: string): Promise<{ readonly fresh: SetDetail; readonly copies: readonly SetDetail[] }> {
    const nodes = this.#holders(name);
    const path = `/v1/partition-sets?partitionSet=${encodeURIComponent(name)}`;
    const [fresh, ...copies] = await Promise.all([
      this.#any<{ partitionSets: SetDetail[] }>(nodes, `${path}&fresh=1`),
      ...nodes.map((node) => this.#ask<{ partitionSets: SetDetail[] }>(node, path).catch(() => undefined)),
    ]);
    return {
      fresh: fresh.partitionSets[0]!,
      copies: copies.flatMap((answer) => answer?.partitionSets ?? []),
    };
  }

  async history(name: string): Promise<readonly KeptEntry[]> {
    const path = `/v1/partition-sets/${encodeURIComponent(name)}/history`;
    return (await this.#any<{ history: KeptEntry[] }>(this.#holders(name), path)).history;
  }

  async tryIntent(name: string, intent: Intent, gcn: number): Promise<readonly StateChange[]> {
    const body = { intent, gcn, id: newId(), who: WHO, dryRun: true };
    return (await this.#intend<{ changes: StateChange[] }>(name, body)).changes;
  }

  async intend(name: string, intent: Intent, gcn: number): Promise<void> {
    await this.#intend(name, { intent, gcn, id: newId(), who: WHO });
  }

  #intend<T>(name: string, body: object): Promise<T> {
    const path = `/v1/partition-sets/${encodeURIComponent(name)}/intents`;
    return this.#any<T>(this.#holders(name), path, body);
  }

  /** Of all nodes that answer; the latest first. */
  async audit(): Promise<readonly (AuditEntry & { readonly node: string })[]> {
    const answers = await Promise.all(
      this.#live().map(async (node) => {
        const { audit } = await this.#ask<{ audit: AuditEntry[] }>(node, '/v1/audit?limit=200');
        return audit.map((entry) => ({ ...entry, node: node.name }));
      }),
    );
    return answers.flat().toSorted((a, b) => Date.parse(b.at) - Date.parse(a.at));
  }

  /** By a node that it is not about: one that is killed cannot answer. */
  async order(order: LocalOrder): Promise<void> {
    const isAbout = ({ name, region }: NodeInfo): boolean =>
      order.targets?.some((target) => target === name || target === region) === true;
    const nodes = this.#live().toSorted((a, b) => Number(isAbout(a)) - Number(isAbout(b)));
    await this.#any(nodes, '/v1/local/orders', { ...order, who: WHO }, ORDER_MS);
  }

  #live(): readonly NodeInfo[] {
    const { model } = this.#user;
    return [...model.nodes.values()].filter(({ name }) => model.fleet.linkOf(name) === 'live');
  }

  /** The nodes with a copy, the one that takes the writes first. */
  #holders(name: string): readonly NodeInfo[] {
    const { fleet, nodes } = this.#user.model;
    const set = fleet.find(name);
    if (set === undefined) return this.#live();
    const writer = set.nodes[set.writable];
    const holders = set.nodes.filter((node) => node !== undefined && fleet.linkOf(node) === 'live');
    return holders
      .toSorted((a, b) => Number(b === writer) - Number(a === writer))
      .map((node) => nodes.get(node!)!);
  }

  #ask<T>(node: NodeInfo, path: string, body?: unknown, timeoutMs?: number): Promise<T> {
    const { token } = this.#user;
    return ask<T>(`${node.url}${path}`, {
      token,
      ...(body !== undefined && { body }),
      ...(timeoutMs !== undefined && { timeoutMs }),
    });
  }

  /** The next one when a node cannot be reached; an answer, even a refusal, is an answer. */
  async #any<T>(nodes: readonly NodeInfo[], path: string, body?: unknown, timeoutMs?: number): Promise<T> {
    let last = new ApiError(0, 'UNREACHABLE', 'No node can be reached.');
    for (const node of nodes) {
      try {
        return await this.#ask<T>(node, path, body, timeoutMs);
      } catch (error) {
        if (!(error instanceof ApiError) || (error.status !== 0 && error.status !== 503)) throw error;
        last = error;
      }
    }
    throw last;
  }

  #use(map: ClusterMap): void {
    const { model } = this.#user;
    model.cluster = map.cluster;
    const fresh = map.regions.flatMap(({ name: region, nodes }) =>
      nodes.filter(({ name }) => !model.nodes.has(name)).map((node) => ({ ...node, region })),
    );
    for (const { name, region, http } of fresh) {
      if (http !== undefined) model.addNode(name, region, `${location.protocol}//${http}`);
    }
    for (const { name, http } of fresh) if (http !== undefined) this.#open(name);
  }

  #open(name: string): void {
    const { model, onChange, onRefused } = this.#user;
    const node = model.nodes.get(name)!;
    const stream = new NodeStream({
      url: node.url,
      token: () => this.#user.token,
      onEvent: (event) => {
        const began = performance.now();
        model.apply(name, event, Date.now());
        onChange(performance.now() - began);
      },
      onLost: (error) => {
        const wasLive = model.fleet.linkOf(name) === 'live';
        const isSilent = wasLive && model.isSilent(node, Date.now());
        model.lose(name, error.message, isSilent ? node.heardAt : Date.now());
        onChange(0);
        if (error.status === 401) onRefused(error);
      },
    });
    this.#streams.set(name, stream);
  }

  #tick(): void {
    const { model, onChange } = this.#user;
    const now = Date.now();
    for (const node of model.nodes.values()) {
      if (model.isSilent(node, now)) this.#streams.get(node.name)?.renew();
    }
    model.tick(now);
    onChange(0);
  }

  async #refreshMap(): Promise<void> {
    const map = await this.#any<ClusterMap>(this.#live(), '/v1/map').catch(() => undefined);
    if (map !== undefined) this.#use(map);
  }
}

/** Nodes allow each other's addresses as the file has them, and `localhost` is none of those. */
function betterAddress(map: ClusterMap): string | undefined {
  if (location.hostname !== 'localhost') return undefined;
  const addresses = map.regions.flatMap(({ nodes }) => nodes.flatMap(({ http }) => http ?? []));
  const same = addresses.find((http) => http === `127.0.0.1:${location.port}`);
  return addresses.includes(location.host) || same === undefined
    ? undefined
    : `${location.protocol}//${same}`;
}

function newId(): string {
  return `page-${Date.now().toString(36)}-${Math.random().toString(36).slice(2, 10)}`;
}
