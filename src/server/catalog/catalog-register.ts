/**
 * The register that holds the catalogue. Whoever reads it first makes it, from the cluster file; of several that try, one wins
 * and the others find what it made.
 */
import { randomBytes } from 'node:crypto';
import { type Cluster, reject } from '../../caspaxos/index.ts';
import { type Catalog, CATALOG_KEY, parseCatalog } from './catalog.ts';
import type { Edited } from './edits.ts';
import { CatalogError } from './errors.ts';
import { marked } from './marks.ts';

export interface CatalogRegisterOptions {
  readonly cluster: Pick<Cluster, 'read' | 'change'>;
  /** What a new account begins with. */
  readonly first: () => Catalog;
}

export class CatalogRegister {
  readonly #options: CatalogRegisterOptions;
  #known: Catalog | undefined;

  constructor(options: CatalogRegisterOptions) {
    this.#options = options;
  }

  /** The newest that this process has seen. */
  get known(): Catalog | undefined {
    return this.#known;
  }

  /** As new as every change that was made before the call. Rejects with a CatalogError. */
  async read(timeoutMs?: number): Promise<Catalog> {
    let value: unknown;
    try {
      ({ value } = await this.#options.cluster.read(CATALOG_KEY, { timeoutMs }));
    } catch (error) {
      throw new CatalogError('CATALOG_UNREACHABLE', messageOf(error), error);
    }
    const catalog = parseCatalog(value);
    if (catalog !== undefined) return this.#learn(catalog);
    const made = await this.change((first) => ({ catalog: first }), timeoutMs);
    if ('catalog' in made) return made.catalog;
    throw new CatalogError('CATALOG_UNREACHABLE', made.refusal.message);
  }

  /** `edit` is pure: it may run many times. Rejects with a CatalogError when it could not be done, or nobody knows whether it was. */
  async change(edit: (catalog: Catalog) => Edited, timeoutMs?: number): Promise<Edited> {
    const { cluster, first } = this.#options;
    let edited: Edited | undefined;
    let damage: unknown;
    const mark = randomBytes(6).toString('base64url');
    const outcome = await cluster.change<unknown>(
      CATALOG_KEY,
      (value) => {
        edited = undefined;
        damage = undefined;
        try {
          const before = parseCatalog(value);
          edited = edit(before ?? first());
          if ('catalog' in edited) edited = { catalog: marked(before, edited.catalog, mark) };
        } catch (error) {
          damage = error;
          throw error;
        }
        return 'catalog' in edited ? edited.catalog : reject(edited.refusal.message);
      },
      { timeoutMs },
    );
    if (outcome.outcome === 'committed') return { catalog: this.#learn(parseCatalog(outcome.value)!) };
    const { code, message } = outcome.error;
    if (outcome.outcome === 'unknown') throw new CatalogError('CATALOG_UNKNOWN', message, outcome.error);
    if (code === 'EDITOR_THREW') throw damage as Error;
    if (code === 'REJECTED_BY_EDITOR' && edited !== undefined) return edited;
    if (code === 'VALUE_TOO_LARGE' || code === 'VALUE_NOT_SERIALISABLE')
      return { refusal: { status: 400, message: `The account's catalogue cannot take this: ${message}` } };
    throw new CatalogError('CATALOG_UNREACHABLE', message, outcome.error);
  }

  #learn(catalog: Catalog): Catalog {
    const isNewer = this.#known?.since !== catalog.since || this.#known.version < catalog.version;
    if (isNewer) this.#known = catalog;
    return catalog;
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
