import { describe, expect, test } from 'vitest';
import type { ScheduledFault, SeededRun, SeededSimulation, SimulationFailure } from './seeded-run.ts';
import { shrink } from './shrink.ts';

function fault(kind: string, fromMs = 0, untilMs = 1000, targets: readonly string[] = ['p']): ScheduledFault {
  return { kind, fromMs, untilMs, targets, strength: 1 };
}

/** A simulation that only looks at its schedule. */
class Judged implements SeededSimulation {
  readonly name = 'judged';
  readonly mustOccur = [];
  readonly #schedule: readonly ScheduledFault[];
  readonly #judge: (schedule: readonly ScheduledFault[]) => SimulationFailure | undefined;
  runs = 0;

  constructor(
    schedule: readonly ScheduledFault[],
    judge: (schedule: readonly ScheduledFault[]) => SimulationFailure | undefined,
  ) {
    this.#schedule = schedule;
    this.#judge = judge;
  }

  async run(seed: number, schedule = this.#schedule): Promise<SeededRun> {
    this.runs += 1;
    const failure = this.#judge(schedule);
    const nothing = { configuration: [], trace: '', events: 0, virtualMs: 0, counts: {} };
    return { seed, schedule, ...nothing, ...(failure && { failure }) };
  }
}

const FAILURE = { check: 'safety', message: 'wrong' };
const MANY = Array.from({ length: 20 }, (_, at) => fault(`fault ${at}`));

function kindsOf({ schedule }: SeededRun): readonly string[] {
  return schedule.map(({ kind }) => kind);
}

describe('shrinking', () => {
  test('finds the two faults that matter among twenty', async () => {
    const simulation = new Judged(MANY, (schedule) => {
      const kinds = new Set(schedule.map(({ kind }) => kind));
      return kinds.has('fault 3') && kinds.has('fault 17') ? FAILURE : undefined;
    });
    const smallest = await shrink(simulation, await simulation.run(5));
    expect(kindsOf(smallest)).toEqual(['fault 3', 'fault 17']);
    expect(smallest).toMatchObject({ seed: 5, failure: FAILURE });
  });

  test('finds that none matters', async () => {
    const simulation = new Judged(MANY, () => FAILURE);
    expect(kindsOf(await shrink(simulation, await simulation.run(5)))).toEqual([]);
  });

  test('is not led away by another failure', async () => {
    const simulation = new Judged(MANY, (schedule) => {
      if (schedule.length < 10) return { check: 'another', message: 'also wrong' };
      return FAILURE;
    });
    const smallest = await shrink(simulation, await simulation.run(5));
    expect(smallest.failure?.check).toBe('safety');
    expect(smallest.schedule.length).toBe(10);
  });

  test('narrows what is left in time and in whom it meets', async () => {
    const simulation = new Judged([fault('cut', 0, 1000, ['p', 'q', 'r'])], ([cut]) =>
      cut !== undefined && cut.fromMs <= 400 && cut.untilMs >= 500 && cut.targets.includes('q')
        ? FAILURE
        : undefined,
    );
    const [cut] = (await shrink(simulation, await simulation.run(5))).schedule;
    expect(cut).toMatchObject({ targets: ['q'] });
    expect(cut!.untilMs - cut!.fromMs).toBeLessThan(500);
    expect([cut!.fromMs <= 400, cut!.untilMs >= 500]).toEqual([true, true]);
  });

  test('leaves targets alone that belong together', async () => {
    const whole = fault('change set', 0, 0, ['client-0', 'acceptor-0', 'acceptor-1']);
    const simulation = new Judged([whole], (schedule) => (schedule.length > 0 ? FAILURE : undefined));
    expect((await shrink(simulation, await simulation.run(5))).schedule).toEqual([whole]);
  });

  test('takes no more runs than it may, and none for a run that did not fail', async () => {
    const simulation = new Judged(MANY, (schedule) => (schedule.length > 18 ? FAILURE : undefined));
    await shrink(simulation, await simulation.run(5), { maxRuns: 10 });
    expect(simulation.runs).toBe(11);
    const sound = new Judged(MANY, () => undefined);
    const run = await sound.run(5);
    expect(await shrink(sound, run)).toBe(run);
    expect(sound.runs).toBe(1);
  });
});
