/**
 * A region that has to copy everything gives up what it has, and that may be the last whole copy of an entry which is damaged in the
 * writer and which nobody has met yet. So the writer first reads its whole log through, exactly what it is going to send, a step at a
 * time. What cannot be read is asked for like any other damage, of that region too, and the region is welcomed when all of it
 * could be read. One reading serves all who ask for a while: a copy that is begun anew does not wait again.
 */
import type { PartitionStore } from '../store.ts';
import { entriesOf } from './copying.ts';
import type { RegionName } from './forwarder.ts';
import type { Follow } from './messages.ts';

const STEP_BYTES = 256 * 1024;
const BETWEEN_MS = 1;
/** Something could not be read: it is looked at again after this. */
const AGAIN_MS = 1000;
const HOLDS_MS = 60_000;

export class ReadingThrough {
  readonly #store: PartitionStore;
  /** Who waits for the end of it. */
  readonly #waiting = new Map<RegionName, Follow>();
  /** Read up to there, and to be read up to there. */
  #lsn = 0;
  #end = 0;
  #nextAt = Infinity;
  #holdsUntil = -Infinity;

  constructor(store: PartitionStore) {
    this.#store = store;
  }

  /** All of it could be read lately. */
  isDone(now: number): boolean {
    return now < this.#holdsUntil;
  }

  get nextAt(): number {
    return this.#nextAt;
  }

  want(region: RegionName, follow: Follow, now: number): void {
    this.#waiting.set(region, follow);
    if (this.#nextAt !== Infinity) return;
    this.#lsn = 0;
    this.#end = this.#store.tail.lsn;
    this.#nextAt = now;
  }

  drop(region: RegionName): void {
    this.#waiting.delete(region);
    if (this.#waiting.size === 0) this.#nextAt = Infinity;
  }

  /** Somebody met damage there. */
  doubt(lsn: number): void {
    this.#holdsUntil = -Infinity;
    this.#lsn = Math.min(this.#lsn, lsn - 1);
  }

  /** Reads on if it is time to. Returns whom to welcome now; throws when it meets damage. */
  step(now: number): readonly (readonly [RegionName, Follow])[] {
    if (now < this.#nextAt) return [];
    this.#nextAt = now + AGAIN_MS;
    const last = entriesOf(this.#store, this.#lsn, STEP_BYTES).at(-1);
    this.#nextAt = now + BETWEEN_MS;
    this.#lsn = last?.lsn ?? this.#end;
    if (this.#lsn < this.#end) return [];
    this.#nextAt = Infinity;
    this.#holdsUntil = now + HOLDS_MS;
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    return waiting;
  }
}
