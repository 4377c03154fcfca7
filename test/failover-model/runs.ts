/** Explorations of a setting, and the lines that say what they covered. */
import { type Exploration, explore, formatTrace, type StatePredicate } from 'baton/check';
import { expect } from 'vitest';
import { REACHES } from './invariants.ts';
import { FailoverModel } from './model.ts';
import type { Case } from './settings.ts';
import { show } from './show.ts';
import type { Setting, World } from './world.ts';

export const isExhaustive = process.env['BATON_EXHAUSTIVE'] !== undefined;
export const TIMEOUT_MS = isExhaustive ? 1_800_000 : 600_000;
const MAX_STATES = isExhaustive ? 4_000_000 : 200_000;

export type Invariants = Readonly<Record<string, StatePredicate<World>>>;

export function isDue({ isLarge }: Case): boolean {
  return isExhaustive || !isLarge;
}

export class Runs {
  readonly lines: string[] = [];
  readonly reached = new Map<string, number>();

  run(title: string, setting: Setting, invariants: Invariants): Exploration<World> {
    const began = performance.now();
    const model = new FailoverModel(setting);
    const result = explore({
      initial: [model.initial],
      successors: (world) => model.successors(world),
      key: (world) => model.key(world),
      invariants,
      reaches: REACHES,
      maxStates: MAX_STATES,
    });
    const seconds = ((performance.now() - began) / 1000).toFixed(1);
    const cut = result.outcome === 'limit reached' ? ', CUT OFF by the limit: a search, no proof' : '';
    this.lines.push(`${title}: ${result.states} states, ${result.depth} steps deep, ${seconds} s${cut}`);
    for (const [what, count] of Object.entries(result.reached))
      this.reached.set(what, (this.reached.get(what) ?? 0) + count);
    return result;
  }

  print(): void {
    // oxlint-disable-next-line no-console
    console.log(this.lines.join('\n'));
  }
}

export function expectSound(result: Exploration<World>): void {
  if (result.outcome === 'violated')
    throw new Error(`${result.invariant}\n${formatTrace(result.trace, show)}`);
  expect(result.outcome).toBe('complete');
}
