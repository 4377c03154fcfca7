/** Counterexamples that the exploration found with all rules in place, as the steps that led to them. */
import { explore, formatTrace } from 'baton/check';
import { expect, test } from 'vitest';
import { invariantsOf } from './invariants.ts';
import { FailoverModel } from './model.ts';
import { replay } from './replay.ts';
import { isExhaustive } from './runs.ts';
import { settingOf } from './settings.ts';
import { show } from './show.ts';
import type { Setting } from './world.ts';

function expectSound(setting: Setting): void {
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
}

/**
 * An operator shortens the lease; the writer's next beat lands, and its answer is late or lost. The writer holds the long lease
 * of the beat before, and an observer that measures its silence by the short one takes the writes from it too early.
 */
test('a shortened lease is not measured by before the writer knows of it', () => {
  const setting = settingOf('a shortened lease', {
    lease: 2,
    features: ['shorter'],
    slow: 'a',
    maxSlow: 1,
    maxUnknown: 1,
    maxGcn: 2,
    maxLog: 0,
  });
  const steps = ['a begins to update', 'shorten the lease', "a's update lands", 'b updates', 'tick', 'tick'];
  expect(replay(setting, [...steps, 'b updates', 'b updates']).broken).toBeUndefined();
  expectSound(setting);
});

/**
 * An operator shortens the lease. A reader holds a grant as long as the lease was; the writer's next two beats grant short leases, and by
 * the second it holds none of the long ones any more. What silence is measured by covers the grant all the same.
 */
test('a shortened lease is not measured by while a grant of the longer one may run', () => {
  const setting = settingOf('grants of a longer lease', {
    regions: ['a', 'b', 'c'],
    lease: 3,
    grant: 3,
    features: ['reads', 'shorter'],
    watchers: 'b',
    maxGcn: 2,
    maxLog: 1,
  });
  const granted = ['a grants c reads', 'shorten the lease', 'a updates', 'a updates', 'b updates'];
  const replaced = ['tick', 'tick', 'b updates', 'b updates, having settled', 'b writes', 'c is read: '];
  expect(replay(setting, [...granted, ...replaced]).broken).toBeUndefined();
  if (isExhaustive) expectSound(setting);
});

/**
 * An operator lengthens the lease while the writer is silent. The region that is elected in its own update takes a lease as
 * configured, before any beat of a writer could have put the new length in force.
 */
test('a lengthened lease is measured by from the election on', () => {
  const setting = settingOf('a lengthened lease', {
    minDurability: 2,
    features: ['longer'],
    slow: 'b',
    maxSlow: 1,
    maxUnknown: 1,
    maxLog: 0,
  });
  const elected = ['lengthen the lease', 'tick', 'tick', 'b updates', 'b updates'];
  const steps = [...elected, 'a updates', 'tick', 'tick', 'a updates', 'a updates'];
  expect(replay(setting, steps).broken).toBeUndefined();
  expectSound(setting);
});
