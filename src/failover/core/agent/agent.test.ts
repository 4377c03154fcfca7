import { describe, expect, test } from 'vitest';
import {
  AgentScene,
  configurationOf,
  REGIONS,
  Register,
  statusOfDriver,
} from '../../../../test/failover/agent-scene.ts';
import { transition } from '../machine/index.ts';
import { certainlyOver } from '../time.ts';

const LEASE = 45_000;
const INTERVAL = 30_000;
const AT = '2026-11-15T00:00:00Z';

function writerAt(now: number): { register: Register; writer: AgentScene } {
  const register = new Register();
  const writer = new AgentScene('a', register, { now });
  writer.begin(now);
  return { register, writer };
}

describe('the lease (rule 3)', () => {
  test('comes from an own update that raised the beat, and runs from its start', () => {
    const { writer } = writerAt(0);
    expect(writer.role).toMatchObject({ role: 'writer', epoch: 1, accepts: true });
    expect(writer.core.leaseUntil).toBe(LEASE);
    writer.update(INTERVAL, 700);
    expect(writer.core.leaseUntil).toBe(INTERVAL + LEASE);
  });

  test('does not come from a read, however fresh', () => {
    const { register, writer } = writerAt(0);
    writer.core.learn(register.state, 40_000);
    expect(writer.core.leaseUntil).toBe(LEASE);
  });

  test('is not renewed by an update whose outcome is unknown, though it was carried out', () => {
    const { writer } = writerAt(0);
    writer.core.wake(INTERVAL);
    writer.carryOut(INTERVAL);
    writer.core.fail(INTERVAL + 10_000);
    expect(writer.core.leaseUntil).toBe(LEASE);
  });

  test('is not renewed by a writer that cannot commit', () => {
    const { writer } = writerAt(0);
    writer.status = statusOfDriver('a', { canCommit: false });
    writer.update(INTERVAL);
    expect(writer.core.leaseUntil).toBeLessThanOrEqual(LEASE);
  });

  test('ends by itself: the writer stops accepting without hearing from anybody', () => {
    const { writer } = writerAt(0);
    writer.core.wake(INTERVAL);
    expect(writer.core.wakeAt).toBe(LEASE);
    writer.core.wake(LEASE);
    expect(writer.role).toMatchObject({ role: 'writer', accepts: false });
    expect(writer.events).toContainEqual({ event: 'lease lost', gcn: 1 });
  });

  test('is lost with a suspension, and comes back with the next update', () => {
    const { writer } = writerAt(0);
    writer.core.suspended(10_000);
    expect(writer.role).toMatchObject({ accepts: false });
    writer.update(10_000);
    expect(writer.role).toMatchObject({ accepts: true });
  });

  test('a restarted writer has none, and acts only after an update of its own (rule 2)', () => {
    const { register } = writerAt(0);
    const next = new AgentScene('a', register, { incarnation: 2, now: 5000 });
    next.core.wake(5000);
    next.core.learn(register.state, 5000);
    expect(next.role).toEqual({ role: 'fenced', epoch: 1 });
    expect(next.core.leaseUntil).toBe(-Infinity);
    next.assume(5000);
    next.update(5000);
    expect(next.role).toMatchObject({ role: 'writer', accepts: true, commitSet: ['a', 'b', 'c'] });
  });
});

