/** A planned move as its agents see it: who updates when, and who leaves the register alone. */
import { describe, expect, test } from 'vitest';
import {
  AgentScene,
  configurationOf,
  Register,
  statusOfDriver,
} from '../../../../test/failover/agent-scene.ts';
import { type FailoverState, newState, transition } from '../machine/index.ts';
import { isInvolved } from './agenda.ts';
import { type Hint, hintsAfter } from './hints.ts';

const AT = '2026-11-15T00:00:00Z';
const BEGUN = 10_000;
const POLL = 1000;

interface Scene {
  readonly register: Register;
  readonly writer: AgentScene;
  readonly target: AgentScene;
  readonly other: AgentScene;
}

/** Three regions; an operator wants the writes at b, and the writer has just begun the move. */
function moving(): Scene {
  const register = new Register();
  const [writer, target, other] = ['a', 'b', 'c'].map((region) => {
    const agent = new AgentScene(region, register);
    agent.begin(0);
    return agent;
  }) as [AgentScene, AgentScene, AgentScene];
  for (const agent of [target, other]) agent.core.learn(register.state, 0);
  const intent = { kind: 'switchover', target: 'b' } as const;
  const wished = transition(register.state, { type: 'intent', id: 'i', who: 'ops', at: AT, intent });
  if (wished.verdict !== 'accepted') throw new Error('the wish was refused');
  register.state = wished.state;
  writer.core.learn(register.state, BEGUN);
  writer.core.suspended(BEGUN);
  writer.update(BEGUN);
  expect(register.state).toMatchObject({ phase: 'Graceful', target: 'b', gcn: 1 });
  return { register, writer, target, other };
}

/** When the others hear of it: before anybody polls again. */
const NOW = BEGUN + 300;

/** The target has said that it knows, and the writer has heard of it: it is to quiesce. */
function quiescing(): Scene {
  const scene = moving();
  const { register, writer, target } = scene;
  target.core.learn(register.state, NOW);
  target.update(NOW + 1);
  expect(register.state.quiesce).toBe(true);
  writer.core.learn(register.state, NOW + 2);
  expect(writer.role).toMatchObject({ role: 'writer', accepts: false });
  writer.assume(NOW + 2);
  return scene;
}

/** What the agent does while its driver's status changes every ten milliseconds. */
function askedWhile(
  { register }: Scene,
  agent: AgentScene,
  from: number,
  ms: number,
  status: (lsn: number) => object,
): { updates: number; reads: number } {
  const [updates, reads] = [agent.updates, agent.reads];
  for (let now = from; now < from + ms; now += 10) {
    agent.status = statusOfDriver(agent.region, status(now));
    agent.core.onStatus(agent.status, now);
    if (agent.core.wakeAt > now) continue;
    const before = agent.updates;
    agent.core.wake(now);
    if (agent.updates > before) agent.answer(now);
    else agent.core.learn(register.state, now);
  }
  return { updates: agent.updates - updates, reads: agent.reads - reads };
}

describe('a region that the move goes past', () => {
  test('does not look at the register more often than in quiet times', () => {
    const { register, other } = moving();
    other.core.learn(register.state, NOW);
    expect(other.core.wakeAt).toBeGreaterThan(NOW + 5 * POLL);
  });

  test('does when a writer is being elected', () => {
    const { register, other } = moving();
    const intent = { kind: 'failover' } as const;
    const raised = transition(register.state, { type: 'intent', id: 'j', who: 'ops', at: AT, intent });
    if (raised.verdict !== 'accepted') throw new Error('the failover was refused');
    other.core.learn(raised.state, NOW);
    other.assume(NOW);
    register.state = raised.state;
    other.update(NOW);
    expect(other.core.wakeAt).toBeLessThanOrEqual(NOW + POLL);
  });

  test.each([
    ['Steady', 'a', false],
    ['Steady', 'b', false],
    ['Graceful', 'a', true],
    ['Graceful', 'b', true],
    ['Graceful', 'c', false],
    ['Ungraceful', 'a', true],
    ['Ungraceful', 'c', true],
  ] as const)('%s waits for %s: %s', (phase, region, isWaitedFor) => {
    const steady = newState('ps', configurationOf());
    const state = { ...steady, phase, ...(phase === 'Graceful' && { target: 'b' }) };
    expect(isInvolved(state, region)).toBe(isWaitedFor);
  });
});

