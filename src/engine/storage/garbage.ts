/** Data that nobody needs any more, because a full copy has replaced them or their partition-set was dropped: taken away piece by
 * piece, as commits go by. */
import { dataTables } from './document-index.ts';
import { numberKey } from './keys.ts';
import { workKey } from './partition-record.ts';
import type { Tables } from './tables.ts';
import type { WriteQueue } from './write-queue.ts';

const GARBAGE = { start: Buffer.from('garbage/'), end: Buffer.from('garbage0') };

export class GarbageCollector {
  readonly #tables: Tables;
  readonly #queue: WriteQueue;
  readonly #numbers: number[];
  /** Commits to wait for: some of the data may still be in the queue, where they cannot be seen. */
  #waits = 0;

  constructor(tables: Tables, queue: WriteQueue) {
    this.#tables = tables;
    this.#queue = queue;
    this.#numbers = [...tables.meta.getKeys(GARBAGE)].map((key) => key.readUInt32BE(GARBAGE.start.length));
  }

  get hasWork(): boolean {
    return this.#numbers.length > 0;
  }

  /** `number`: of data, or of a partition, which has its undone writes under it. No two things have the same number. */
  add(number: number): void {
    this.#numbers.push(number);
    this.#queue.put(this.#tables.meta, keyOf(number), Buffer.of(1));
    this.wait();
  }

  /** Data were added, or a commit failed: the next commit may not take everything, the one behind it does. */
  wait(): void {
    this.#waits = 2;
  }

  /** Removes at most so many records. */
  step(limit: number): void {
    const [number] = this.#numbers;
    if (number === undefined || limit === 0) return;
    if (this.#waits > 0) {
      this.#waits -= 1;
      return;
    }
    const range = { start: numberKey(number), end: numberKey(number + 1), limit };
    for (const table of [...dataTables(this.#tables), this.#tables.undone]) {
      const keys = [...table.getKeys(range)];
      // However full the disk is: more goes than the keys that say so.
      for (const key of keys) this.#queue.remove(table, key, 2 * key.length);
      if (keys.length > 0) return;
    }
    this.#queue.remove(this.#tables.meta, workKey(number));
    this.#queue.remove(this.#tables.meta, keyOf(number));
    this.#numbers.shift();
  }
}

function keyOf(number: number): Buffer {
  return Buffer.concat([GARBAGE.start, numberKey(number)]);
}
