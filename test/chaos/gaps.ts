/**
 * How long writes stood still. Of a fault: for every partition-set the longest time without an acknowledgement, from when the fault
 * began until the next one. What is promised is held against it with a slack that is told: two seconds for a machine
 * that also runs the clients and other work, and the longest time for which this process itself stood still meanwhile.
 */
import type { SetRecord } from './record.ts';
import { BOUND_MS, type FaultKind } from './schedule.ts';

export const SLACK_MS = 2000;

export interface FaultWindow {
  readonly kind: FaultKind;
  readonly from: number;
  readonly to: number;
  readonly stallMs: number;
}

export interface Gap {
  readonly partitionSet: string;
  readonly ms: number;
}

/** The longest in the window, over all partition-sets. */
export function longestGap(sets: Iterable<SetRecord>, { from, to }: FaultWindow): Gap {
  let longest: Gap = { partitionSet: '', ms: 0 };
  for (const { partitionSet, acknowledgedAt } of sets) {
    const ms = gapIn(acknowledgedAt, from, to);
    if (ms > longest.ms) longest = { partitionSet, ms };
  }
  return longest;
}

export function gapIn(acknowledgedAt: readonly number[], from: number, to: number): number {
  const times = acknowledgedAt.filter((time) => time > from && time < to);
  const ends = [from, ...times, to];
  return Math.max(...ends.slice(1).map((time, at) => time - ends[at]!));
}

export function allowedMs({ kind, stallMs }: FaultWindow): number {
  return BOUND_MS[kind] + SLACK_MS + stallMs;
}

const LOOK_MS = 50;

/** Notices when this process does not get its turn. */
export class StallMeter {
  #longest = 0;
  #last = performance.now();
  readonly #timer = setInterval(() => this.#look(), LOOK_MS);

  /** The longest since it was last asked. */
  take(): number {
    this.#look();
    const longest = this.#longest;
    this.#longest = 0;
    return longest;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    const now = performance.now();
    this.#longest = Math.max(this.#longest, now - this.#last - LOOK_MS);
    this.#last = now;
  }
}