describe('the target of a move', () => {
  test('says at once that it knows of it', () => {
    const { register, target } = moving();
    target.core.learn(register.state, NOW);
    expect(target.core.wakeAt).toBeLessThanOrEqual(NOW);
    target.update(NOW + 1);
    expect(register.state.quiesce).toBe(true);
  });

  test('says so once: to learn of the same step again is no news', () => {
    const { register, target } = quiescing();
    const now = NOW + 50;
    target.update(now);
    target.core.learn(register.state, now);
    expect(target.core.wakeAt).toBeGreaterThan(now);
  });

  test('updates at once when it hears that something has happened within the step', () => {
    const { register, writer, target } = quiescing();
    const now = NOW + 50;
    target.status = statusOfDriver('b', { progress: { epoch: 1, lsn: 9 }, gclsn: 9 });
    target.update(now);
    writer.status = statusOfDriver('a', { quiesced: true });
    writer.core.onStatus(writer.status, now);
    writer.hints.length = 0;
    writer.update(now);
    expect(register.state).toMatchObject({ phase: 'Graceful', final: { epoch: 1, lsn: 10 } });
    target.status = statusOfDriver('b');
    const { reads } = target;
    for (const hint of writer.hints.splice(0)) target.core.onHint(hint, now + 5);
    expect(target.core.wakeAt).toBeLessThanOrEqual(now + 5);
    expect(target.reads).toBe(reads);
    target.update(now + 5);
    expect(register.state).toMatchObject({ phase: 'Steady', writer: 'b', gcn: 2 });
  });

  test('that a hint of the same step reaches is the only one that updates', () => {
    const { register, writer, other } = quiescing();
    const hint = { hint: 'phase', gcn: 1, step: register.state.step } as const;
    other.core.learn(register.state, NOW + 2);
    for (const agent of [writer, other]) {
      const { wakeAt } = agent.core;
      const { reads } = agent;
      agent.core.onHint(hint, NOW + 3);
      expect(agent.core.wakeAt).toBe(wakeAt);
      expect(agent.reads).toBe(reads);
    }
  });

  test('updates at once when it has all of the final report, and not before', () => {
    const { register, writer, target } = quiescing();
    const now = NOW + 50;
    target.status = statusOfDriver('b', { progress: { epoch: 1, lsn: 8 }, gclsn: 8 });
    target.update(now);
    writer.status = statusOfDriver('a', { quiesced: true });
    writer.core.onStatus(writer.status, now);
    writer.update(now);
    target.core.learn(register.state, now + 1);
    expect(register.state.final).toEqual({ epoch: 1, lsn: 10 });
    const status = (lsn: number): ReturnType<typeof statusOfDriver> =>
      statusOfDriver('b', { progress: { epoch: 1, lsn }, gclsn: lsn });
    target.core.onStatus(status(9), now + 2);
    expect(target.core.wakeAt).toBeGreaterThan(now + 2);
    target.core.onStatus(status(10), now + 3);
    expect(target.core.wakeAt).toBeLessThanOrEqual(now + 3);
  });
});

