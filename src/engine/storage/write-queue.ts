/**
 * The writes of all partitions of a node that are not in the database yet, in their order. Those up to a mark are in the
 * journal already, and a commit of the database takes them. Work in the background is added for the commit under way only and
 * goes behind them; it never stands in the journal.
 */
import type { Table, Write } from './tables.ts';

interface Taken {
  readonly writes: readonly Write[];
  /** How many of them are in the journal. */
  readonly journaled: number;
  /** Of keys and values. */
  readonly bytes: number;
  /** Bytes of records that they take away. */
  readonly removedBytes: number;
}

interface Writes {
  list: Write[];
  bytes: number;
  removedBytes: number;
}

export class WriteQueue {
  #queue: Writes = noWrites();
  #journaled = 0;
  #work: Writes = noWrites();
  #isWorking = false;

  get length(): number {
    return this.#queue.list.length;
  }

  /** Of keys and values. */
  get bytes(): number {
    return this.#queue.bytes;
  }

  get removedBytes(): number {
    return this.#queue.removedBytes;
  }

  /** Whether there is work that a failed commit did not get done. */
  get hasWork(): boolean {
    return this.#work.list.length > 0;
  }

  put(table: Table, key: Buffer, value: Uint8Array): void {
    const writes = this.#isWorking ? this.#work : this.#queue;
    writes.list.push({ table, key, value });
    writes.bytes += key.length + value.length;
  }

  /** `bytes`: about how much room that makes. */
  remove(table: Table, key: Buffer, bytes = 0): void {
    const writes = this.#isWorking ? this.#work : this.#queue;
    writes.list.push({ table, key, value: undefined });
    writes.bytes += key.length;
    writes.removedBytes += bytes;
  }

  /** What is written meanwhile is work in the background. */
  inBackground<Result>(work: () => Result): Result {
    this.#isWorking = true;
    try {
      return work();
    } finally {
      this.#isWorking = false;
    }
  }

  /** What the journal has not got yet. */
  unjournaled(): readonly Write[] {
    return this.#queue.list.slice(this.#journaled);
  }

  /** So many more are in the journal. */
  noteJournaled(count: number): void {
    this.#journaled += count;
  }

  /** For a commit: what is in the journal, or all of it. */
  take(what: 'journaled' | 'all'): Taken {
    const { list, bytes, removedBytes } = this.#queue;
    const journaled = this.#journaled;
    const rest = what === 'all' ? [] : list.slice(journaled);
    const restBytes = rest.reduce((sum, { key, value }) => sum + key.length + (value?.length ?? 0), 0);
    this.#queue = { list: rest, bytes: restBytes, removedBytes: 0 };
    this.#journaled = 0;
    const writes = rest.length === 0 ? list : list.slice(0, journaled);
    return { writes, journaled, bytes: bytes - restBytes, removedBytes };
  }

  takeWork(): Taken {
    const { list, bytes, removedBytes } = this.#work;
    this.#work = noWrites();
    return { writes: list, journaled: 0, bytes, removedBytes };
  }

  /** What a failed commit had taken goes first again. */
  putBack(taken: Taken, work: Taken): void {
    this.#queue = together(taken, this.#queue);
    this.#journaled += taken.journaled;
    this.#work = together(work, this.#work);
  }
}

function noWrites(): Writes {
  return { list: [], bytes: 0, removedBytes: 0 };
}

function together(first: Taken, { list, bytes, removedBytes }: Writes): Writes {
  return {
    list: [...first.writes, ...list],
    bytes: first.bytes + bytes,
    removedBytes: first.removedBytes + removedBytes,
  };
}
