/**
 * A simulated store server: small documents on a simulated disk, replaced only if they still are the version that the
 * writer read. It is what a `StoreAcceptor` runs over, either from afar (`store` acceptors) or in the same process
 * (`service` acceptors).
 *
 * What it owes its users, and keeps through every crash:
 * - no answer leaves before a sync that covers all it speaks of has ended; reads too, because a reader acts on what it
 *   read, and a crash must not take that back;
 * - a version is never given twice, not even after a crash: it is drawn at random and lies on the disk with its document.
 *
 * It tells its line of memory with every answer: a copy that is promoted in its place begins another.
 *
 * Syncs take time and are shared: who writes while one is under way waits for the next, together with all others.
 *
 * A planted `defect` breaks one of these promises, so that tests can show that the checks notice.
 */
import {
  type AcceptorStore,
  type ConditionalWrite,
  decodeIdentity,
  type StoredDocument,
  type WriteResult,
} from '../../caspaxos/index.ts';
import { Disk, type DiskCopy, type Random } from '../core/index.ts';
import type { SimProcess } from '../process.ts';
import { OldCopy } from './old-copy.ts';

export const DEFECTS = [
  'answers before sync',
  'reads before sync',
  'versions repeat',
  'ignores conditions',
  'forgets silently',
  'drops retirements',
  'tells no line',
] as const;

export type Defect = (typeof DEFECTS)[number];

export interface StoreServerOptions {
  readonly url: string;
  readonly concurrency: number;
  /** A sync begins now: how long it takes. */
  readonly syncMs: () => number;
  /** A document has become durable: it survives whatever happens to the process. */
  readonly onDurable: (key: string, text: string) => void;
  /** The old copy in the place of its disk was found out. */
  readonly onRetired?: () => void;
  /** True time. */
  readonly now: () => number;
  /** Its line of memory in the beginning: 1. */
  readonly timeline?: number;
  readonly defect?: Defect | undefined;
}

/** Counts all writes; lies before every other key and is no document. */
const SEQUENCE_KEY = '.sequence';
/** How the library names the documents that it keeps in a store. */
export const IDENTITY_KEY = 'identity';
export const REGISTER_KEYS = 'register/';

export class StoreServer implements AcceptorStore {
  readonly url: string;
  readonly concurrency: number;
  readonly #options: StoreServerOptions;
  readonly #disk: Disk;
  #process: SimProcess | undefined;
  /** Who waits for the sync that is under way, and who for the next one. */
  #covered: (() => void)[] | undefined;
  #waiting: (() => void)[] = [];
  /** Whether something was written that the sync under way does not cover. */
  #isBeyond = false;
  #durableSequence = 0;
  #promotions = 0;
  /** Disks that were here, each as it was when it was lost. */
  readonly #originals: DiskCopy[] = [];
  #oldCopy: OldCopy | undefined;
  #promotedAt = Infinity;

  constructor(options: StoreServerOptions) {
    this.url = options.url;
    this.concurrency = options.concurrency;
    this.#options = options;
    this.#disk = new Disk((key, stored) => this.#onDurable(key, stored));
  }

  /** How many writes are durable: goes back only if the disk does. */
  get sequence(): number {
    return this.#durableSequence;
  }

