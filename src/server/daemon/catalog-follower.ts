/**
 * A node follows the account's catalogue: it opens the partition-sets of its column that the catalogue has, and gives up those that
 * it has no more. It looks every now and then, and at once when it is asked to.
 *
 * Data are removed only for a reason: the catalogue was read, it is a later version of the one that this node knew (by its marks:
 * `catalog/marks.ts`), and it once made this node open that partition-set (`catalog-memory.ts`). When acceptors were lost or restored and
 * the catalogue is another one, an older one, or one that was edited since it was older, nothing is removed: it is said, and what is
 * there is left to an operator. So it is with a partition-set that
 * lies in another column than it did, because the nodes of the cluster file changed places: the catalogue has it, and its only copies
 * may be here. A file with more or fewer nodes than the data were laid out for is refused.
 *
 * One look at a time does everything in order, so that a partition-set is never opened and removed at once. What fails is said once
 * and tried again with the next look; the others go on.
 */
import type { Logger } from '../../failover/index.ts';
import type { Host, Timer } from '../../protocol/index.ts';
import {
  adoptContainers,
  type Catalog,
  CatalogError,
  type CatalogPlace,
  type CatalogRegister,
  type ContainerEntry,
  markOf,
  placesOf,
} from '../catalog/index.ts';
import type { ContainerConfig } from '../config/index.ts';
import type { CatalogMemory, RememberedCatalog } from './catalog-memory.ts';

export interface CatalogFollowerOptions {
  readonly register: Pick<CatalogRegister, 'read' | 'change'>;
  readonly memory: CatalogMemory;
  /** Of the cluster file: those that are new in it are made. */
  readonly containers: readonly ContainerConfig[];
  readonly column: number;
  readonly columns: number;
  readonly open: (place: CatalogPlace) => Promise<unknown>;
  readonly drop: (partitionSet: string) => Promise<void>;
  readonly pollMs: number;
  readonly host: Host;
  readonly logger: Logger;
  /** The catalogue cannot be read yet; it is tried again. */
  readonly onWaiting: (error: CatalogError) => void;
  /** Ends a `start` that waits. */
  readonly signal?: AbortSignal | undefined;
}

export interface Look {
  readonly version: number;
  readonly partitionSets: readonly string[];
  readonly timeoutMs: number;
}

const READ_MS = 3000;
const AGAIN_MS = 250;
const AGAIN_AT_MOST_MS = 2000;
/** Between two looks for somebody who waits. */
const LOOK_AGAIN_MS = 25;
const FOR_GOOD: ReadonlySet<string> = new Set(['CATALOG_NEWER', 'CATALOG_DAMAGED', 'CATALOG_COLUMNS']);

export class CatalogFollower {
  readonly #options: CatalogFollowerOptions;
  readonly #open = new Set<string>();
  readonly #failed = new Set<string>();
  /** What was said already, by what it is about. */
  readonly #said = new Map<string, string>();
  #catalog: Catalog | undefined;
  #places: readonly CatalogPlace[] | undefined;
  #names: ReadonlySet<string> = new Set();
  /** Of all columns. */
  #all: ReadonlySet<string> = new Set();
  #entries: ReadonlyMap<number, ContainerEntry> = new Map();
  #remembered: RememberedCatalog | undefined;
  #looking: Promise<void> | undefined;
  #timer: Timer | undefined;
  #isClosed = false;

  constructor(options: CatalogFollowerOptions) {
    this.#options = options;
    this.#remembered = options.memory.read();
  }

  /** As this node last read it. */
  get catalog(): Catalog | undefined {
    return this.#catalog;
  }

  /** The partition-sets of this node's column, whether they could be opened or not; undefined: the catalogue was not read yet. */
  get places(): readonly CatalogPlace[] | undefined {
    return this.#places;
  }

