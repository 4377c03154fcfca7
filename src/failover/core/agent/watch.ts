/**
 * Observation of the writer (DESIGN 4, "Silence"; rule 4): which (GCN, writer, beat) this region last learned of, and when,
 * on its own monotonic clock. Any change of the triple restarts the wait. Earlier triples are kept for a while: a new writer
 * counts its wait from when it first held exactly the triple that the raise of the GCN found (rule 12).
 */
import { type FailoverState, type RegionName, type SilenceReport, type StepWait } from '../machine/index.ts';

export interface Triple {
  readonly gcn: number;
  readonly writer: RegionName;
  readonly beat: number;
}

interface Learned extends Triple {
  readonly at: number;
}

const KEPT = 4;

export class Watch {
  #learned: readonly Learned[] = [];
  #step = 0;
  #stepAt = 0;

  /** A state came in at that moment: the answer to an own update or read. */
  onState(state: FailoverState, now: number): void {
    if (state.writer !== null) {
      this.onBeat({ gcn: state.gcn, writer: state.writer, beat: state.regions[state.writer]!.beat }, now);
    }
    if (state.step === this.#step) return;
    this.#step = state.step;
    this.#stepAt = now;
  }

  /** A beat hint, or a state. An older or the same triple is no news. */
  onBeat(triple: Triple, now: number): void {
    const last = this.#learned.at(-1);
    const isNews =
      last === undefined || triple.gcn > last.gcn || (triple.gcn === last.gcn && triple.beat > last.beat);
    if (isNews) this.#learned = [...this.#learned, learned(triple, now)].slice(-KEPT);
  }

  /** When the triple in force was learned. */
  get learnedAt(): number | undefined {
    return this.#learned.at(-1)?.at;
  }

  get beat(): Triple | undefined {
    return this.#learned.at(-1);
  }

  get stepAt(): number {
    return this.#stepAt;
  }

  /** When this region first held exactly that triple, if it did. */
  heldSince({ gcn, writer, beat }: Triple): number | undefined {
    return this.#learned.find((one) => one.gcn === gcn && one.writer === writer && one.beat === beat)?.at;
  }

  silence(now: number): SilenceReport | undefined {
    const last = this.#learned.at(-1);
    if (last === undefined) return undefined;
    const { gcn, writer, beat, at } = last;
    return { gcn, writer, beat, waitedMs: now - at };
  }

  stepWait(now: number): StepWait | undefined {
    return this.#step === 0 ? undefined : { step: this.#step, waitedMs: now - this.#stepAt };
  }

  /** The process was suspended: what it measured is worth nothing. */
  restart(now: number): void {
    this.#learned = this.#learned.slice(-1).map((last) => learned(last, now));
    this.#stepAt = now;
  }
}

/** Written out: an object made by spreading another has a hidden class of its own, and a process holds thousands of these. */
function learned({ gcn, writer, beat }: Triple, at: number): Learned {
  return { gcn, writer, beat, at };
}
