/**
 * The catalogue, as the handlers want it. What concerns databases and containers themselves is read from the register every
 * time. What concerns documents is answered from what this process saw last, at most about a second old: it is read again
 * beside the requests, so that they go on while too few acceptors answer, and before them only when it lacks what is asked for.
 */
import type { Host } from '../../protocol/index.ts';
import type { Catalog, CatalogRegister, Edited } from '../catalog/index.ts';
import type { CatalogSource } from './context.ts';
import { catalogFailure } from './failures.ts';

export interface CachedCatalogOptions {
  readonly register: Pick<CatalogRegister, 'read' | 'change'>;
  readonly host: Pick<Host, 'now'>;
}

/** Older than this, it is read again. */
const FRESH_MS = 1000;
/** Older than this, requests wait for it. */
const OLD_MS = 10_000;
const READ_MS = 5000;
/** While it is only to be refreshed, an answer that comes late is of no use. */
const REFRESH_MS = 2000;
const CHANGE_MS = 10_000;

export class CachedCatalog implements CatalogSource {
  readonly #options: CachedCatalogOptions;
  #seen: { readonly catalog: Catalog; readonly atMs: number } | undefined;
  #refreshing: Promise<Catalog> | undefined;

  constructor(options: CachedCatalogOptions) {
    this.#options = options;
  }

  /** What was seen last, however old. */
  get last(): Catalog | undefined {
    return this.#seen?.catalog;
  }

  async read(): Promise<Catalog> {
    return this.#read(READ_MS);
  }

  async known(isMissing?: (catalog: Catalog) => boolean): Promise<Catalog> {
    const seen = this.#seen;
    if (seen === undefined) return this.#refresh();
    const age = this.#options.host.now() - seen.atMs;
    if (isMissing?.(seen.catalog) === true) return age <= 0 ? seen.catalog : this.#lookedFor(isMissing);
    if (age < FRESH_MS) return seen.catalog;
    const refreshed = this.#refresh().catch(() => seen.catalog);
    return age < OLD_MS ? seen.catalog : refreshed;
  }

  async change(edit: (catalog: Catalog) => Edited): Promise<Edited> {
    const startedAt = this.#options.host.now();
    try {
      const edited = await this.#options.register.change(edit, CHANGE_MS);
      if ('catalog' in edited) this.#saw(edited.catalog, startedAt);
      return edited;
    } catch (error) {
      throw catalogFailure(error);
    }
  }

  /** A reading that began before may have missed it: then the next one counts. There is one at a time, however many look. */
  async #lookedFor(isMissing: (catalog: Catalog) => boolean): Promise<Catalog> {
    const found = await this.#refreshing?.catch(() => undefined);
    return found !== undefined && !isMissing(found) ? found : this.#refresh();
  }

  #refresh(): Promise<Catalog> {
    this.#refreshing ??= this.#read(REFRESH_MS).finally(() => {
      this.#refreshing = undefined;
    });
    return this.#refreshing;
  }

  async #read(timeoutMs: number): Promise<Catalog> {
    const startedAt = this.#options.host.now();
    try {
      return this.#saw(await this.#options.register.read(timeoutMs), startedAt);
    } catch (error) {
      throw catalogFailure(error);
    }
  }

  /** Reads may overtake each other. */
  #saw(catalog: Catalog, atMs: number): Catalog {
    const seen = this.#seen;
    const isOlder =
      seen !== undefined && seen.catalog.since === catalog.since && seen.catalog.version > catalog.version;
    if (!isOlder) this.#seen = { catalog, atMs };
    return catalog;
  }
}
