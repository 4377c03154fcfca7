/** A list of steps, taken again: how a counterexample that was found once is kept. */
import { invariantsOf } from './invariants.ts';
import { FailoverModel } from './model.ts';
import type { Setting, World } from './world.ts';

export interface Replay {
  readonly world: World;
  /** The first step that cannot be taken any more. */
  readonly stoppedAt: string | undefined;
  /** The first invariant that a step broke. */
  readonly broken: string | undefined;
}

export function replay(setting: Setting, actions: readonly string[]): Replay {
  const model = new FailoverModel(setting);
  const invariants = Object.entries(invariantsOf(setting));
  let world = model.initial;
  for (const action of actions) {
    const step = [...model.successors(world)].find((one) => one.action === action);
    if (step === undefined) return { world, stoppedAt: action, broken: undefined };
    world = step.state;
    const broken = invariants.find(([, holds]) => !holds(world))?.[0];
    if (broken !== undefined) return { world, stoppedAt: undefined, broken };
  }
  return { world, stoppedAt: undefined, broken: undefined };
}
