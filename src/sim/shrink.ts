/**
 * From a failing run to a small one that fails the same way. A schedule of twenty faults explains nothing; most of them
 * have nothing to do with the failure. So parts of the schedule are taken out and the seed is run again, as long as the
 * same check still fails: first large parts, then smaller ones (Zeller's ddmin), then what is left is shortened in time.
 *
 * A changed schedule is a different run from its first fault on, with other messages at other moments, so a fault that
 * looks needless may be the one that brings the others into position. Shrinking is a search with luck in it, and it is
 * bounded: what comes out failed, but need not be the smallest that does.
 */
import type { ScheduledFault, SeededRun, SeededSimulation } from './seeded-run.ts';

export interface ShrinkOptions {
  /** How many runs it may take: 200. */
  readonly maxRuns?: number;
}

/** The smallest failing run that was found; the given one if none is smaller, or if it did not fail. */
export async function shrink(
  simulation: SeededSimulation,
  run: SeededRun,
  { maxRuns = 200 }: ShrinkOptions = {},
): Promise<SeededRun> {
  if (run.failure === undefined) return run;
  const search = new Search(simulation, run, maxRuns);
  await search.dropFaults();
  await search.narrowFaults();
  return search.best;
}

/** Windows are not narrowed below this: what is left reads well enough. */
const SHORTEST_MS = 20;

class Search {
  readonly #simulation: SeededSimulation;
  readonly #check: string;
  #runsLeft: number;
  #best: SeededRun;

  constructor(simulation: SeededSimulation, run: SeededRun, maxRuns: number) {
    this.#simulation = simulation;
    this.#check = run.failure!.check;
    this.#runsLeft = maxRuns;
    this.#best = run;
  }

  get best(): SeededRun {
    return this.#best;
  }

  /** Takes out ever smaller parts until no single fault can go. */
  async dropFaults(): Promise<void> {
    if (await this.#failsWith([])) return;
    let parts = 2;
    while (this.#best.schedule.length > 1) {
      const { schedule } = this.#best;
      if (await this.#dropOneOf(partsOf(schedule, Math.min(parts, schedule.length)))) {
        parts = Math.max(2, parts - 1);
      } else {
        if (parts >= schedule.length || this.#runsLeft <= 0) return;
        parts *= 2;
      }
    }
  }

  /** Halves windows from either end, takes targets away one by one. */
  async narrowFaults(): Promise<void> {
    for (let at = 0; at < this.#best.schedule.length; at += 1) {
      for (const simpler of [withoutATarget, endingEarlier, beginningLater]) {
        while (await this.#simplify(at, simpler)) {
          // As long as it goes.
        }
      }
    }
  }

  async #dropOneOf(parts: readonly (readonly ScheduledFault[])[]): Promise<boolean> {
    for (const part of parts) {
      const rest = this.#best.schedule.filter((fault) => !part.includes(fault));
      if (await this.#failsWith(rest)) return true;
    }
    return false;
  }

  async #simplify(at: number, simpler: Simplification): Promise<boolean> {
    const { schedule } = this.#best;
    for (const fault of simpler(schedule[at]!)) {
      if (await this.#failsWith(schedule.with(at, fault))) return true;
    }
    return false;
  }

  /** Whether the seed still fails in the same way under that schedule; then it is the best so far. */
  async #failsWith(schedule: readonly ScheduledFault[]): Promise<boolean> {
    if (this.#runsLeft <= 0) return false;
    this.#runsLeft -= 1;
    const run = await this.#simulation.run(this.#best.seed, schedule);
    if (run.failure?.check !== this.#check) return false;
    this.#best = run;
    return true;
  }
}

/** Kinds whose targets belong together: who does it and to what. With one taken out it is another act, and not a fair one. */
const INDIVISIBLE: ReadonlySet<string> = new Set(['change set', 'copy', 'restore']);

type Simplification = (fault: ScheduledFault) => readonly ScheduledFault[];

const withoutATarget: Simplification = (fault) =>
  fault.targets.length < 2 || INDIVISIBLE.has(fault.kind)
    ? []
    : fault.targets.map((dropped) => ({
        ...fault,
        targets: fault.targets.filter((target) => target !== dropped),
      }));

const endingEarlier: Simplification = (fault) =>
  isShort(fault) ? [] : [{ ...fault, untilMs: middleOf(fault) }];

const beginningLater: Simplification = (fault) =>
  isShort(fault) ? [] : [{ ...fault, fromMs: middleOf(fault) }];

function isShort({ fromMs, untilMs }: ScheduledFault): boolean {
  return untilMs - fromMs <= SHORTEST_MS;
}

function middleOf({ fromMs, untilMs }: ScheduledFault): number {
  return Math.round((fromMs + untilMs) / 2);
}

/** In order, of nearly the same length. */
function partsOf(schedule: readonly ScheduledFault[], parts: number): readonly (readonly ScheduledFault[])[] {
  return Array.from({ length: parts }, (_, part) =>
    schedule.slice(
      Math.floor((part * schedule.length) / parts),
      Math.floor(((part + 1) * schedule.length) / parts),
    ),
  );
}
