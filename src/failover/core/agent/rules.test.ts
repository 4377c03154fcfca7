/** Rules of safety that mutants found no other test for: an agent and a writer's duties where two things happen at once. */
import { expect, test } from 'vitest';
import {
  AgentScene,
  configurationOf,
  Register,
  statusOfDriver,
} from '../../../../test/failover/agent-scene.ts';
import { type FailoverState, type IntentBody, newState, transition } from '../machine/index.ts';
import { certainlyOver } from '../time.ts';
import { WriterDuties } from './duties.ts';
import { Watch } from './watch.ts';

const LEASE = 45_000;
const AT = '2026-11-15T00:00:00Z';

test('rule 7: an update that meets a raised GCN reports nothing under it, because its driver has not fenced itself yet', () => {
  const register = new Register();
  const [, observer, late] = ['a', 'b', 'c'].map((region) => {
    const agent = new AgentScene(region, register);
    agent.begin(0);
    return agent;
  });
  const silenceEndsAt = Math.ceil(certainlyOver(LEASE));
  late!.core.wake(silenceEndsAt - 1);
  observer!.core.wake(silenceEndsAt);
  observer!.answer(silenceEndsAt);
  expect(register.state).toMatchObject({ gcn: 2, phase: 'Ungraceful' });
  late!.answer(silenceEndsAt);
  expect(register.state.regions['c']!.report).toBeUndefined();
  late!.assume(silenceEndsAt);
  late!.update(silenceEndsAt);
  expect(register.state.regions['c']!.report).toBeDefined();
});

test('rule 18: a writer of a forced failover gives the writes on only when its own wait is over', () => {
  const register = new Register(configurationOf({ minDurability: 2 }));
  const [writer, target, next] = ['a', 'b', 'c'].map((region) => {
    const agent = new AgentScene(region, register);
    agent.begin(0);
    return agent;
  });
  const post = (intent: IntentBody, id: string) => {
    const verdict = transition(register.state, { type: 'intent', id, who: 'ops', at: AT, intent });
    if (verdict.verdict === 'accepted') register.state = verdict.state;
  };
  const run = (agent: AgentScene, now: number) => {
    const { role } = agent;
    agent.status = statusOfDriver(agent.region, { quiesced: role?.role !== 'writer' || !role.accepts });
    agent.core.learn(register.state, now);
    agent.assume(now);
    agent.core.onStatus(agent.status, now);
    const before = agent.updates;
    agent.core.wake(now);
    if (agent.updates > before) agent.answer(now);
    agent.assume(now);
  };
  // A hears of nothing. C alone reports and is elected by too few, so that a stays a member.
  post({ kind: 'failover', target: 'c' }, 'force');
  let now = 1000;
  for (; register.state.writer === null; now += 1000) run(next!, now);
  expect(register.state).toMatchObject({ writer: 'c', gcn: 2, leaseSet: ['a', 'b', 'c'] });
  run(target!, now);
  post({ kind: 'switchover', target: 'b' }, 'switch');
  expect(writer!.core.leaseUntil).toBe(LEASE);
  for (; register.state.gcn === 2 && now < 4 * LEASE; now += 1000)
    for (const agent of [next!, target!]) run(agent, now);
  expect(register.state).toMatchObject({ writer: 'b', gcn: 3 });
  expect(now).toBeGreaterThan(LEASE);
});

test('rule 15: a region that has left the lease set gets no grant while it is still in the commit set', () => {
  const state: FailoverState = { ...newState('ps', configurationOf()), leaseSet: ['a', 'b'] };
  const action = { do: 'accept writes', epoch: state.gcn, leaseSet: state.leaseSet } as const;
  const status = statusOfDriver('a');
  const by = { status, now: 0, isRestart: false, startedAt: 0 };
  const duties = new WriterDuties(state, action, new Watch(), by);
  const asker = { region: 'b', incarnation: 1 };
  expect(duties.grant(state, asker, LEASE, 0)).toBe(LEASE / 3);
  const left = { ...state, leaseSet: ['a'] };
  const silent = { acknowledgedMsAgo: LEASE, lsn: 0, behindMs: Infinity };
  duties.follow(left, action, { ...status, peers: { ...status.peers, b: silent } }, 1);
  expect(duties.commitSet).toContain('b');
  expect(duties.grant(left, asker, LEASE, 1)).toBe(0);
});
