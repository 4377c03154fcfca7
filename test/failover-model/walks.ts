/**
 * Long random walks through settings that are too large to explore: three regions with everything that can happen. A walk
 * that finds nothing proves nothing; but a mistake that needs many steps shows here first. A seed replays its walk.
 */
import type { StatePredicate } from 'baton/check';
import { type FailoverModel, type Step } from './model.ts';
import type { World } from './world.ts';

export interface Walk {
  readonly steps: readonly Step[];
  /** The invariant that the last step breaks. */
  readonly broken: string | undefined;
}

/** Marsaglia's xorshift. */
function chanceOf(seed: number): (below: number) => number {
  let state = seed | 1;
  return (below) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % below;
  };
}

/** Kinds of steps are equally likely, whatever number of regions can take them; one of them is as likely as another. */
export function walk(
  model: FailoverModel,
  seed: number,
  length: number,
  invariants: Readonly<Record<string, StatePredicate<World>>>,
): Walk {
  const chance = chanceOf(seed * 7919);
  for (let spin = 0; spin < 8; spin += 1) chance(2);
  let world = model.initial;
  const steps: Step[] = [{ action: `seed ${seed}`, state: world }];
  while (steps.length <= length) {
    const kinds = new Map<string, Step[]>();
    for (const step of model.successors(world)) {
      const kind = step.action.replaceAll(/\b[abc]\b/g, '');
      kinds.set(kind, [...(kinds.get(kind) ?? []), step]);
    }
    if (kinds.size === 0) break;
    const choices = [...kinds.values()][chance(kinds.size)]!;
    const step = choices[chance(choices.length)]!;
    steps.push(step);
    world = step.state;
    const broken = Object.keys(invariants).find((name) => !invariants[name]!(world));
    if (broken !== undefined) return { steps, broken };
  }
  return { steps, broken: undefined };
}
