/**
 * A disk that keeps its promises and no others: what was written is there to be read at once, and survives a crash only
 * if a sync that began after the write has ended. Of what was not synced, a crash keeps what the hardware happened to
 * have written: some first part, in order.
 */
import type { Random } from './random.ts';

/** A copy of everything on a disk, as a backup holds it. */
export type DiskCopy = ReadonlyMap<string, string>;

interface Write {
  readonly key: string;
  /** Undefined: the file was removed. */
  readonly text: string | undefined;
}

/** Told of every write in the moment in which nothing can take it back any more. */
export type DurableObserver = (key: string, text: string | undefined) => void;

export class Disk {
  readonly #onDurable: DurableObserver;
  #durable = new Map<string, string>();
  #current = new Map<string, string>();
  /** Since the durable state, in order. */
  #unsynced: Write[] = [];
  #writes = 0;

  constructor(onDurable: DurableObserver = () => {}) {
    this.#onDurable = onDurable;
  }

  /** How many writes a crash could lose now. */
  get unsynced(): number {
    return this.#unsynced.length;
  }

  read(key: string): string | undefined {
    return this.#current.get(key);
  }

  keys(): readonly string[] {
    return [...this.#current.keys()].sort();
  }

  write(key: string, text: string | undefined): void {
    apply(this.#current, { key, text });
    this.#unsynced.push({ key, text });
    this.#writes += 1;
  }

  /** A mark for {@link endSync}: the sync covers what was written up to here. */
  beginSync(): number {
    return this.#writes;
  }

  endSync(mark: number): void {
    const remaining = this.#writes - mark;
    const synced = this.#unsynced.splice(0, Math.max(0, this.#unsynced.length - remaining));
    for (const write of synced) this.#makeDurable(write);
  }

  /** The power goes. Returns how many writes were lost. */
  crash(random: Random): number {
    // Often nothing at all: several disks that lose the same thing at once are what brings a missing sync to light.
    const kept = random.uniform() < 0.5 ? 0 : random.integer(this.#unsynced.length + 1);
    const lost = this.#unsynced.length - kept;
    for (const write of this.#unsynced.slice(0, kept)) this.#makeDurable(write);
    this.#unsynced = [];
    this.#current = new Map(this.#durable);
    return lost;
  }

  copy(): DiskCopy {
    return new Map(this.#durable);
  }

  /** Something else stands in a file than was written there, and no sync or crash undoes it. */
  garble(key: string, text: string): void {
    apply(this.#durable, { key, text });
    apply(this.#current, { key, text });
    this.#unsynced = this.#unsynced.map((write) => (write.key === key ? { key, text } : write));
  }

  /** The disk is replaced: by an empty one, or by one that a backup was restored to. */
  replace(copy: DiskCopy = new Map()): void {
    this.#durable = new Map(copy);
    this.#current = new Map(copy);
    this.#unsynced = [];
  }

  #makeDurable(write: Write): void {
    apply(this.#durable, write);
    this.#onDurable(write.key, write.text);
  }
}

function apply(files: Map<string, string>, { key, text }: Write): void {
  if (text === undefined) files.delete(key);
  else files.set(key, text);
}
