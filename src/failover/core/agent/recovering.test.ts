/** A writer that has restarted recovers its log first; here is what its agent tells the driver, and what it says meanwhile. */
import { beforeEach, describe, expect, test } from 'vitest';
import {
  AgentScene,
  configurationOf,
  Register,
  statusOfDriver,
} from '../../../../test/failover/agent-scene.ts';
import { certainlyOver } from '../time.ts';

const LEASE = 45_000;
const THIRD = LEASE / 3;
const STARTED = 1000;

const nobody = { acknowledgedMsAgo: Infinity, lsn: 0, behindMs: Infinity };
const unheard = { b: nobody, c: nobody };

let register: Register;

/** `a` writes, and its next process begins. */
function restarted(): AgentScene {
  const scene = new AgentScene('a', register, { incarnation: 2, now: STARTED });
  scene.status = statusOfDriver('a', { recovering: true, peers: unheard });
  scene.begin(STARTED);
  return scene;
}

/** Whatever is due by then, and one whole update. */
function update(scene: AgentScene, at: number): void {
  const before = scene.updates;
  for (let count = 0; count < 5 && scene.updates === before; count += 1) scene.core.wake(at);
  scene.answer(at);
}

beforeEach(() => {
  register = new Register(configurationOf({ minDurability: 1 }));
  for (const region of ['a', 'b', 'c']) new AgentScene(region, register).begin(0);
});

describe('while the driver of a writer recovers', () => {
  test('it is told who has what is committed', () => {
    const { role } = restarted();
    expect(role).toMatchObject({ role: 'writer', commitSet: ['a', 'b', 'c'], leaseSet: ['a', 'b', 'c'] });
  });

  test('nobody leaves the lease set: what the writer lacks may be there', () => {
    const scene = restarted();
    const before = scene.updates;
    for (const at of [2000, 5000, 10_000]) scene.core.wake(STARTED + at);
    // It has nothing to ask for.
    expect(scene.updates).toBe(before);
    expect(register.state.leaseSet).toEqual(['a', 'b', 'c']);
  });

  test('a third of a lease later it says that it cannot commit, and the writes go to who can', () => {
    const scene = restarted();
    expect(scene.core.wakeAt).toBeLessThanOrEqual(STARTED + THIRD);
    update(scene, STARTED + THIRD);
    expect(register.state).toMatchObject({ gcn: 2, phase: 'Ungraceful', raise: { cause: 'unable' } });
  });

  test('it goes on by itself when nobody has taken the writes in two leases', () => {
    const scene = restarted();
    const alone = STARTED + 2 * certainlyOver(LEASE);
    // The others are dead: they beat no more, and nobody raises the GCN.
    for (const name of ['b', 'c']) {
      const region = register.state.regions[name]!;
      register.state = {
        ...register.state,
        regions: { ...register.state.regions, [name]: { ...region, missed: 3 } },
      };
    }
    const beatOf = (): number => register.state.regions['a']!.beat;
    const beat = beatOf();
    update(scene, STARTED + THIRD);
    update(scene, alone - 1000);
    expect(beatOf()).toBe(beat);
    expect(scene.role).toMatchObject({ role: 'writer', leaseSet: ['a', 'b', 'c'] });
    update(scene, alone);
    expect(scene.role).toMatchObject({ role: 'writer', leaseSet: ['a'] });
    expect(beatOf()).toBeGreaterThan(beat);
  });

  test('at a weaker level it goes on by itself after a third of a lease, and hands over when that takes longer', () => {
    register.state = { ...register.state, configuration: configurationOf({ consistency: 'Session' }) };
    const scene = restarted();
    expect(scene.core.wakeAt).toBeLessThanOrEqual(STARTED + THIRD);
    scene.core.wake(STARTED + THIRD - 100);
    expect(scene.role).toMatchObject({ role: 'writer', leaseSet: ['a', 'b', 'c'] });
    update(scene, STARTED + THIRD);
    expect(scene.role).toMatchObject({ role: 'writer', leaseSet: ['a'] });
    expect(register.state).toMatchObject({ gcn: 1, phase: 'Steady' });
    update(scene, STARTED + 2 * THIRD);
    expect(register.state).toMatchObject({ gcn: 2, phase: 'Ungraceful', raise: { cause: 'unable' } });
  });

  test('when it is over the role says nothing of it', () => {
    const scene = restarted();
    scene.status = statusOfDriver('a');
    scene.core.onStatus(scene.status, STARTED + 20);
    expect(scene.role).toMatchObject({ role: 'writer', accepts: true });
    expect(scene.role).not.toHaveProperty('leaseSet');
  });
});

test('a copy that is being built is never the writer', () => {
  const scene = new AgentScene('a', register, { incarnation: 2, now: STARTED });
  scene.status = statusOfDriver('a', { build: 'Building', progress: { epoch: 0, lsn: 0 } });
  scene.begin(STARTED);
  scene.update(STARTED + 2000);
  expect(scene.roles.filter(({ role }) => role === 'writer')).toEqual([]);
  expect(register.state).toMatchObject({ phase: 'Ungraceful', raise: { cause: 'unable' } });
});

test('a reader is told from which GCN on nothing is given up', () => {
  register.state = { ...register.state, sureFrom: 1 };
  const scene = new AgentScene('b', register, { incarnation: 2, now: STARTED });
  scene.begin(STARTED);
  expect(scene.role).toMatchObject({ role: 'reader', epoch: 1, writer: 'a', sureFrom: 1 });
});
