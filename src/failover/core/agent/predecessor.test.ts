/** Rule 13 where a directory was last used elsewhere: an earlier process of the region may still have rights. */
import { describe, expect, test } from 'vitest';
import { AgentScene, Register } from '../../../../test/failover/agent-scene.ts';
import { newState } from '../machine/index.ts';
import { configurationOf, statusOfDriver } from '../../../../test/failover/agent-scene.ts';
import { certainlyOver } from '../time.ts';
import { WriterDuties } from './duties.ts';
import { Watch } from './watch.ts';

const LEASE = 45_000;
const BEGUN = 1_000_000;
const OVER = Math.ceil(BEGUN + certainlyOver(LEASE));

/** The second life of that region. */
function restarted(region: string, register: Register, isDirectoryStrange: boolean): AgentScene {
  const agent = new AgentScene(region, register, { incarnation: 2, now: BEGUN, isDirectoryStrange });
  agent.begin(BEGUN);
  return agent;
}

/** Its heartbeats go on, as they would. */
function liveUntil(agent: AgentScene, until: number): void {
  for (let { wakeAt } = agent.core; wakeAt < until; { wakeAt } = agent.core) {
    const before = agent.updates;
    agent.core.wake(wakeAt);
    if (agent.updates > before) agent.answer(wakeAt);
    agent.assume(wakeAt);
  }
}

describe('rule 13: a region whose directory was last used elsewhere', () => {
  test('writes only when whatever runs there can have no lease any more, a whole lease after its own first update', () => {
    const register = new Register();
    new AgentScene('a', register).begin(0);
    const agent = restarted('a', register, true);
    expect(register.state).toMatchObject({ writer: 'a', regions: { a: { incarnation: 2 } } });
    expect(agent.role).toMatchObject({ role: 'writer', accepts: false });
    liveUntil(agent, OVER - 1);
    expect(agent.role).toMatchObject({ role: 'writer', accepts: false });
    expect(agent.core.mayAct(OVER - 1)).toBe(false);
    liveUntil(agent, OVER + 1);
    expect(agent.role).toMatchObject({ role: 'writer', accepts: true });
    expect(agent.core.mayAct(OVER)).toBe(true);
  });

  test('follows no writer before, because its acknowledgements would count while the other still reads', () => {
    const register = new Register();
    for (const region of ['a', 'b']) new AgentScene(region, register).begin(0);
    const agent = restarted('b', register, true);
    expect(agent.role).toMatchObject({ role: 'fenced' });
    expect(agent.core.wakeAt).toBeLessThanOrEqual(OVER);
    agent.core.wake(OVER);
    agent.core.learn(register.state, OVER);
    expect(agent.role).toMatchObject({ role: 'reader', writer: 'a' });
  });

  test('does not wait where there was no earlier process', () => {
    const register = new Register();
    const agent = new AgentScene('a', register, { incarnation: 7, now: BEGUN, isDirectoryStrange: true });
    agent.begin(BEGUN);
    expect(agent.role).toMatchObject({ role: 'writer', accepts: true });
  });

  test('does not wait where the kernel of this machine has told that the earlier process is gone', () => {
    const register = new Register();
    new AgentScene('a', register).begin(0);
    expect(restarted('a', register, false).role).toMatchObject({ role: 'writer', accepts: true });
  });
});

test('rule 15: a process that a later one of its region has replaced gets no grant any more', () => {
  const before = newState('ps', configurationOf());
  const action = { do: 'accept writes', epoch: before.gcn, leaseSet: before.leaseSet } as const;
  const by = { status: statusOfDriver('a'), now: 0, isRestart: false, startedAt: 0 };
  const duties = new WriterDuties(before, action, new Watch(), by);
  const state = { ...before, regions: { ...before.regions, b: { ...before.regions['b']!, incarnation: 2 } } };
  expect(duties.grant(state, { region: 'b', incarnation: 1 }, LEASE, 0)).toBe(0);
  expect(duties.grant(state, { region: 'b', incarnation: 2 }, LEASE, 0)).toBe(LEASE / 3);
});
