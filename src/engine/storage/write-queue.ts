/** The writes of all partitions of a node since the last commit began, in their order. */
import type { Table, Write } from './tables.ts';

export class WriteQueue {
  #writes: Write[] = [];
  /** Bytes of records that the queue takes away. */
  #removedBytes = 0;

  get length(): number {
    return this.#writes.length;
  }

  put(table: Table, key: Buffer, value: Uint8Array): void {
    this.#writes.push({ table, key, value });
  }

  /** `bytes`: about how much room that makes. */
  remove(table: Table, key: Buffer, bytes = 0): void {
    this.#writes.push({ table, key, value: undefined });
    this.#removedBytes += bytes;
  }

  take(): { readonly writes: readonly Write[]; readonly removedBytes: number } {
    const taken = { writes: this.#writes, removedBytes: this.#removedBytes };
    this.#writes = [];
    this.#removedBytes = 0;
    return taken;
  }

  /** What a failed commit had taken goes first again. */
  putBack({
    writes,
    removedBytes,
  }: {
    readonly writes: readonly Write[];
    readonly removedBytes: number;
  }): void {
    this.#writes = [...writes, ...this.#writes];
    this.#removedBytes += removedBytes;
  }
}
