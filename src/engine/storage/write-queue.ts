/**
 * The writes of all partitions of a node that are not in the database yet, in their order. Those up to a mark are in the
 * journal already; a commit of the database takes them all.
 */
import type { Table, Write } from './tables.ts';

interface Taken {
  readonly writes: readonly Write[];
  readonly bytes: number;
  /** Bytes of records that they take away. */
  readonly removedBytes: number;
}

export class WriteQueue {
  #writes: Write[] = [];
  #journaled = 0;
  #bytes = 0;
  #removedBytes = 0;

  get length(): number {
    return this.#writes.length;
  }

  /** Of keys and values. */
  get bytes(): number {
    return this.#bytes;
  }

  get removedBytes(): number {
    return this.#removedBytes;
  }

  get hasUnjournaled(): boolean {
    return this.#journaled < this.#writes.length;
  }

  put(table: Table, key: Buffer, value: Uint8Array): void {
    this.#writes.push({ table, key, value });
    this.#bytes += key.length + value.length;
  }

  /** `bytes`: about how much room that makes. */
  remove(table: Table, key: Buffer, bytes = 0): void {
    this.#writes.push({ table, key, value: undefined });
    this.#bytes += key.length;
    this.#removedBytes += bytes;
  }

  /** What the journal has not got yet. */
  unjournaled(): readonly Write[] {
    return this.#writes.slice(this.#journaled);
  }

  /** So many more are in the journal. */
  noteJournaled(count: number): void {
    this.#journaled += count;
  }

  take(): Taken {
    const taken = { writes: this.#writes, bytes: this.#bytes, removedBytes: this.#removedBytes };
    this.#writes = [];
    this.#journaled = 0;
    this.#bytes = 0;
    this.#removedBytes = 0;
    return taken;
  }

  /** What a failed commit had taken goes first again. `journaled`: so many of them are in the journal. */
  putBack({ writes, bytes, removedBytes }: Taken, journaled: number): void {
    this.#writes = [...writes, ...this.#writes];
    this.#journaled += journaled;
    this.#bytes += bytes;
    this.#removedBytes += removedBytes;
  }
}