  /** Those that could not be opened. */
  get missing(): readonly string[] {
    return [...this.#failed];
  }

  /** The container with this number as it is now. */
  entry(number: number): ContainerEntry | undefined {
    return this.#entries.get(number);
  }

  /** Resolves when the catalogue was read and its partition-sets were opened, however long that takes. */
  async start(): Promise<void> {
    const { host, signal, onWaiting } = this.#options;
    for (let pause = AGAIN_MS; ; pause = Math.min(2 * pause, AGAIN_AT_MOST_MS)) {
      signal?.throwIfAborted();
      try {
        await this.#adopt();
        await this.#lookOnce();
        break;
      } catch (error) {
        if (!(error instanceof CatalogError) || FOR_GOOD.has(error.code) || this.#isClosed) throw error;
        onWaiting(error);
      }
      await this.#sleep(pause * (0.5 + host.random() / 2));
    }
    this.#later();
  }

  /** Looks until this version is known here and the partition-sets of it that belong here are open, or the time is over. Says which
   * version is known then. */
  async look({ version, partitionSets, timeoutMs }: Look): Promise<number> {
    const { host } = this.#options;
    const until = host.now() + timeoutMs;
    while (!this.#isAt(version, partitionSets) && !this.#isClosed && host.now() < until) {
      const looked = this.#lookOnce().catch((error: unknown) => this.#complain(error));
      await this.#within(until - host.now(), looked);
      if (this.#isAt(version, partitionSets)) break;
      await this.#sleep(Math.min(LOOK_AGAIN_MS, until - host.now()));
    }
    return this.#catalog?.version ?? 0;
  }

  /** Nothing more is begun. */
  close(): void {
    this.#isClosed = true;
    this.#options.host.cancel(this.#timer);
  }

  /** Resolves when what was under way has ended. */
  async idle(): Promise<void> {
    await this.#looking?.catch(() => {});
  }

  #isAt(version: number, partitionSets: readonly string[]): boolean {
    if (this.#catalog === undefined || this.#catalog.version < version) return false;
    return partitionSets.every((name) => this.#open.has(name) || !this.#names.has(name));
  }

  /** Containers that the file has and the catalogue never had. */
  async #adopt(): Promise<void> {
    const { register, containers, host } = this.#options;
    const at = host.wallClock();
    const adopted = (catalog: Catalog): Catalog => adoptContainers(this.#inColumns(catalog), containers, at);
    const found = await register.read(READ_MS);
    if (found.marks === undefined || adopted(found) !== found)
      await register.change((now) => ({ catalog: adopted(now) }), READ_MS);
  }

  /** With another number of nodes this one would open copies that are empty and count for those that others have. No version of its
   * own: nothing else changes with it. */
  #inColumns(catalog: Catalog): Catalog {
    const { columns } = this.#options;
    if (catalog.columns === columns) return catalog;
    if (catalog.columns === undefined) return { ...catalog, columns };
    throw new CatalogError(
      'CATALOG_COLUMNS',
      `The cluster file has ${columns} nodes in each region; the account's data lie on ${catalog.columns}, and that cannot change.`,
    );
  }

  #later(): void {
    if (this.#isClosed) return;
    const { host, pollMs } = this.#options;
    this.#timer = host.after(pollMs * (0.75 + host.random() / 2), () => {
      this.#lookOnce()
        .catch((error: unknown) => this.#complain(error))
        .finally(() => this.#later());
    });
  }

  #lookOnce(): Promise<void> {
    this.#looking ??= this.#readAndApply().finally(() => {
      this.#looking = undefined;
    });
    return this.#looking;
  }

  async #readAndApply(): Promise<void> {
    const catalog = await this.#options.register.read(READ_MS);
    if (this.#isClosed) return;
    this.#said.delete('');
    this.#take(catalog);
    await this.#dropOthers();
    await Promise.all(this.#places!.map((place) => this.#openOne(place)));
  }

  #take(catalog: Catalog): void {
    const { since, version } = catalog;
    const { column, columns } = this.#options;
    const known = this.#catalog;
    const isSame = known?.since === since && known.version === version && markOf(known) === markOf(catalog);
    if (!isSame) {
      this.#catalog = catalog;
      const all = placesOf(catalog, columns);
      const places = all.filter((place) => place.column === column);
      this.#places = places;
      this.#all = new Set(all.map(({ name }) => name));
      this.#names = new Set(places.map(({ name }) => name));
      this.#entries = new Map(catalog.containers.map((container) => [container.number, container]));
    }
    this.#remember(catalog);
  }

