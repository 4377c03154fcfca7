/**
 * The map of the account and how it is kept up to date: any node has it. It is fetched when the client is made, when a node does not
 * know a partition-set, when the account's record has changed, and now and then while it is used: nobody is refused because the
 * account's consistency level has been raised. Fetching is an operation like any other, over addresses instead of
 * regions: the same plan decides whom to ask next.
 */
import { BEGINNING } from '../../engine/index.ts';
import type { Host, Timer } from '../../protocol/index.ts';
import { type PlanSettings, RegionCache } from '../core/index.ts';
import type { AccountDirectory, AccountRecord } from '../discovery/index.ts';
import { METHODS } from '../wire/client-wire.ts';
import { type ClusterMap, decodeMap } from '../wire/map-wire.ts';
import { BatonError, batonError } from './errors.ts';
import type { Links } from './links.ts';
import { type AttemptCall, decoded, runPlan } from './running.ts';
import { problemOf, Topology } from './topology.ts';

export interface MapSourceOptions {
  readonly host: Host;
  readonly links: Links;
  /** Where to ask; with a directory, its addresses. */
  readonly seeds: readonly string[];
  readonly directory: AccountDirectory | undefined;
  readonly pacing: Partial<PlanSettings> | undefined;
}

/** DNS is not asked more often than that because regions cannot be reached. */
const LOOK_AGAIN_MS = 1000;
/** One look at the map takes no longer, however much time its cause has. */
const REFRESH_MS = 5000;
/** One that is used is no older than about this. */
const STALE_MS = 10_000;
const NOTHING = new Uint8Array();

type MapAnswer =
  | { readonly outcome: 'done'; readonly position: typeof BEGINNING; readonly map: ClusterMap }
  /** The node has an older one than is asked for. */
  | { readonly outcome: 'refused'; readonly code: 'MAP_OLDER' };

export class MapSource {
  readonly #options: MapSourceOptions;
  readonly #closing = new AbortController();
  #topology: Topology | undefined;
  /** When the look began that brought the map: everything that was said before is in it. */
  #askedAt = -Infinity;
  #fetching: Promise<void> | undefined;
  #lookedAt = -Infinity;
  #tendedAt = -Infinity;
  /** Told of the new and of the one before. */
  onChange: ((now: Topology, before: Topology) => void) | undefined;

  private constructor(options: MapSourceOptions) {
    this.#options = options;
    options.directory?.onChange(() => void this.#recordChanged());
  }

  /** Rejects with a BatonError when no node gives its map in time. */
  static async open(options: MapSourceOptions, timeoutMs: number): Promise<MapSource> {
    const source = new MapSource(options);
    await source.#fetch(options.host.now() + timeoutMs);
    return source;
  }

  get topology(): Topology {
    return this.#topology!;
  }

  /** Resolves when the map is not older than `since`. Rejects with a BatonError. */
  async refresh(since: number, deadlineAt: number): Promise<void> {
    const { host } = this.#options;
    while (this.#askedAt < since) {
      this.#fetching ??= this.#fetch(host.now() + REFRESH_MS).finally(() => {
        this.#fetching = undefined;
      });
      await untilDeadline(host, this.#fetching, deadlineAt);
    }
  }

  /** It is used: beside that it is fetched anew when it is old. */
  tend(): void {
    const now = this.#options.host.now();
    if (now - Math.max(this.#askedAt, this.#tendedAt) < STALE_MS) return;
    this.#tendedAt = now;
    this.refresh(now, now + REFRESH_MS).catch(() => {});
  }

  /** Resolves when the map has this version or a later one; nodes that have an older one are asked again. */
  async refreshTo(version: number, deadlineAt: number): Promise<void> {
    if (this.topology.map.version < version) await this.#fetch(deadlineAt, version);
  }

  /** Nobody could be reached: perhaps the account has moved. */
  lookAgain(): void {
    const { host, directory } = this.#options;
    if (directory === undefined || host.now() - this.#lookedAt < LOOK_AGAIN_MS) return;
    this.#lookedAt = host.now();
    directory.refresh().catch(() => {});
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#fetching?.catch(() => {});
  }

  async #recordChanged(): Promise<void> {
    if (this.#topology === undefined) return;
    this.#take(this.#topology.map);
    const now = this.#options.host.now();
    await this.refresh(now, now + REFRESH_MS).catch(() => {});
  }

  get #record(): AccountRecord | undefined {
    return this.#options.directory?.known;
  }

  get #addresses(): readonly string[] {
    const recorded = this.#record?.regions.flatMap(({ addresses }) => addresses) ?? [];
    return [...new Set([...recorded, ...(this.#topology?.addresses ?? []), ...this.#options.seeds])];
  }

  async #fetch(deadlineAtMs: number, atLeastVersion = 0): Promise<void> {
    const { host, links, pacing } = this.#options;
    const begunAt = host.now();
    const send = async ({ region: address, leftMs, signal, onSending }: AttemptCall): Promise<MapAnswer> => {
      const answer = await links
        .to(address)
        .call(METHODS.map, NOTHING, { timeoutMs: leftMs, signal, onSending });
      const map = decoded(goodMap, answer);
      if (map.version < atLeastVersion) return { outcome: 'refused', code: 'MAP_OLDER' };
      return { outcome: 'done', position: BEGINNING, map };
    };
    const { result, attempts } = await runPlan<MapAnswer>({
      host,
      cache: new RegionCache(this.#addresses),
      options: { partitionSet: '', kind: 'read', deadlineAtMs, ...(pacing && { settings: pacing }) },
      send,
      nodeIn: (address) => links.to(address).node,
      signals: [this.#closing.signal],
      onMapOutdated: () => {},
    });
    const diagnostics = { operation: 'connect', durationMs: host.now() - begunAt, attempts };
    if (!result.ok) throw batonError(result.error, { diagnostics });
    this.#askedAt = begunAt;
    this.#take(result.answer.map);
  }

  /** Of two maps the newer one counts. */
  #take(map: ClusterMap): void {
    const before = this.#topology;
    if (before !== undefined && map.version < before.map.version) return;
    const now = new Topology(map, this.#record);
    this.#topology = now;
    if (before === undefined) return;
    this.#options.links.keep(new Set([...this.#addresses, ...now.addresses]));
    this.onChange?.(now, before);
  }
}

function goodMap(payload: Buffer): ClusterMap {
  const map = decodeMap(payload);
  const problem = problemOf(map);
  if (problem !== undefined) throw new Error(problem);
  return map;
}

/** Others may wait for longer. */
function untilDeadline(host: Host, promise: Promise<void>, deadlineAt: number): Promise<void> {
  let timer: Timer | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = host.after(Math.max(0, deadlineAt - host.now()), () => reject(new BatonError('DEADLINE')));
  });
  return Promise.race([promise, late]).finally(() => host.cancel(timer));
}
