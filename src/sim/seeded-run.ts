/**
 * What every seeded simulation looks like from outside: a seed in, a record of the run out. Campaigns, shrinking, replay
 * and the search for mutants work on this and know nothing else of a simulation.
 */

/** One fault of a run: what, to whom, from when until when. Plain data, so that a schedule can be printed and replayed. */
export interface ScheduledFault {
  readonly kind: string;
  readonly fromMs: number;
  readonly untilMs: number;
  /** Names of the processes or links that it meets. */
  readonly targets: readonly string[];
  /** How strong: a share of messages, milliseconds, whatever the kind says. */
  readonly strength: number;
}

export interface SimulationFailure {
  /** Which check found it: its stable name. */
  readonly check: string;
  /** What is wrong, in words. */
  readonly message: string;
}

export interface SeededRun {
  readonly seed: number;
  /** All that the run used, drawn from the seed: one line for each choice. */
  readonly configuration: readonly string[];
  readonly schedule: readonly ScheduledFault[];
  /** The fingerprint of all that happened. */
  readonly trace: string;
  readonly events: number;
  readonly virtualMs: number;
  /** What happened how often: outcomes, faults, faults that met a phase. Added up over a campaign. */
  readonly counts: Readonly<Record<string, number>>;
  readonly failure?: SimulationFailure;
}

export interface SeededSimulation {
  readonly name: string;
  /** Pairs and events that a campaign of some size must have seen (keys of `counts`), else it has proved little. */
  readonly mustOccur: readonly string[];
  /** The same seed and schedule give the same run. Without a schedule, the seed's own is used. */
  run(seed: number, schedule?: readonly ScheduledFault[]): Promise<SeededRun>;
}

/** A scene that is set: it is played once. */
export interface Scene {
  readonly world: { readonly trace: { digest(): string }; readonly events: number; readonly now: number };
  readonly counts: ReadonlyMap<string, number>;
  play(): Promise<SimulationFailure | undefined>;
}

/** Plays it, and keeps what there is to say of it. */
export async function recordOf(
  scene: Scene,
  about: Pick<SeededRun, 'seed' | 'configuration' | 'schedule'>,
): Promise<SeededRun> {
  const failure = await scene.play();
  const { world, counts } = scene;
  return {
    ...about,
    trace: world.trace.digest(),
    events: world.events,
    virtualMs: world.now,
    counts: Object.fromEntries([...counts].sort(([a], [b]) => (a < b ? -1 : 1))),
    ...(failure && { failure }),
  };
}
