/** How many partition-sets could be written, by region, over time (Figure 6): a sample now and then, the oldest forgotten. */
import type { FleetCounts } from './fleet.ts';

export interface Sample {
  readonly at: number;
  /** By region number. */
  readonly writable: readonly number[];
  readonly nobody: number;
  readonly total: number;
}

const KEPT = 3600;

export class Availability {
  #samples: Sample[] = [];

  get samples(): readonly Sample[] {
    return this.#samples;
  }

  get last(): Sample | undefined {
    return this.#samples.at(-1);
  }

  /** Nothing is noted while it is not known of some who can write them. */
  note({ writable, nobody, unknown, total }: FleetCounts, now: number): void {
    if (unknown > 0 || total === 0) return;
    this.#samples.push({ at: now, writable: [...writable], nobody, total });
    if (this.#samples.length > KEPT + KEPT / 10) this.#samples = this.#samples.slice(-KEPT);
  }
}

export interface Stacked {
  /** Seconds. */
  readonly at: readonly number[];
  /**
   * By region number, the share that it and those before it could write; `undefined` where the page was away. The last one is
   * followed by 1, the whole: what lies between them could be written nowhere.
   */
  readonly upTo: readonly (readonly (number | undefined)[])[];
}

/** Further apart than this, the page saw nothing in between. */
const GAP_MS = 5000;

export function stacked(samples: readonly Sample[], regions: number): Stacked {
  const at: number[] = [];
  const upTo: (number | undefined)[][] = Array.from({ length: regions + 1 }, () => []);
  let before: number | undefined;
  for (const sample of samples) {
    if (before !== undefined && sample.at - before > GAP_MS) {
      at.push((before + 1) / 1000);
      for (const line of upTo) line.push(undefined);
    }
    before = sample.at;
    at.push(sample.at / 1000);
    let sum = 0;
    for (let region = 0; region < regions; region += 1) {
      sum += sample.writable[region] ?? 0;
      upTo[region]!.push(sum / sample.total);
    }
    upTo[regions]!.push(1);
  }
  return { at, upTo };
}

/** The share of the time, over all partition-sets, in which there was a writer. */
export function shareOver(samples: readonly Sample[], sinceMs: number): number | undefined {
  let weight = 0;
  let available = 0;
  for (let i = samples.length - 1; i > 0; i -= 1) {
    const { at, nobody, total } = samples[i]!;
    const span = at - samples[i - 1]!.at;
    if (samples[i - 1]!.at < sinceMs) break;
    if (span > GAP_MS) continue;
    weight += span;
    available += (span * (total - nobody)) / total;
  }
  return weight === 0 ? undefined : available / weight;
}