describe('a lease that is changed', () => {
  const timings = { intervalMs: 1000, leaseMs: 3000, settleMs: 300 };
  const decide = (register: Register, id: string, leaseMs: number): void => {
    const intent = { kind: 'timings', timings: { ...timings, leaseMs } } as const;
    const verdict = transition(register.state, { type: 'intent', id, who: 'ops', at: AT, intent });
    if (verdict.verdict === 'accepted') register.state = verdict.state;
  };

  test('rule 4: silence is measured by the longest grant, however short the leases have become', () => {
    const { register, writer } = writerAt(0);
    writer.assume(0);
    expect(writer.core.grant({ region: 'b', incarnation: 1 }, 29_000)).toBe(15_000);
    const endsAt = 29_000 + certainlyOver(15_000);
    decide(register, 'shorter', 3000);
    writer.update(INTERVAL);
    expect(register.state.leaseMs).toBe(LEASE);
    const measured = [31_100, 33_000, 36_000, 40_000].map((now) => {
      writer.update(now);
      expect(writer.core.leaseUntil).toBe(now + 3000);
      return register.state.leaseMs - Math.ceil(endsAt - now);
    });
    expect(measured).toEqual([0, 0, 0, 0]);
    writer.update(42_000);
    expect(register.state.leaseMs).toBe(3000);
  });

  test('rule 4: also by what an earlier process may have granted', () => {
    const { register, writer } = writerAt(0);
    writer.core.grant({ region: 'b', incarnation: 1 }, 1000);
    decide(register, 'shorter', 3000);
    const next = new AgentScene('a', register, { incarnation: 2, now: 2000 });
    next.begin(2000);
    expect(register.state.leaseMs).toBe(LEASE);
    next.update(4000);
    expect(register.state.leaseMs).toBe(Math.ceil(2000 + certainlyOver(LEASE) - 4000));
    next.update(48_000);
    expect(register.state.leaseMs).toBe(3000);
  });

  test('is no longer than what silence is measured by, though a longer one was decided before the answer', () => {
    const { register, writer } = writerAt(0);
    writer.core.wake(INTERVAL);
    writer.carryOut(INTERVAL);
    decide(register, 'longer', 90_000);
    writer.core.finish(register.state, 'accepted', INTERVAL, { attemptMs: 0 });
    expect(register.state.leaseMs).toBe(LEASE);
    expect(writer.core.leaseUntil).toBe(INTERVAL + LEASE);
    writer.update(2 * INTERVAL);
    expect(writer.core.leaseUntil).toBe(2 * INTERVAL + 90_000);
  });
});

describe('an update that fails', () => {
  test('is tried again soon, then less often, and never so late that the lease is lost over it', () => {
    const { writer } = writerAt(0);
    const triedAt: number[] = [];
    for (let now = INTERVAL; now < 56_000; now = writer.core.wakeAt) {
      const before = writer.updates;
      writer.core.wake(now);
      if (writer.updates === before) continue;
      triedAt.push(now);
      writer.core.fail(now);
    }
    expect(triedAt).toEqual([30_000, 31_000, 33_000, 37_000, 43_000, 49_000, 55_000]);
  });
});

describe('an update that nobody waits for', () => {
  test('is a heartbeat while nothing is going on, as long as it is under way', () => {
    const { writer } = writerAt(0);
    expect(writer.core.isRoutine).toBe(false);
    writer.core.wake(INTERVAL);
    expect(writer.core.isRoutine).toBe(true);
    writer.answer(INTERVAL);
    expect(writer.core.isRoutine).toBe(false);
  });

  test('is none out of turn', () => {
    const { writer } = writerAt(0);
    writer.core.stop(1000);
    const { updates } = writer;
    writer.core.wake(1000);
    expect(writer.updates).toBe(updates + 1);
    expect(writer.core.isRoutine).toBe(false);
  });

  test('is none while the writes are on their way, though it is a heartbeat', () => {
    const { register, writer } = writerAt(0);
    new AgentScene('b', register, { now: 10 }).begin(10);
    const intent = { kind: 'switchover', target: 'b' } as const;
    const at = '2026-11-15T00:00:00Z';
    const wished = transition(register.state, { type: 'intent', id: 'i', who: 'ops', at, intent });
    register.state = (wished as { readonly state: typeof register.state }).state;
    writer.core.learn(register.state, 20);
    writer.update(INTERVAL);
    expect(register.state.phase).toBe('Graceful');
    writer.core.wake(2 * INTERVAL + 1000);
    expect(writer.core.isRoutine).toBe(false);
  });

  test('is not the first one, before which nothing is known', () => {
    const agent = new AgentScene('a', new Register());
    agent.core.wake(0);
    agent.core.begin(0);
    agent.core.wake(0);
    expect(agent.updates).toBe(1);
    expect(agent.core.isRoutine).toBe(false);
  });
});

