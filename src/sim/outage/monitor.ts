/**
 * What clients would have seen of one partition-set: in which region writes were served, from when to when. And what must
 * never be seen: two regions that accept writes at the same moment.
 */
import type { FailoverState, Phase } from '../../failover/index.ts';

export interface Stretch {
  readonly region: number;
  readonly from: number;
  readonly to: number;
}

/** A change of phase, when the first agent knew of it. */
export interface Mark {
  readonly atMs: number;
  readonly step: number;
  readonly gcn: number;
  readonly phase: Phase;
  readonly writer: string | null;
}

/** An update of a region reached the register for the first time since its process started. */
export interface Return {
  readonly atMs: number;
  readonly region: number;
}

/** A writer renewed its lease. */
export interface Renewal {
  readonly atMs: number;
  readonly region: number;
  readonly untilMs: number;
}

/** A region fenced itself, or its update reached the register. */
export interface RegionMark {
  readonly atMs: number;
  readonly region: number;
  readonly did: 'fence' | 'update';
}

export interface Availability {
  /** In order of time; neighbours of one region with no gap between them are one stretch. */
  readonly service: readonly Stretch[];
  readonly marks: readonly Mark[];
  readonly returns: readonly Return[];
  readonly renewals: readonly Renewal[];
  /** What the regions did outside `Steady`. */
  readonly regionMarks: readonly RegionMark[];
}

/** Gaps shorter than this are between two looks at the model, not between two writes. */
const NO_GAP_MS = 1;

export class Monitor {
  doubleWriters = 0;
  readonly #service: { region: number; from: number; to: number }[] = [];
  readonly #acceptedUntil: number[];
  readonly #marks: Mark[] = [];
  readonly #returns: Return[] = [];
  readonly #renewals: Renewal[] = [];
  readonly #regionMarks: RegionMark[] = [];

  constructor(regions: number) {
    this.#acceptedUntil = Array.from({ length: regions }, () => -Infinity);
  }

  service(region: number, from: number, to: number): void {
    const last = this.#service.at(-1);
    if (last?.region === region && from - last.to <= NO_GAP_MS) last.to = to;
    else this.#service.push({ region, from, to });
  }

  accepting(region: number, from: number, to: number): void {
    for (let other = 0; other < this.#acceptedUntil.length; other += 1) {
      if (other !== region && this.#acceptedUntil[other]! > from) this.doubleWriters += 1;
    }
    this.#acceptedUntil[region] = to;
  }

  phase(state: FailoverState, atMs: number): void {
    const { step, gcn, phase, writer } = state;
    if (step <= (this.#marks.at(-1)?.step ?? 0)) return;
    this.#marks.push({ atMs, step, gcn, phase, writer });
  }

  returned(region: number, atMs: number): void {
    this.#returns.push({ region, atMs });
  }

  lease(region: number, atMs: number, untilMs: number): void {
    const last = this.#renewals.at(-1);
    if (last?.region !== region || untilMs > last.untilMs) this.#renewals.push({ region, atMs, untilMs });
  }

  did(region: number, did: RegionMark['did'], atMs: number): void {
    if (this.#marks.at(-1)?.phase === 'Ungraceful') this.#regionMarks.push({ region, did, atMs });
  }

  finish(): Availability {
    return {
      service: this.#service,
      marks: this.#marks,
      returns: this.#returns,
      renewals: this.#renewals,
      regionMarks: this.#regionMarks,
    };
  }
}
