import { describe, expect, test } from 'vitest';
import {
  accepted,
  after,
  healthy,
  heartbeat,
  silence,
  writerSays,
} from '../../../../test/failover/reports.ts';
import { FORGIVEN_AFTER, missedBeats } from './beats.ts';
import { PROFILES } from './configuration.ts';
import { type FailoverState, MACHINE_VERSION, statusOf } from './state.ts';
import { transition } from './transition.ts';

const ENOUGH_MISSED = missedBeats(MACHINE_VERSION);

const beatOf = (state: FailoverState, name = 'A') => state.regions[name]!.beat;

describe('a heartbeat', () => {
  test('takes down the report and raises the beat of that region alone', () => {
    const state = healthy();
    const next = accepted(
      state,
      heartbeat(state, 'B', { progress: { epoch: 1, lsn: 77 }, gclsn: 70, reaches: ['A'] }),
    );
    expect(beatOf(next, 'B')).toBe(beatOf(state, 'B') + 1);
    expect(next.regions['B']!.report).toEqual({ progress: { epoch: 1, lsn: 77 }, gclsn: 70, reaches: ['A'] });
    expect([next.regions['A'], next.regions['C']]).toEqual([state.regions['A'], state.regions['C']]);
  });

  test.each([
    ['cannot commit', { canCommit: false }],
    ['is about to stop', { stopping: true }],
    ['has lost its data', { build: 'Building' }],
  ] as const)('of a writer that %s does not count, and of a reader it does', (_, says) => {
    // Alone, so that nobody takes over.
    const state = after(
      healthy({ minDurability: 1 }),
      (now) => heartbeat(now, 'A'),
      (now) => heartbeat(now, 'A'),
    );
    expect(beatOf(accepted(state, heartbeat(state, 'A', says)))).toBe(beatOf(state));
    expect(beatOf(accepted(state, heartbeat(state, 'B', says)), 'B')).toBe(beatOf(state, 'B') + 1);
  });

  test('rule 3: only an update of the writer itself, under the GCN in force, renews its lease', () => {
    const state = healthy();
    const others = after(
      state,
      (now) => heartbeat(now, 'B'),
      (now) => heartbeat(now, 'C', { writer: { commitSet: ['C'], caughtUp: [] } }),
    );
    expect(beatOf(others)).toBe(beatOf(state));
    expect(beatOf(accepted(others, heartbeat(others, 'A')))).toBe(beatOf(state) + 1);
    const raised = accepted(state, silence(state, 'B'));
    expect(transition(raised, heartbeat(state, 'A')).verdict).toBe('stale');
  });

  test('rule 8: a writer that reaches too few regions does not beat', () => {
    const state = healthy({ minDurability: 2 });
    const reaching = (reaches: readonly string[]) =>
      beatOf(accepted(state, heartbeat(state, 'A', { reaches })));
    expect(reaching(['C'])).toBe(beatOf(state) + 1);
    expect(reaching([])).toBe(beatOf(state));
    expect(reaching(['A', 'A', 'nowhere'])).toBe(beatOf(state));
  });

  test('rule 8 is of no concern where commits wait for nobody', () => {
    const state = healthy({ minDurability: 2, consistency: 'Session' });
    expect(beatOf(accepted(state, heartbeat(state, 'A', { reaches: [] })))).toBe(beatOf(state) + 1);
  });

  test('rule 8: such a writer is replaced once its last lease is over', () => {
    const state = healthy({ minDurability: 2 });
    const deaf = after(state, (now) => heartbeat(now, 'A', { reaches: [] }));
    expect(accepted(deaf, silence(state, 'B')).phase).toBe('Ungraceful');
  });

  test('rule 7: replication is allowed to a region once it has reported under the GCN in force', () => {
    const state = healthy();
    const raised = accepted(state, silence(state, 'B'));
    const elected = after(
      raised,
      (now) => heartbeat(now, 'B'),
      (now) => heartbeat(now, 'C'),
    );
    expect(['A', 'B', 'C'].map((name) => statusOf(elected, name))).toEqual([
      'ReadOnlyReplicationDisallowed',
      'ReadWrite',
      'ReadOnlyReplicationAllowed',
    ]);
    const back = accepted(elected, heartbeat(elected, 'A'));
    expect(statusOf(back, 'A')).toBe('ReadOnlyReplicationAllowed');
  });
});

describe('rule 2: a report belongs to a GCN and to a process', () => {
  test('rule 2: a report computed under an older GCN is stale, and changes nothing', () => {
    const state = healthy();
    const raised = accepted(state, silence(state, 'B'));
    expect(transition(raised, heartbeat(state, 'A'))).toEqual({ verdict: 'stale', state: raised });
  });

  test('rule 2: a report of an earlier process is refused', () => {
    const state = healthy();
    const restarted = accepted(state, heartbeat(state, 'B', { incarnation: 2 }));
    const verdict = transition(restarted, heartbeat(restarted, 'B', { incarnation: 1 }));
    expect(verdict).toMatchObject({
      verdict: 'refused',
      refusal: { code: 'INCARNATION_OLD', field: 'incarnation' },
    });
  });
});

