import { describe, expect, test } from 'vitest';
import { accepted, after, healthy, heartbeat, settling } from '../../../../test/failover/reports.ts';
import type { SignalPolicy } from './configuration.ts';
import type { FailoverState } from './state.ts';

const policy: SignalPolicy = { disk: 'graceful', traffic: 'failover', rain: 'ignore' };
const watched = () => healthy({ signals: policy });
const up = (state: FailoverState, region: string, ...signals: readonly string[]) =>
  accepted(state, heartbeat(state, region, { scheduled: false, signals }));

describe('a health signal at the write region (paper 7.2)', () => {
  test('whose policy is graceful begins a planned move away', () => {
    expect(up(watched(), 'A', 'disk')).toMatchObject({ phase: 'Graceful', target: 'B', why: 'signal' });
  });

  test('whose policy is failover takes the writes away at once', () => {
    expect(up(watched(), 'A', 'traffic')).toMatchObject({ phase: 'Ungraceful', raise: { cause: 'signal' } });
  });

  test.each(['rain', 'unheard of', 'constructor'])(
    'whose policy is not there or to ignore does nothing: %s',
    (signal) => {
      expect(up(watched(), 'A', signal).phase).toBe('Steady');
    },
  );

  test('does nothing while paused', () => {
    const paused: FailoverState = { ...watched(), paused: true };
    expect(up(paused, 'A', 'traffic').phase).toBe('Steady');
    expect(up(paused, 'A', 'disk').phase).toBe('Steady');
  });

  test('does nothing when the others are no better', () => {
    const all = up(up(watched(), 'B', 'disk'), 'C', 'traffic');
    expect(up(all, 'A', 'traffic').phase).toBe('Steady');
    expect(up(all, 'A', 'disk').phase).toBe('Steady');
  });

  test('at a reader does nothing but keep the writes away from it', () => {
    const state = up(watched(), 'B', 'disk');
    expect(state.phase).toBe('Steady');
    expect(up(state, 'A', 'disk')).toMatchObject({ target: 'C' });
  });

  test('that is to be ignored does not keep the writes away', () => {
    expect(up(up(watched(), 'B', 'rain'), 'A', 'disk')).toMatchObject({ target: 'B' });
  });

  test('the region that it is up at is elected only if there is no other: no loop of failovers', () => {
    const raised = up(watched(), 'A', 'traffic');
    const longest = { progress: { epoch: 1, lsn: 99 }, signals: ['traffic'] };
    const reported = accepted(raised, heartbeat(raised, 'A', longest));
    const elected = after(
      reported,
      (now) => heartbeat(now, 'B'),
      (now) => heartbeat(now, 'C'),
    );
    expect(elected.writer).toBe('B');
    expect(settling(raised, 'A', longest).writer).toBe('A');
  });

  test('sleeps until every region runs a version that has it', () => {
    const state = after(watched(), (now) => heartbeat(now, 'C', { version: 1 }));
    expect(up(state, 'A', 'traffic').phase).toBe('Steady');
    expect(up(state, 'A', 'disk').phase).toBe('Steady');
  });
});
