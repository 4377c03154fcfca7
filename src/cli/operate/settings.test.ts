import { describe, expect, it } from 'vitest';
import { PROFILES } from '../../failover/index.ts';
import { intentsFor, settingsOf } from './settings.ts';
import type { Configuration } from './shapes.ts';

const now: Configuration = {
  version: 1,
  priorities: ['west', 'east'],
  consistency: 'Strong',
  minDurability: 2,
  signals: { cpu: 'ignore' },
};

function made(...assignments: string[]): unknown[] {
  return intentsFor(assignments).map((maker) => maker(now));
}

describe('a setting', () => {
  it.each([
    ['consistency=session', { kind: 'consistency', consistency: 'Session' }],
    ['minimumDurability=3', { kind: 'durability', minDurability: 3 }],
    ['failback=off', { kind: 'failback', failback: 'off' }],
    ['failback=automatic', { kind: 'failback', failback: 'automatic' }],
    [
      'failback=22:00-04:00,12:00-13:30',
      {
        kind: 'failback',
        failback: {
          windows: [
            { from: '22:00', to: '04:00' },
            { from: '12:00', to: '13:30' },
          ],
        },
      },
    ],
    ['maximumLoss=none', { kind: 'maximum loss', writes: null }],
    ['maximumLoss=0', { kind: 'maximum loss', writes: 0 }],
    ['profile=paper', { kind: 'timings', timings: PROFILES.paper }],
    ['signal.disk=graceful', { kind: 'signals', signals: { cpu: 'ignore', disk: 'graceful' } }],
  ])('%s is an intent', (assignment, intent) => {
    expect(made(assignment)).toEqual([intent]);
  });

  it('of staleness goes into the consistency', () => {
    expect(made('consistency=BoundedStaleness', 'staleness=1000/30')).toEqual([
      { kind: 'consistency', consistency: 'BoundedStaleness', staleness: { writes: 1000, seconds: 30 } },
    ]);
  });

  it.each([
    [['colour=red'], 'Unknown setting colour'],
    [['consistency'], 'NAME=VALUE'],
    [['consistency='], 'NAME=VALUE'],
    [['=x'], 'NAME=VALUE'],
    [['consistency=Weak'], 'consistency must be one of'],
    [['minimumDurability=0'], 'at least 1'],
    [['minimumDurability=1.5'], 'whole number'],
    [['failback=25:00-26:00'], 'windows like 22:00-04:00'],
    [['staleness=1/1'], 'requires consistency=BoundedStaleness'],
    [['consistency=BoundedStaleness', 'staleness=1/1/1'], 'WRITES/SECONDS'],
    [['failback=off', 'failback=automatic'], 'given twice'],
    [['signal.disk=explode'], 'signal.disk must be one of'],
  ])('%j is refused', (assignments, message) => {
    expect(() => intentsFor(assignments)).toThrow(message);
  });
});

it('a configuration is shown as it would be set, with what is still to come', () => {
  const configuration: Configuration = {
    ...now,
    consistency: 'BoundedStaleness',
    staleness: { writes: 5, seconds: 6 },
    wanted: { consistency: 'Strong', minDurability: 3 },
    failback: { windows: [{ from: '22:00', to: '04:00' }] },
    maxLossWrites: 7,
    timings: PROFILES.fast,
  };
  expect(settingsOf(configuration)).toEqual([
    ['priorities', 'west,east'],
    ['consistency', 'BoundedStaleness (Strong when it is safe)'],
    ['staleness', '5/6'],
    ['minimumDurability', '2 (3 when it is safe)'],
    ['failback', '22:00-04:00'],
    ['maximumLoss', '7'],
    ['timings', 'every 1000 ms, lease 3000 ms, settling 300 ms'],
    ['signal.cpu', 'ignore'],
  ]);
});