  #remember(catalog: Catalog): void {
    const { since, version } = catalog;
    const mark = markOf(catalog);
    const before = this.#remembered;
    const isTheSame = before === undefined || isLater(catalog, before);
    if (!isTheSame)
      this.#say(
        'another',
        'error',
        `The catalogue is not the one that this node knew, or was restored from an older copy, or has changed too often since: nothing is removed of what it does not name.`,
      );
    const kept = isTheSame ? (before?.partitionSets ?? []) : [];
    const partitionSets = [...new Set([...kept, ...this.#names])];
    const isNew = before?.since !== since || before.version !== version || kept.length < partitionSets.length;
    if (isNew || before.mark !== mark) this.#write({ since, version, mark, partitionSets });
  }

  #write(remembered: RememberedCatalog): void {
    try {
      this.#options.memory.write(remembered);
      this.#remembered = remembered;
      this.#said.delete('memory');
    } catch (error) {
      this.#say('memory', 'warn', `What the catalogue says cannot be noted on disk: ${messageOf(error)}`);
    }
  }

  /** Also those that were dropped while this node was away. */
  async #dropOthers(): Promise<void> {
    const remembered = this.#remembered;
    const { since, version } = this.#catalog!;
    const mark = markOf(this.#catalog!);
    // It could not be noted: then it may be forgotten again.
    if (remembered?.since !== since || remembered.version !== version || remembered.mark !== mark) return;
    const others = remembered.partitionSets.filter((name) => !this.#all.has(name));
    this.#sayMoved(remembered.partitionSets);
    const dropped = await Promise.all(others.map((name) => this.#dropOne(name)));
    if (!dropped.includes(true)) return;
    const gone = new Set(others.filter((_, at) => dropped[at]));
    const partitionSets = remembered.partitionSets.filter((name) => !gone.has(name));
    this.#write({ since, version, mark, partitionSets });
  }

  #sayMoved(partitionSets: readonly string[]): void {
    const moved = partitionSets.filter((name) => this.#all.has(name) && !this.#names.has(name));
    if (moved.length === 0) return;
    this.#say(
      'moved',
      'error',
      `The cluster file gives ${moved.length} partition-sets to another node than before, such as ${moved[0]}: their data are left here.`,
    );
  }

  async #dropOne(partitionSet: string): Promise<boolean> {
    this.#open.delete(partitionSet);
    this.#failed.delete(partitionSet);
    try {
      await this.#options.drop(partitionSet);
      this.#said.delete(partitionSet);
      this.#options.logger.info({ partitionSet }, 'The container was deleted; its data are removed.');
      return true;
    } catch (error) {
      this.#say(partitionSet, 'warn', `The data of ${partitionSet} cannot be removed: ${messageOf(error)}`);
      return false;
    }
  }

  async #openOne(place: CatalogPlace): Promise<void> {
    if (this.#open.has(place.name) || this.#isClosed) return;
    try {
      await this.#options.open(place);
      this.#open.add(place.name);
      this.#failed.delete(place.name);
      this.#said.delete(place.name);
    } catch (error) {
      this.#failed.add(place.name);
      this.#say(place.name, 'error', `${place.name} cannot be opened: ${messageOf(error)}`);
    }
  }

  #complain(error: unknown): void {
    if (!this.#isClosed) this.#say('', 'warn', `The catalogue cannot be read: ${messageOf(error)}`);
  }

  /** Once, until it is over or changes. */
  #say(about: string, level: 'warn' | 'error', sentence: string): void {
    if (this.#said.get(about) === sentence) return;
    this.#said.set(about, sentence);
    this.#options.logger[level]({}, sentence);
  }

  #sleep(ms: number): Promise<void> {
    return this.#within(ms, undefined);
  }

  /** Resolves when it is over or the time is. */
  #within(ms: number, promise: Promise<void> | undefined): Promise<void> {
    const { host, signal } = this.#options;
    return new Promise((resolve) => {
      const over = (): void => {
        host.cancel(timer);
        signal?.removeEventListener('abort', over);
        resolve();
      };
      const timer = host.after(Math.max(0, ms), over);
      signal?.addEventListener('abort', over, { once: true });
      void promise?.then(over, over);
    });
  }
}

/** Whether the catalogue was once the one that is remembered. */
function isLater(catalog: Catalog, { since, version, mark }: RememberedCatalog): boolean {
  return catalog.since === since && mark !== undefined && markOf(catalog, version) === mark;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