describe('the writer of a move', () => {
  test('updates at once when it is quiesced', () => {
    const { register, writer } = quiescing();
    expect(writer.core.wakeAt).toBeGreaterThan(NOW + 10);
    writer.status = statusOfDriver('a', { quiesced: true });
    writer.core.onStatus(writer.status, NOW + 10);
    expect(writer.core.wakeAt).toBeLessThanOrEqual(NOW + 10);
    writer.update(NOW + 10);
    expect(register.state.writer).toBe('b');
  });

  test('only looks while the target has not been heard, and not at every write that its driver tells of', () => {
    const scene = moving();
    const status = (lsn: number): object => ({ progress: { epoch: 1, lsn }, gclsn: lsn });
    const { updates, reads } = askedWhile(scene, scene.writer, NOW, 5 * POLL, status);
    expect(updates).toBeLessThanOrEqual(1);
    expect(reads).toBeGreaterThan(3);
    expect(reads).toBeLessThanOrEqual(6);
  });

  test('nor while the writes that are under way come to their end', () => {
    const scene = quiescing();
    const status = (lsn: number): object => ({ gclsn: lsn, quiesced: false });
    expect(askedWhile(scene, scene.writer, NOW + 10, 5 * POLL, status).updates).toBeLessThanOrEqual(6);
  });

  test('nor when it has made its final report: there is nothing to add', () => {
    const scene = quiescing();
    const { register, writer, target } = scene;
    target.status = statusOfDriver('b', { progress: { epoch: 1, lsn: 9 }, gclsn: 9 });
    target.update(NOW + 5);
    writer.status = statusOfDriver('a', { quiesced: true });
    writer.core.onStatus(writer.status, NOW + 10);
    writer.update(NOW + 10);
    expect(register.state.final).toBeDefined();
    const { updates } = askedWhile(scene, writer, NOW + 20, 5 * POLL, () => ({ quiesced: true }));
    expect(updates).toBeLessThanOrEqual(6);
  });

  test('says in updates that the move takes too long', () => {
    const scene = moving();
    const { leaseMs } = scene.register.state.configuration.timings;
    const { updates } = askedWhile(scene, scene.writer, NOW + leaseMs / 3, 5 * POLL, () => ({}));
    expect(updates).toBeGreaterThan(3);
  });

  test('that finds by a look that the target has stopped gives the move up with its next poll', () => {
    const { register, writer, target } = moving();
    target.core.learn(register.state, NOW);
    target.core.stop(NOW);
    target.update(NOW);
    expect(register.state.phase).toBe('Graceful');
    writer.core.learn(register.state, NOW + POLL);
    writer.update(NOW + 3 * POLL);
    expect(register.state).toMatchObject({ phase: 'Steady', writer: 'a' });
  });

  test('of which the target looks on until the final report is there', () => {
    const scene = quiescing();
    const { updates, reads } = askedWhile(scene, scene.target, NOW + 10, 5 * POLL, () => ({}));
    expect(updates).toBeLessThanOrEqual(1);
    expect(reads).toBeGreaterThan(3);
  });

  test('moves on at once when a look has shown the target the final report', () => {
    const { register, writer, target } = quiescing();
    target.status = statusOfDriver('b', { progress: { epoch: 1, lsn: 9 }, gclsn: 9 });
    target.update(NOW + 5);
    writer.status = statusOfDriver('a', { quiesced: true });
    writer.core.onStatus(writer.status, NOW + 10);
    writer.update(NOW + 10);
    const { final } = register.state;
    target.status = statusOfDriver('b', { progress: final!, gclsn: final!.lsn });
    target.core.onStatus(target.status, NOW + 20);
    const now = NOW + 2 * POLL;
    target.core.learn(register.state, now);
    expect(target.core.wakeAt).toBeLessThanOrEqual(now);
  });
});

describe('what the peers are told after an update', () => {
  const steady = { ...newState('ps', configurationOf()), gcn: 3, step: 7 };
  const graceful: FailoverState = { ...steady, phase: 'Graceful', target: 'b' };
  const renewed = { beat: 5, isRenewal: true, step: 7 };
  const said = { beat: 5, isRenewal: false, step: 7 };

  const beat = { hint: 'beat', gcn: 3, writer: 'a', beat: 5 } as const;
  const phase = { hint: 'phase', gcn: 3, step: 7 } as const;
  const final: FailoverState = { ...graceful, quiesce: true, final: { epoch: 3, lsn: 9 } };
  const electing: FailoverState = { ...steady, phase: 'Ungraceful', writer: null };

  test.each<[string, FailoverState, typeof said | undefined, boolean, readonly Hint[]]>([
    ['a new step', steady, { ...renewed, step: 6 }, false, [phase]],
    ['a beat', steady, renewed, false, [beat]],
    ['a beat of one that stops', steady, renewed, true, [beat]],
    ['a beat during a move: no more than that', graceful, renewed, false, [beat]],
    ['a final report, which is a beat too', final, renewed, false, [beat, phase]],
    ['what the target says of a move', graceful, said, false, [phase]],
    ['a report during a move of which nothing is known', graceful, undefined, false, [phase]],
    ['a report to an election', electing, said, false, [phase]],
    ['a report to an election of one that stops', electing, said, true, [phase]],
    ['a stop mark, as if it were the next step', steady, said, true, [{ ...phase, step: 8 }]],
    ['nothing of a reader’s heartbeat', steady, said, false, []],
    ['nothing of an update that was not done', steady, undefined, false, []],
  ])('%s', (_, state, done, isStopping, hints) => {
    expect(hintsAfter(state, done, isStopping)).toEqual(hints);
  });
});