describe('observing the writer (rule 4)', () => {
  test('wakes when the wait is over, not at the next heartbeat, and raises the GCN', () => {
    const { register } = writerAt(0);
    const observer = new AgentScene('b', register, { now: 1000 });
    observer.begin(1000);
    observer.update(31_000);
    const due = Math.ceil(1000 + certainlyOver(LEASE));
    while (observer.core.wakeAt < due) {
      const at = observer.core.wakeAt;
      observer.core.wake(at);
      observer.core.missed();
    }
    expect(observer.core.wakeAt).toBe(due);
    observer.update(due);
    expect(register.state).toMatchObject({ gcn: 2, phase: 'Ungraceful', writer: null });
  });

  test('a beat hint restarts the wait without a read', () => {
    const { register, writer } = writerAt(0);
    const observer = new AgentScene('b', register, { now: 1000 });
    observer.begin(1000);
    writer.update(INTERVAL);
    expect(writer.hints.at(-1)).toMatchObject({ hint: 'beat', gcn: 1, writer: 'a' });
    observer.core.onHint(writer.hints.at(-1)!, INTERVAL + 100);
    expect(observer.reads).toBe(1);
    observer.update(31_000);
    observer.update(INTERVAL + LEASE);
    expect(register.state.gcn).toBe(1);
  });

  test('a hint that is overdue makes it read', () => {
    const { register } = writerAt(0);
    const observer = new AgentScene('b', register, { now: 1000 });
    observer.begin(1000);
    const before = observer.reads;
    observer.update(31_000);
    observer.core.wake(1000 + INTERVAL * 1.1);
    expect(observer.reads).toBe(before + 1);
  });
});

describe('fence first, then report (rule 7)', () => {
  test('no update under a new GCN before the driver has fenced itself', () => {
    const { register } = writerAt(0);
    const reader = new AgentScene('c', register, { now: 0 });
    reader.begin(0);
    const raised = transition(register.state, {
      type: 'intent',
      id: 'i1',
      who: 'test',
      at: '2026-11-15T00:00:00Z',
      intent: { kind: 'failover' },
    });
    if (raised.verdict !== 'accepted') throw new Error('the failover was refused');
    register.state = raised.state;
    reader.core.onHint({ hint: 'phase', gcn: 2, step: 2 }, 10);
    reader.core.learn(register.state, 20);
    expect(reader.role).toEqual({ role: 'fenced', epoch: 2 });
    expect(reader.core.wakeAt).toBe(Infinity);
    reader.assume(30);
    expect(reader.core.wakeAt).toBeLessThanOrEqual(30);
    expect(reader.update(30).verdict).toBe('accepted');
    expect(register.state.regions['c']?.report).toBeDefined();
  });
});

describe('a region that was elected', () => {
  test('asks for its lease at once, though it has only just reported', () => {
    const { register } = writerAt(0);
    const elected = new AgentScene('b', register, { now: 0 });
    const other = new AgentScene('c', register, { now: 0 });
    for (const scene of [elected, other]) scene.begin(0);
    const raisedAt = Math.ceil(certainlyOver(LEASE)) + 1;
    elected.update(raisedAt);
    for (const scene of [elected, other]) {
      if (scene === other) scene.core.learn(register.state, raisedAt);
      scene.assume(raisedAt);
      scene.update(raisedAt);
    }
    expect(register.state).toMatchObject({ gcn: 2, phase: 'Steady', writer: 'b' });
    elected.core.learn(register.state, raisedAt + 5);
    expect(elected.role).toMatchObject({ role: 'writer', accepts: false });
    expect(elected.core.wakeAt).toBe(raisedAt + 5);
    elected.update(raisedAt + 5);
    expect(elected.role).toMatchObject({ role: 'writer', epoch: 2, accepts: true });
  });
});

describe('a planned stop (rule 22)', () => {
  test('the writer gives the writes away, fences itself, leaves its mark, and rests', () => {
    const { register, writer } = writerAt(0);
    const other = new AgentScene('b', register, { now: 0 });
    other.begin(0);
    writer.core.stop(1000);
    writer.update(1000);
    expect(register.state).toMatchObject({ gcn: 2, phase: 'Ungraceful' });
    writer.assume(1000);
    writer.update(1000);
    expect(register.state.regions['a']?.stop).toBe(1);
    expect(writer.events).toContainEqual({ event: 'stopped' });
    expect(writer.core.leaseUntil).toBe(-Infinity);
  });
});

