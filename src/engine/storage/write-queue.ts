/**
 * The writes of all partitions of a node that are not in the database yet, in their order. Those up to a mark are in the
 * journal already, and a commit of the database takes them. Work in the background is added for the commit under way only and
 * goes behind them; it never stands in the journal.
 *
 * A commit that failed changes nothing of the order. Its work keeps the place that it had: behind the writes that the commit had
 * taken, and before everything that was written since, which may undo what the work was made of.
 *
 *   taken by the commit that failed | its work | written since | work of the next commit
 */
import type { Table, Write } from './tables.ts';

interface Batch {
  readonly writes: readonly Write[];
  /** Of keys and values. */
  readonly bytes: number;
  /** Bytes of records that they take away. */
  readonly removedBytes: number;
}

/** What a commit takes. */
interface Taken extends Batch {
  /** How many of the writes are in the journal. */
  readonly journaled: number;
  readonly earlier: readonly EarlierWork[];
}

/** Work of a commit that failed, and behind how many writes its place is. */
interface EarlierWork {
  readonly behind: number;
  readonly work: Batch;
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
  #earlier: readonly EarlierWork[] = [];

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
    return this.#earlier.length > 0;
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
    const earlier = this.#earlier.filter(({ behind }) => behind <= writes.length);
    this.#earlier = moved(this.#earlier.slice(earlier.length), -writes.length);
    return { writes, journaled, bytes: bytes - restBytes, removedBytes, earlier };
  }

  takeWork(): Batch {
    const { list, bytes, removedBytes } = this.#work;
    this.#work = noWrites();
    return { writes: list, bytes, removedBytes };
  }

  /** What a failed commit had taken goes first again, with its work behind it. */
  putBack(taken: Taken, work: Batch): void {
    const { writes } = taken;
    const ofIt = work.writes.length === 0 ? [] : [{ behind: writes.length, work }];
    this.#queue = together(taken, this.#queue);
    this.#journaled += taken.journaled;
    this.#earlier = [...taken.earlier, ...ofIt, ...moved(this.#earlier, writes.length)];
  }
}

/** What a commit gives to the database: what it took, and its work, in their order. */
export function inOrder({ earlier, ...taken }: Taken, work: Batch): Batch {
  if (earlier.length === 0 && work.writes.length === 0) return taken;
  const writes: Write[][] = [];
  let from = 0;
  for (const { behind, work: before } of earlier) {
    writes.push(taken.writes.slice(from, behind), [...before.writes]);
    from = behind;
  }
  writes.push(taken.writes.slice(from), [...work.writes]);
  const parts = [taken, work, ...earlier.map((one) => one.work)];
  const sum = (of: (part: Batch) => number): number => parts.reduce((total, part) => total + of(part), 0);
  return {
    writes: writes.flat(),
    bytes: sum(({ bytes }) => bytes),
    removedBytes: sum(({ removedBytes }) => removedBytes),
  };
}

function moved(works: readonly EarlierWork[], by: number): readonly EarlierWork[] {
  return works.map(({ behind, work }) => ({ behind: behind + by, work }));
}

function noWrites(): Writes {
  return { list: [], bytes: 0, removedBytes: 0 };
}

function together(first: Batch, { list, bytes, removedBytes }: Writes): Writes {
  return {
    list: [...first.writes, ...list],
    bytes: first.bytes + bytes,
    removedBytes: first.removedBytes + removedBytes,
  };
}
