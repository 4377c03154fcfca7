/**
 * The door that a write came in by. A gateway stands for one region: what is asked of it is asked of that region and of no other, or
 * its users would never learn where their writes belong. So
 *
 *   - a region that says who the writer is, and it is another one, ends the write: NOT_WRITER_HERE, and nothing was done;
 *   - a region without a writer, that cannot be reached or to which no connection comes about, or that is about to hand the
 *     writes over names nobody else. The write is held and tried again, for `holdMs` at most: the region may well be the writer
 *     in a moment. Meanwhile others are asked who writes, and once that is known the write is ended;
 *   - a name that is older than what is known (a lower GCN) is no news, and the write is held too;
 *   - a region that is the writer and busy is waited for as if there were no door.
 *
 * An attempt whose outcome is in doubt opens the door for good. NOT_WRITER_HERE would be a lie then, so the truth is looked for
 * everywhere, under the same operation id.
 */
import type { RegionName } from '../../engine/core/index.ts';
import type { NodeAnswer } from './judging.ts';
import type { RegionCache } from './regions.ts';

export interface Door {
  readonly region: RegionName;
  readonly holdMs: number;
}

export class DoorKeeper {
  readonly #door: Door | undefined;
  #isOpen: boolean;

  /** Without a door there is nothing to keep. */
  constructor(door: Door | undefined) {
    this.#door = door;
    this.#isOpen = door === undefined;
  }

  /** The one region that may be asked; undefined: all of them. */
  get only(): RegionName | undefined {
    return this.#isOpen ? undefined : this.#door?.region;
  }

  open(): void {
    this.#isOpen = true;
  }

  /** How long a write that began then is held. */
  heldUntilMs(begunAtMs: number): number {
    return this.#isOpen ? Infinity : begunAtMs + this.#door!.holdMs;
  }

  /** Whether another region is known to write, and nothing has spoken against that since. */
  isPassedBy(cache: RegionCache, partitionSet: string): boolean {
    const { only } = this;
    if (only === undefined) return false;
    const writer = cache.likelyWriter(partitionSet);
    return writer !== undefined && writer.region !== only;
  }

  /** Whether the write belongs elsewhere; what the answer says of the writer has been noted before. */
  leadsAway(answer: NodeAnswer | undefined, cache: RegionCache, partitionSet: string): boolean {
    const { only } = this;
    if (only === undefined || answer?.outcome !== 'refused' || answer.writer === undefined) return false;
    return answer.writer.region !== only && cache.writerOf(partitionSet)?.region !== only;
  }
}