describe('a reader that stops (rule 22)', () => {
  test('leaves its mark, and has the writer look at once', () => {
    const { register } = writerAt(0);
    const reader = new AgentScene('b', register, { now: 0 });
    reader.begin(0);
    reader.hints.length = 0;
    reader.core.stop(1000);
    reader.update(1000);
    expect(register.state.regions['b']?.stop).toBe(1);
    const { gcn, step } = register.state;
    expect(reader.hints).toEqual([{ hint: 'phase', gcn, step: step + 1 }]);
  });
});

describe('a reader that is told to be something', () => {
  test('rule 2: takes a region that was removed and added again for no older one', () => {
    const register = new Register();
    const [writer, other, away] = ['a', 'b', 'c'].map((region) => new AgentScene(region, register));
    for (const agent of [writer!, other!, away!]) agent.begin(0);
    other!.core.learn(register.state, 0);
    const post = (id: string, kind: 'remove region' | 'add region') => {
      const intent = { kind, target: 'c' } as const;
      const posted = transition(register.state, { type: 'intent', id, who: 'ops', at: AT, intent });
      if (posted.verdict === 'accepted') register.state = posted.state;
    };
    post('out', 'remove region');
    // It is gone when it is in neither set; meanwhile b hears of nothing.
    for (let now = 30_000; register.state.regions['c'] !== undefined && now < 200_000; now += 1000) {
      writer!.core.learn(register.state, now);
      const before = writer!.updates;
      writer!.core.wake(now);
      if (writer!.updates > before) writer!.answer(now);
      writer!.assume(now);
    }
    expect(register.state.regions['c']).toBeUndefined();
    post('in', 'add region');
    other!.core.learn(register.state, 200_000);
    expect(other!.core.state).toBe(register.state);
  });

  test('asks for a stronger level when all that was acknowledged before its driver kept it is everywhere', () => {
    const register = new Register(configurationOf({ consistency: 'Eventual' }));
    const [writer, ...others] = REGIONS.map((name) => new AgentScene(name, register, { now: 0 }));
    for (const scene of [writer!, ...others]) scene.begin(0);
    writer!.update(INTERVAL);
    const { configuration } = register.state;
    const wanted = { consistency: 'Strong' } as const;
    register.state = { ...register.state, configuration: { ...configuration, version: 2, wanted } };
    writer!.core.learn(register.state, INTERVAL + 1);
    expect(writer!.role).toMatchObject({ keeps: { level: 'Strong' }, serves: { level: 'Eventual' } });
    // Until the driver kept the new level it went on acknowledging by itself.
    writer!.status = statusOfDriver('a', { progress: { epoch: 1, lsn: 12 } });
    writer!.assume(INTERVAL + 2);
    writer!.update(2 * INTERVAL);
    expect(register.state.configuration).toMatchObject({ consistency: 'Eventual', wanted });
    const peer = { acknowledgedMsAgo: 0, lsn: 12, behindMs: 0 };
    writer!.status = { ...writer!.status, peers: { b: peer, c: peer } };
    writer!.update(3 * INTERVAL);
    expect(register.state.configuration.consistency).toBe('Strong');
    expect(register.state.leaseSet).toEqual(REGIONS);
  });

  test('follows the writer, fences itself on a new GCN, and leaves when it was removed', () => {
    const { register } = writerAt(0);
    const reader = new AgentScene('b', register, { now: 0 });
    reader.begin(0);
    expect(reader.role).toEqual({ role: 'reader', epoch: 1, writer: 'a', serves: { level: 'Strong' } });
    const { b: _, ...regions } = register.state.regions;
    register.state = { ...register.state, regions, removed: ['b'], leaseSet: ['a', 'c'] };
    reader.update(INTERVAL);
    expect(reader.role).toEqual({ role: 'gone' });
  });

  test('asks to be told at once when it is new', () => {
    const register = new Register(configurationOf());
    const reader = new AgentScene('c', register, { now: 0 });
    reader.core.wake(0);
    expect(reader.reads).toBe(1);
    expect(reader.updates).toBe(0);
  });
});
