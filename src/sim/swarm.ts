/**
 * Swarm testing: each seed switches most kinds of fault off. A run in which everything happens at once tests little,
 * because the faults hide one another: where every process keeps crashing, nobody gets far enough for a lost message to
 * matter. With each kind on or off by itself, every pair of kinds is met together, and every kind alone, in some seeds.
 *
 * What comes out is a schedule: plain data, so that it can be printed, cut down, and played again.
 */
import type { Random } from './core/index.ts';
import type { ScheduledFault } from './seeded-run.ts';

/** When faults may happen: all of them are over when the window ends. */
export interface FaultWindow {
  readonly fromMs: number;
  readonly untilMs: number;
}

export interface FaultKind {
  readonly kind: string;
  /** How many times in a run, at most. */
  readonly most: number;
  readonly shortestMs: number;
  readonly longestMs: number;
  /** Names of those that it meets; none: it cannot happen in this run. */
  targets(random: Random): readonly string[];
  strength(random: Random): number;
}

/** The kinds that are on, in the order given. */
export function drawSwarm(kinds: readonly string[], random: Random): ReadonlySet<string> {
  return new Set(kinds.filter(() => random.uniform() < 0.5));
}

/** When, to whom and how strongly the kinds happen that are on, in the order of time. */
export function drawSchedule(
  kinds: readonly FaultKind[],
  window: FaultWindow,
  random: Random,
): readonly ScheduledFault[] {
  const schedule = kinds.flatMap((kind) => {
    const times = 1 + random.integer(kind.most);
    return Array.from({ length: times }, () => drawFault(kind, window, random));
  });
  return schedule.filter(({ targets }) => targets.length > 0).sort((a, b) => a.fromMs - b.fromMs);
}

/** Whole milliseconds: a schedule is for people too. */
function drawFault(kind: FaultKind, { fromMs, untilMs }: FaultWindow, random: Random): ScheduledFault {
  const start = Math.round(random.between(fromMs, untilMs));
  const length = Math.round(random.between(kind.shortestMs, kind.longestMs));
  return {
    kind: kind.kind,
    fromMs: start,
    untilMs: Math.min(untilMs, start + length),
    targets: kind.targets(random),
    strength: kind.strength(random),
  };
}
