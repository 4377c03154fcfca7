/**
 * The clusters of a run, and what was chosen in each. Mostly there is one. Where first starts overlap in an acceptor there may be
 * two, and they have the acceptor, the registers' names and the network in common, but no value.
 *
 * An acceptor belongs to the cluster that its identity document names. What is written to its registers counts for that cluster, and
 * may hold nothing but operations that were begun in it.
 */
import type { Configuration } from '../../caspaxos/index.ts';
import { Ancestry, contentOf } from './ancestry.ts';
import type { RecordedOperation } from './history.ts';
import { IDENTITY_KEY, REGISTER_KEYS } from './store-server.ts';

export class Lineages {
  readonly #urls: readonly string[];
  readonly #isOurs: (key: string) => boolean;
  readonly #ancestries = new Map<string, Ancestry>();
  /** To which cluster an acceptor belongs, by its index. */
  readonly #clusters = new Map<number, string>();
  #stray: string | undefined;

  /** See `Ancestry`. */
  constructor(urls: readonly string[], isOurs: (key: string) => boolean) {
    this.#urls = urls;
    this.#isOurs = isOurs;
  }

  /** A document became durable on that acceptor's disk. */
  onDurable(acceptor: number, document: string, text: string): void {
    if (document === IDENTITY_KEY) this.#onIdentity(acceptor, text);
    const cluster = this.#clusters.get(acceptor);
    if (cluster !== undefined) this.of(cluster).onDurable(acceptor, document, text);
    else if (document.startsWith(REGISTER_KEYS))
      this.#stray ??= `${document} was written to ${this.#urls[acceptor]}, which belongs to no cluster`;
  }

  /** Another disk stands in the place of that acceptor's: see `Ancestry`. */
  onRolledBack(acceptor: number, copy: ReadonlyMap<string, string>): void {
    const identity = copy.get(IDENTITY_KEY);
    if (identity !== undefined) this.#onIdentity(acceptor, identity);
    for (const ancestry of this.#ancestries.values()) ancestry.onRolledBack(acceptor, copy);
  }

  of(cluster: string): Ancestry {
    const known = this.#ancestries.get(cluster) ?? new Ancestry(this.#urls, this.#isOurs);
    this.#ancestries.set(cluster, known);
    return known;
  }

  /** In words, where something of one cluster is in another. */
  mixture(operations: readonly RecordedOperation[]): string | undefined {
    if (this.#stray !== undefined) return this.#stray;
    const begunIn = new Map(operations.map(({ name, cluster }) => [name, cluster]));
    const seenIn = new Map(
      [...this.#ancestries].map(([cluster, ancestry]) => [cluster, ancestry.operations()]),
    );
    for (const { cluster, calls } of operations)
      for (const name of calls.flatMap(({ value = [] }) => value)) seenIn.get(cluster)?.add(name);
    for (const [cluster, names] of seenIn) {
      const alien = [...names].find((name) => begunIn.get(name) !== cluster);
      if (alien !== undefined)
        return `${alien} was begun in cluster ${begunIn.get(alien)} and is in a value of cluster ${cluster}`;
    }
    return undefined;
  }

  #onIdentity(acceptor: number, text: string): void {
    const identity = contentOf<{ configuration?: Configuration }>(text);
    if (identity === undefined) return;
    const cluster = identity.configuration?.cluster;
    if (cluster === undefined) this.#clusters.delete(acceptor);
    else this.#clusters.set(acceptor, cluster);
  }
}
