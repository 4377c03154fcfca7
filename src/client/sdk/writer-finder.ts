/**
 * Who can write now? A write that found no writer in any region waits; when a region has died, thousands wait at the same time.
 * If each of them asked again and again, the regions that have to elect new writers would be busy with saying no. So one search is made
 * for all of them: each node is asked which of the wanted partition-sets can be written there, in one small request, again and
 * again as long as somebody waits. What is found goes into the cache, which wakes the writes that wait for it.
 *
 * Each node is asked in a loop of its own, so that one that is silent holds up nobody.
 */
import type { Host, Timer } from '../../protocol/index.ts';
import type { RegionCache } from '../core/index.ts';
import { look, type LookingOptions } from './looking.ts';

export interface WriterFinderOptions {
  readonly host: Host;
  readonly cache: RegionCache;
  readonly looking: () => LookingOptions;
}

/** Between two questions to one node. */
const PAUSE_MS = 100;
/** For an answer: it is there at once, but the node may be far away, or busy. */
const PATIENCE_MS = 1000;

interface Wanted {
  /** Which of a region's nodes has the partition-set. */
  readonly column: number;
  /** Somebody waits until then. */
  readonly until: number;
}

export class WriterFinder {
  readonly #options: WriterFinderOptions;
  readonly #wanted = new Map<string, Wanted>();
  /** The nodes that are being asked; those that are between two questions, with the time of the next one. */
  readonly #asked = new Map<string, Timer | undefined>();
  #isClosed = false;

  constructor(options: WriterFinderOptions) {
    this.#options = options;
  }

  want(partitionSet: string, column: number, withinMs: number): void {
    const until = this.#options.host.now() + withinMs;
    if (until > (this.#wanted.get(partitionSet)?.until ?? 0))
      this.#wanted.set(partitionSet, { column, until });
    for (const region of this.#options.looking().topology.regions) {
      if (!this.#asked.has(nameOf(region, column))) void this.#ask(region, column);
    }
  }

  close(): void {
    this.#isClosed = true;
    for (const timer of this.#asked.values()) this.#options.host.cancel(timer);
    this.#asked.clear();
  }

  async #ask(region: string, column: number): Promise<void> {
    const { host, cache, looking } = this.#options;
    const node = nameOf(region, column);
    const partitionSets = this.#wantedIn(column);
    if (partitionSets.length === 0 || this.#isClosed) {
      this.#asked.delete(node);
      return;
    }
    this.#asked.set(node, undefined);
    const call = { version: 0, partitionSets, timeoutMs: 0 };
    const looked = await look({ region, column }, call, { ...looking(), patienceMs: PATIENCE_MS });
    for (const { partitionSet, gcn } of looked?.canWrite ?? []) {
      this.#wanted.delete(partitionSet);
      cache.found(partitionSet, { region, gcn }, host.now());
    }
    if (this.#isClosed) return;
    this.#asked.set(
      node,
      host.after(PAUSE_MS, () => void this.#ask(region, column)),
    );
  }

  #wantedIn(column: number): readonly string[] {
    const now = this.#options.host.now();
    const found: string[] = [];
    for (const [partitionSet, wanted] of this.#wanted) {
      if (wanted.until < now) this.#wanted.delete(partitionSet);
      else if (wanted.column === column) found.push(partitionSet);
    }
    return found;
  }
}

function nameOf(region: string, column: number): string {
  return `${region} ${column}`;
}