describe('rule 22: a stop mark', () => {
  const stopped = () => after(healthy(), (now) => heartbeat(now, 'C', { stopping: true, incarnation: 4 }));

  test('names the process that stopped', () => {
    expect(stopped().regions['C']!.stop).toBe(4);
  });

  test('rule 22: only the next incarnation clears a stop mark', () => {
    const same = after(stopped(), (now) => heartbeat(now, 'C', { incarnation: 4 }));
    expect(same.regions['C']!.stop).toBe(4);
    const next = after(same, (now) => heartbeat(now, 'C', { incarnation: 5 }));
    expect(next.regions['C']!.stop).toBeUndefined();
  });

  test('rule 22: raising the GCN clears stop marks', () => {
    const state = stopped();
    expect(accepted(state, silence(state, 'B')).regions['C']!.stop).toBeUndefined();
  });
});

describe('what is counted in beats', () => {
  const writerBeats = (state: FailoverState, times: number) =>
    after(state, ...Array.from({ length: times }, () => (now: FailoverState) => heartbeat(now, 'A')));

  test('a region that the writer finds without a new beat three times in a row is dead, and its live beats are forgotten', () => {
    const state = writerBeats(healthy(), ENOUGH_MISSED - 1);
    expect(state.regions['B']).toMatchObject({ missed: ENOUGH_MISSED - 1, live: 3 });
    const dead = writerBeats(state, 1);
    expect(dead.regions['B']).toMatchObject({ missed: ENOUGH_MISSED, live: 0 });
    const back = after(
      dead,
      (now) => heartbeat(now, 'B'),
      (now) => heartbeat(now, 'A'),
    );
    expect(back.regions['B']).toMatchObject({ missed: 0, live: 1 });
  });

  test('a new process begins its live beats anew', () => {
    const state = after(healthy(), (now) => heartbeat(now, 'B', { incarnation: 2 }));
    expect(state.regions['B']!.live).toBe(1);
  });

  test('only scheduled beats count: an agent that polls proves nothing by it', () => {
    const state = healthy();
    const polled = after(state, (now) => heartbeat(now, 'B', { scheduled: false }));
    expect(polled.regions['B']!.live).toBe(state.regions['B']!.live);
    expect(writerBeats(state, 1).regions['A']!.good).toBe(state.regions['A']!.good! + 1);
  });

  test('twenty good beats as write region, and earlier deaths are forgiven', () => {
    const state = healthy();
    const flapped: FailoverState = {
      ...state,
      regions: { ...state.regions, A: { ...state.regions['A']!, deaths: 3, good: 0 } },
    };
    expect(writerBeats(flapped, FORGIVEN_AFTER - 1).regions['A']!.deaths).toBe(3);
    expect(writerBeats(flapped, FORGIVEN_AFTER).regions['A']!.deaths).toBeUndefined();
  });
});

describe('the lease that silence is measured by', () => {
  const shortened = (state: FailoverState): FailoverState => ({
    ...state,
    configuration: { ...state.configuration, timings: PROFILES.fast },
  });

  test('is the one that the writer’s last beat granted, not the one that was decided since', () => {
    const state = shortened(healthy());
    expect(state.leaseMs).toBe(45_000);
    expect(after(state, (now) => writerSays(now, { leaseMs: 3000 })).leaseMs).toBe(3000);
  });

  test('stays long while the writer itself holds, or may hold, a longer one: its answer may be lost', () => {
    const state = shortened(healthy());
    expect(after(state, (now) => writerSays(now, { leaseMs: 45_000 })).leaseMs).toBe(45_000);
    expect(after(state, (now) => heartbeat(now, 'A')).leaseMs).toBe(45_000);
  });

  test('rule 12: stays long while somebody may hold an older writer’s longer one', () => {
    const raised = after(shortened(healthy()), (now) => heartbeat(now, 'A', { canCommit: false }));
    const elected = after(
      raised,
      (now) => heartbeat(now, 'B'),
      (now) => heartbeat(now, 'C', { wait: { step: now.step, waitedMs: 5000 } }),
    );
    expect(elected.writer).toBe('B');
    const beaten = after(elected, (now) => writerSays(now, { leaseMs: 0 }));
    expect(beaten.leaseMs).toBe(45_000);
    const fenced = after(
      beaten,
      (now) => heartbeat(now, 'A'),
      (now) => writerSays(now, { leaseMs: 0 }),
    );
    expect(fenced.leaseMs).toBe(3000);
  });
});

describe('statistics of phase 2', () => {
  test('are kept for each region, in whole milliseconds', () => {
    const state = after(
      healthy(),
      (now) => heartbeat(now, 'B', { phase2Ms: 10.4 }),
      (now) => heartbeat(now, 'B', { phase2Ms: 20.6 }),
    );
    expect(Object.keys(state.statistics)).toEqual(['B']);
    expect(state.statistics['B']!.count).toBe(2);
    expect(Object.values(state.statistics['B']!).every(Number.isInteger)).toBe(true);
  });

  test('of a region with an unlucky name are its own', () => {
    const state = healthy({ priorities: ['constructor', 'toString'], minDurability: 1 });
    const next = accepted(state, heartbeat(state, 'constructor', { phase2Ms: 5 }));
    expect(next.statistics['constructor']).toEqual({ count: 1, average: 5, mean: 5, squares: 0 });
  });
});
