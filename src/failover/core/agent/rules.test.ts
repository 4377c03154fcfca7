/** Rules of safety that mutants found no other test for: an agent and a writer's duties where two things happen at once. */
import { expect, test } from 'vitest';
import {
  AgentScene,
  configurationOf,
  Register,
  statusOfDriver,
} from '../../../../test/failover/agent-scene.ts';
import { type FailoverState, newState } from '../machine/index.ts';
import { certainlyOver } from '../time.ts';
import { WriterDuties } from './duties.ts';
import { Watch } from './watch.ts';

const LEASE = 45_000;

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
