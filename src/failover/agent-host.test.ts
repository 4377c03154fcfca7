import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { awayFromHome, Homebound, StillDriver, UNHURRIED } from '../../test/failover/homebound.ts';
import { healthy } from '../../test/failover/reports.ts';
import { AgentHost, type FailoverState } from './index.ts';

const PLACES = 64;
const INTERVAL = UNHURRIED.intervalMs;

let home: Homebound;
let host: AgentHost;

beforeEach(() => {
  home = new Homebound();
});

afterEach(() => host.close());

/** A process of that region with so many partition-sets, whose first heartbeats come when the test says. */
async function processOf(
  region: string,
  count: number,
  state: FailoverState,
  beatsIn: (at: number) => number = () => INTERVAL / 2,
  sendHint?: () => void,
): Promise<readonly string[]> {
  host = new AgentHost({ region, cluster: home.cluster, host: home.time, ...(sendHint && { sendHint }) });
  return addSets(count, 'p', region, state, beatsIn);
}

async function addSets(
  count: number,
  name: string,
  region: string,
  state: FailoverState,
  beatsIn: (at: number) => number,
): Promise<readonly string[]> {
  const sets = Array.from({ length: count }, (_, at) => `${name}${at}`);
  for (const [at, partitionSet] of sets.entries()) {
    home.make(partitionSet, state);
    // The host draws a half.
    await host.add({ partitionSet, driver: new StillDriver(region), spreadMs: 2 * beatsIn(at) });
  }
  return sets;
}

function atHome(): FailoverState {
  return healthy({ priorities: ['a', 'b', 'c'], timings: UNHURRIED });
}

describe('a process that writes for a region that is back', () => {
  test('sends 64 partition-sets home at a time, and the next when one has arrived or is removed', async () => {
    const sets = await processOf('a', PLACES + 2, awayFromHome());
    await home.pass(3 * INTERVAL);
    expect(home.moving).toHaveLength(PLACES);
    const held = sets.filter((name) => !home.moving.includes(name));
    expect(held.map((name) => host.agentOf(name)!.mayWrite())).toEqual([true, true]);

    const arrived = home.moving[0]!;
    await home.arrives(arrived);
    await home.pass(2 * INTERVAL);
    expect(home.state(arrived).writer).toBe('b');
    expect(held.filter((name) => home.moving.includes(name))).toHaveLength(1);
    expect(home.moving).toHaveLength(PLACES);

    host.remove(home.moving[0]!);
    await home.pass(2 * INTERVAL);
    expect(held.filter((name) => home.moving.includes(name))).toHaveLength(2);
  });

  test.each([
    ['all that it has places for while updates are quick', 1 / 50, [PLACES, PLACES]],
    ['few while they take half an interval', 1 / 2, [1, PLACES / 8]],
  ] as const)('sends %s', async (_, share, [least, most]) => {
    home.registers.before = () => new Promise((resolve) => void home.time.after(INTERVAL * share, resolve));
    await processOf('a', 100, atHome());
    await home.pass(6 * INTERVAL);
    await addSets(PLACES + 2, 'away', 'a', awayFromHome(), () => INTERVAL / 2);
    await home.pass(3 * INTERVAL);
    expect(home.moving.length).toBeGreaterThanOrEqual(least);
    expect(home.moving.length).toBeLessThanOrEqual(most);
  });
});

describe('a process', () => {
  test('lets the heartbeats of its partition-sets leave together', async () => {
    const leftAt: number[] = [];
    home.registers.before = async () => void leftAt.push(home.time.now());
    await processOf('a', 4, atHome(), (at) => at * 10);
    await home.pass(INTERVAL / 2);
    expect(leftAt).toHaveLength(4);
    expect(new Set(leftAt).size).toBe(1);
  });

  /** How many of so many partition-sets that are new to it are read at a time, while no read ends. */
  async function readsOf(count: number): Promise<number> {
    const { reads } = home.registers;
    home.registers.beforeRead = () => new Promise(() => undefined);
    await addSets(count, 'new', 'c', atHome(), () => 0);
    home.time.run(home.time.now() + 1);
    await home.settle();
    return home.registers.reads - reads;
  }

  test('whose timers ring in time takes on what comes', async () => {
    await processOf('c', 1, atHome());
    await home.pass(10 * INTERVAL);
    expect(await readsOf(300)).toBe(300);
  });

  test.each([
    ['each interval while updates are quick', 1 / 50, 10],
    ['every other one while they take a fifth of it', 1 / 5, 5],
  ])('that only watches beats %s', async (_, share, beats) => {
    home.registers.before = () => new Promise((resolve) => void home.time.after(INTERVAL * share, resolve));
    await processOf('b', 100, { ...atHome(), paused: true }, undefined, () => undefined);
    await home.pass(6 * INTERVAL);
    const { changes } = home.registers;
    await home.pass(10 * INTERVAL);
    expect((home.registers.changes - changes) / 100).toBeCloseTo(beats, 0);
  });

  test('whose timers ring late takes on less', async () => {
    await processOf('c', 1, atHome());
    await home.pass(INTERVAL);
    for (let at = 0; at < 25; at += 1) {
      home.time.stall(1400);
      for (const ms of [0, INTERVAL / 10]) {
        home.time.run(home.time.now() + ms);
        await home.settle();
      }
    }
    const most = await readsOf(300);
    expect(most).toBeGreaterThanOrEqual(32);
    expect(most).toBeLessThan(300);
  });
});

describe('an error in the work of one agent', () => {
  test('ends no other one, drops its lease, and is over when its cause is', async () => {
    const errors: [string, string][] = [];
    let isBroken = true;
    host = new AgentHost({
      region: 'a',
      cluster: home.cluster,
      host: home.time,
      sendHint: (partitionSet) => {
        if (isBroken && partitionSet === 'p0') throw new Error('no way out');
      },
      onError: (partitionSet, error) => errors.push([partitionSet, (error as Error).message]),
    });
    await addSets(2, 'p', 'a', atHome(), () => INTERVAL / 2);
    await home.pass(3 * INTERVAL);
    expect(host.agentOf('p0')!.mayWrite()).toBe(false);
    expect(host.agentOf('p1')!.mayWrite()).toBe(true);
    expect(errors.length).toBeGreaterThan(0);
    expect(host.counters.errors).toBe(errors.length);
    expect(new Set(errors.map(String))).toEqual(new Set(['p0,no way out']));
    isBroken = false;
    await home.pass(2 * INTERVAL);
    expect(host.agentOf('p0')!.mayWrite()).toBe(true);
  });
});
