/** Random walks with everything at once. What they find would be a mistake; that they find nothing proves nothing. */
import { formatTrace } from 'baton/check';
import { expect, test } from 'vitest';
import { invariantsOf, REACHES } from './invariants.ts';
import { FailoverModel } from './model.ts';
import { isExhaustive, TIMEOUT_MS } from './runs.ts';
import { type Changes, settingOf } from './settings.ts';
import { show } from './show.ts';
import { walk } from './walks.ts';

const WALKS = isExhaustive ? 2000 : 5;
const LENGTH = 200;

const EVERYTHING: Changes = {
  regions: ['a', 'b', 'c'],
  features: ['change', 'reads', 'graceful', 'forced', 'stop', 'late acknowledgements'],
  grant: 2,
  slow: 'abc',
  maxSlow: 20,
  maxUnknown: 10,
  restarters: 'abc',
  maxRestarts: 6,
  maxSwitchovers: 4,
  maxForced: 3,
  maxGcn: 8,
  maxLog: 6,
};

const SETTINGS = [
  settingOf('everything', EVERYTHING),
  settingOf('everything, two needed, longer lease', { ...EVERYTHING, minDurability: 2, lease: 2 }),
  settingOf('everything, bounded staleness', {
    ...EVERYTHING,
    consistency: 'BoundedStaleness',
    staleness: 2,
  }),
  settingOf('everything, session', { ...EVERYTHING, consistency: 'Session' }),
];

test.each(SETTINGS)(
  'walks: $name',
  (setting) => {
    const model = new FailoverModel(setting);
    const invariants = invariantsOf(setting);
    const reached = new Set<string>();
    for (let seed = 0; seed < WALKS; seed += 1) {
      const { steps, broken } = walk(model, seed, LENGTH, invariants);
      if (broken !== undefined) throw new Error(`${broken}\n${formatTrace(steps, show)}`);
      for (const [what, holds] of Object.entries(REACHES))
        if (!reached.has(what) && steps.some(({ state }) => holds(state))) reached.add(what);
    }
    expect([...reached]).toEqual(
      expect.arrayContaining(['phase Graceful', 'two failovers', 'a write is acknowledged after a failover']),
    );
  },
  TIMEOUT_MS,
);