  /** Which line of memory its answers come from (`lineage.ts`). */
  get line(): string | undefined {
    if (this.#options.defect === 'tells no line') return undefined;
    return `timeline ${(this.#options.timeline ?? 1) + this.#promotions}`;
  }

  /** A life of the process that runs it begins: of the last one, only the disk is left. */
  start(process: SimProcess): void {
    this.#process = process;
    this.#covered = undefined;
    this.#waiting = [];
    this.#durableSequence = Number(this.#disk.read(SEQUENCE_KEY) ?? 0);
  }

  async read(keys: readonly string[]): Promise<readonly (StoredDocument | undefined)[]> {
    const documents = keys.map((key) => this.#document(key));
    if (this.#options.defect !== 'reads before sync') await this.#sync();
    return documents;
  }

  async write(writes: readonly ConditionalWrite[]): Promise<readonly WriteResult[]> {
    const results = writes.map((write) => this.#write(write));
    const synced = this.#sync();
    if (this.#options.defect !== 'answers before sync') await synced;
    for (const [at, { key, text }] of writes.entries())
      if (results[at]!.result === 'written' && isRetirement(key, text)) this.#onRetired();
    return results;
  }

  async list(after: string, limit: number): Promise<readonly string[]> {
    const keys = this.#disk.keys().filter((key) => key !== SEQUENCE_KEY && key > after);
    await this.#sync();
    return keys.slice(0, limit);
  }

  async close(): Promise<void> {}

  /** The power goes: what was not synced may be gone. Returns how many writes were lost. */
  crash(random: Random): number {
    const lost = this.#disk.crash(random);
    if (this.#options.defect === 'forgets silently') {
      this.#disk.replace(new Map([...this.#disk.copy()].filter(([key]) => !key.startsWith(REGISTER_KEYS))));
    }
    return lost;
  }

  copy(): DiskCopy {
    return this.#disk.copy();
  }

  /** While its process is down: another disk stands in the place of this one, empty or restored from a copy. */
  replaceDisk(copy?: DiskCopy): void {
    this.#originals.push(textsOf(this.#disk.copy()));
    this.#disk.replace(copy);
    this.#oldCopy = undefined;
    this.#promotedAt = Infinity;
  }

  /** The same for an older copy, of which nothing tells that it is one. */
  restore(copy?: DiskCopy): void {
    this.replaceDisk(copy);
    const restored = this.#disk.copy();
    const sequence = Number(restored.get(SEQUENCE_KEY) ?? 0);
    this.#oldCopy = OldCopy.of(this.#originals, textsOf(restored), sequence);
  }

  /** What stands here in the place of the disk that was meant, since the last restore. */
  get oldCopy(): OldCopy | undefined {
    return this.#oldCopy;
  }

  /** From when on nobody who comes to it may be answered: it has forgotten, and that can be known. */
  get uselessSince(): number {
    return Math.min(this.#oldCopy?.retiredAt ?? Infinity, this.#promotedAt);
  }

  /** The same for a copy that somebody promotes: it says so. */
  promote(copy?: DiskCopy): void {
    this.replaceDisk(copy);
    this.#promotions += 1;
    if (this.#disk.read(IDENTITY_KEY) !== undefined) this.#promotedAt = this.#options.now();
  }

  /** One document becomes unreadable. Returns which; undefined when there is none. */
  garble(random: Random): string | undefined {
    const keys = this.#disk.keys().filter((key) => key !== SEQUENCE_KEY);
    const key = keys[random.integer(keys.length)];
    if (key === undefined) return undefined;
    const stored = this.#disk.read(key)!;
    const at = stored.indexOf(' ') + 1;
    this.#disk.garble(key, `${stored.slice(0, at)}\u0000${stored.slice(at + 1)}`);
    return key;
  }

  #document(key: string): StoredDocument | undefined {
    const stored = this.#disk.read(key);
    if (stored === undefined) return undefined;
    const at = stored.indexOf(' ');
    return { version: stored.slice(0, at), text: stored.slice(at + 1) };
  }

  #write({ key, text, expected }: ConditionalWrite): WriteResult {
    const { defect } = this.#options;
    if (this.#document(key)?.version !== expected && defect !== 'ignores conditions') {
      return { result: 'conflict' };
    }
    const sequence = Number(this.#disk.read(SEQUENCE_KEY) ?? 0) + 1;
    const version = defect === 'versions repeat' ? `${sequence % 8}` : this.#process!.randomId();
    const isKept = defect !== 'drops retirements' || !isRetirement(key, text);
    if (isKept) this.#disk.write(key, `${version} ${text}`);
    this.#disk.write(SEQUENCE_KEY, `${sequence}`);
    this.#isBeyond = true;
    return { result: 'written', version };
  }

  /** Resolves when all that was written until now is durable; never, if the process does not live to see it. */
  #sync(): Promise<void> {
    if (this.#disk.unsynced === 0) return Promise.resolve();
    return new Promise((resolve) => {
      if (this.#covered !== undefined && !this.#isBeyond) {
        this.#covered.push(resolve);
        return;
      }
      this.#waiting.push(resolve);
      if (this.#covered === undefined) this.#beginSync();
    });
  }

  #beginSync(): void {
    const covered = this.#waiting;
    this.#covered = covered;
    this.#waiting = [];
    this.#isBeyond = false;
    const mark = this.#disk.beginSync();
    this.#process!.after(this.#options.syncMs(), () => {
      this.#disk.endSync(mark);
      this.#covered = undefined;
      for (const resolve of covered) resolve();
      if (this.#waiting.length > 0) this.#beginSync();
    });
  }

  #onRetired(): void {
    if (this.#oldCopy === undefined) return;
    this.#oldCopy.retired(this.#options.now());
    this.#options.onRetired?.();
  }

  #onDurable(key: string, stored: string | undefined): void {
    if (stored === undefined) return;
    if (key === SEQUENCE_KEY) this.#durableSequence = Number(stored);
    else this.#options.onDurable(key, textOf(stored));
  }
}

function isRetirement(key: string, text: string): boolean {
  return key === IDENTITY_KEY && decodeIdentity(text, 'The identity').retired !== undefined;
}

/** Without its version. */
function textOf(stored: string): string {
  return stored.slice(stored.indexOf(' ') + 1);
}

function textsOf(copy: DiskCopy): DiskCopy {
  return new Map([...copy].map(([key, stored]) => [key, textOf(stored)]));
}
