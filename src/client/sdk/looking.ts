/**
 * Asking nodes how things stand, beside the operations. Every node can be had to look at the catalogue (`look`); and when the region that a
 * write must go to cannot be reached, the others are asked who can write the partition-set now (`WriterFinder`), so that whoever is
 * held at a door is sent away as soon as there is somewhere to go.
 */
import type { Host } from '../../protocol/index.ts';
import { RpcError } from '../../transport/index.ts';
import type { RegionCache } from '../core/index.ts';
import { METHODS } from '../wire/client-wire.ts';
import { decodeLookAnswer, encodeLook, type NodeLook, type Writable } from '../wire/look-wire.ts';
import type { Links } from './links.ts';
import { decoded } from './running.ts';
import type { Topology } from './topology.ts';

/** How a node sees the account's catalogue, after a look at it. */
export interface Looked {
  readonly node: string;
  readonly region: string;
  /** Of the catalogue that it knows. */
  readonly version: number;
  /** Of the partition-sets that were asked for, those that may be written there now. */
  readonly canWrite: readonly Writable[];
}

/** The node answers when its time is over: its answer needs a moment more. */
const SLACK_MS = 250;

export interface LookingOptions {
  readonly links: Links;
  readonly topology: Topology;
  readonly signal: AbortSignal;
}

/** Every node; who does not answer is left out. */
export async function lookEverywhere(call: NodeLook, options: LookingOptions): Promise<readonly Looked[]> {
  const looks = options.topology.map.regions.flatMap(({ name, nodes }) =>
    nodes.map((_, column) => look(name, column, call, options)),
  );
  return (await Promise.all(looks)).filter((looked) => looked !== undefined);
}

async function look(
  region: string,
  column: number,
  call: NodeLook,
  { links, topology, signal }: LookingOptions,
): Promise<Looked | undefined> {
  const place = topology.node(region, column);
  if (place === undefined) return undefined;
  const options = { timeoutMs: call.timeoutMs + SLACK_MS, signal, onSending: () => {} };
  try {
    const answer = await links.to(place.address).call(METHODS.look, encodeLook(call), options);
    return { node: place.name, region, ...decoded(decodeLookAnswer, answer) };
  } catch (error) {
    if (error instanceof RpcError) return undefined;
    throw error;
  }
}

export interface WriterFinderOptions {
  readonly host: Host;
  readonly cache: RegionCache;
  readonly looking: () => LookingOptions;
}

const PAUSE_MS = 100;
const PATIENCE_MS = 250;

/** What it finds goes into the cache, which wakes the writes that wait. One search at a time, for all partition-sets that are wanted. */
export class WriterFinder {
  readonly #options: WriterFinderOptions;
  readonly #wanted = new Set<string>();
  #isSearching = false;

  constructor(options: WriterFinderOptions) {
    this.#options = options;
  }

  want(partitionSet: string): void {
    this.#wanted.add(partitionSet);
    if (this.#isSearching) return;
    this.#isSearching = true;
    void this.#search();
  }

  async #search(): Promise<void> {
    const { host, cache, looking } = this.#options;
    while (this.#wanted.size > 0 && !looking().signal.aborted) {
      const partitionSets = [...this.#wanted];
      this.#wanted.clear();
      const found = await lookEverywhere({ version: 0, partitionSets, timeoutMs: PATIENCE_MS }, looking());
      for (const { region, canWrite } of found)
        for (const { partitionSet, gcn } of canWrite) cache.hinted(partitionSet, { region, gcn }, host.now());
      await new Promise<void>((resolve) => host.after(PAUSE_MS, resolve));
    }
    this.#isSearching = false;
  }
}
