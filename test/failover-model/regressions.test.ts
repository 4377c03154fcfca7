/** Counterexamples that the exploration found with all rules in place, as the steps that led to them. */
import { explore, formatTrace } from 'baton/check';
import { describe, expect, test } from 'vitest';
import { invariantsOf } from './invariants.ts';
import { FailoverModel } from './model.ts';
import { replay } from './replay.ts';
import { settingOf } from './settings.ts';
import { show } from './show.ts';

/**
 * An operator shortens the lease; the writer's next beat lands, and its answer is late or lost. The writer holds the long lease
 * of the beat before, and an observer that measures its silence by the short one takes the writes from it too early.
 */
describe('a shortened lease', () => {
  const setting = settingOf('a shortened lease', {
    lease: 2,
    features: ['shorter'],
    slow: 'a',
    maxSlow: 1,
    maxUnknown: 1,
    maxGcn: 2,
    maxLog: 0,
  });
  const steps = [
    'a begins to update',
    'shorten the lease',
    "a's update lands",
    'b updates',
    'tick',
    'tick',
    'b updates',
    'b updates',
  ];

  test('is not measured by before the writer knows of it', () => {
    expect(replay(setting, steps).broken).toBeUndefined();
    const model = new FailoverModel(setting);
    const result = explore({
      initial: [model.initial],
      successors: (world) => model.successors(world),
      key: (world) => model.key(world),
      invariants: invariantsOf(setting),
      maxStates: 200_000,
    });
    if (result.outcome === 'violated') throw new Error(formatTrace(result.trace, show));
    expect(result.outcome).toBe('complete');
  });
});
