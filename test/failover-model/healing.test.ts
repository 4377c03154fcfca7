/** Writes come back from every world once faults end; and a region that keeps failing disturbs ever more rarely. */
import { afterAll, describe, expect, test } from 'vitest';
import { type Faults, Healing } from './healing.ts';
import { WRITES_ARE_BACK } from './rules.ts';
import { expectSound, isDue, Runs, TIMEOUT_MS } from './runs.ts';
import { BACK_WITHIN, HEALING_CASES, lastingFaults, settingOf } from './settings.ts';
import type { World } from './world.ts';

const runs = new Runs();
afterAll(() => runs.print());

test.each(HEALING_CASES.filter(isDue))(
  'writes are back: $setting.name',
  ({ setting }) => {
    const healings = lastingFaults(setting).map((faults) => new Healing(setting, faults));
    const ticks = new Map<number, number>();
    const isBack = (world: World): boolean =>
      healings.every((healing) => {
        if (!healing.canHeal(world)) return true;
        const after = healing.ticksUntilWrites(world);
        ticks.set(after, (ticks.get(after) ?? 0) + 1);
        return after <= BACK_WITHIN;
      });
    expectSound(runs.run(`writes are back: ${setting.name}`, setting, { [WRITES_ARE_BACK]: isBack }));
    const counts = [...ticks]
      .sort(([one], [other]) => one - other)
      .map(([after, count]) => `after ${after} ticks from ${count}`);
    runs.lines.push(`  ${counts.join(', ')}`);
    expect(Math.max(...ticks.keys())).toBeGreaterThan(0);
  },
  TIMEOUT_MS,
);

/** How often `counts` becomes true in a run whose faults depend on what happens. */
function flapping(
  rules: readonly string[],
  faultsIn: (world: World) => Faults,
  counts: (world: World) => boolean,
): number {
  const healing = new Healing(settingOf('flapping', { maxLog: 0, without: rules }), {});
  let world = healing.initial;
  let wasTrue = false;
  let count = 0;
  const look = (now: World): Faults => {
    if (counts(now) && !wasTrue) count += 1;
    wasTrue = counts(now);
    return faultsIn(now);
  };
  for (let tick = 0; tick < 300; tick += 1) world = healing.passed(world, look);
  return count;
}

describe('backoff', () => {
  /** The preferred region dies as soon as it has the writes back, and returns when it has lost them. */
  const dies = (rules: readonly string[]): number =>
    flapping(
      rules,
      ({ register }) => (register.writer === 'a' ? { dead: 'a' } : {}),
      ({ register }) => register.writer === 'b',
    );

  /** The preferred region is well until a move to it begins, and does not take part in that. */
  const shies = (rules: readonly string[]): number =>
    flapping(
      rules,
      ({ register }) => ({ dead: register.gcn === 1 || register.phase === 'Graceful' ? 'a' : '' }),
      ({ register }) => register.phase === 'Graceful',
    );

  test('bounds the failovers to a region that keeps dying', () => {
    expect(dies([])).toBeGreaterThan(3);
    expect(dies([])).toBeLessThanOrEqual(Math.log2(300) + 1);
    expect(dies(['live beats'])).toBeGreaterThan(30);
  });

  test('bounds the moves to a region that never takes over', () => {
    expect(shies([])).toBeGreaterThan(3);
    expect(shies([])).toBeLessThanOrEqual(Math.log2(300) + 1);
    expect(shies(['backoff'])).toBeGreaterThan(30);
  });
});
