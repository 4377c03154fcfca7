import { describe, expect, test } from 'vitest';
import { Homebound, UNHURRIED } from '../../test/failover/homebound.ts';
import { after, healthy, heartbeat, intent } from '../../test/failover/reports.ts';
import { type HostedAgent, PROFILES, type Timings, UpdatePace } from './index.ts';
import { Departures } from './departures.ts';
import { Moves } from './moves.ts';
import { WorkQueue } from './work-queue.ts';

const INTERVAL = UNHURRIED.intervalMs;

function sharedBy(home: Homebound, places?: number) {
  return {
    moves: new Moves(places),
    pace: new UpdatePace(),
    work: new WorkQueue(512),
    departures: new Departures(home.time),
  };
}

/** A process with that many places, and agents of as many partition-sets as are named. */
function processWith(places: number, ...sets: readonly string[]) {
  const home = new Homebound();
  const shared = sharedBy(home, places);
  const agents = sets.map((partitionSet) => {
    home.make(partitionSet);
    return home.agent(partitionSet, shared);
  });
  return { home, ...shared, agents };
}

describe('moves home', () => {
  test('as many at a time as there are places; the next begins with a heartbeat when one has arrived', async () => {
    const { home, moves } = processWith(2, 'p', 'q', 'r');
    await home.pass(3 * INTERVAL);
    expect(home.moving).toHaveLength(2);
    expect(moves.size).toBe(2);
    const [first = ''] = home.moving;
    await home.arrives(first);
    expect(home.state(first)).toMatchObject({ phase: 'Steady', writer: 'b', gcn: 2 });
    await home.pass(2 * INTERVAL);
    expect(home.moving).toHaveLength(2);
    expect(home.moving).not.toContain(first);
    expect(moves.size).toBe(2);
  });

  test('whoever finds no place renews its lease all the same', async () => {
    const { home, agents } = processWith(1, 'p', 'q');
    await home.pass(5 * INTERVAL);
    expect(home.moving).toHaveLength(1);
    expect(agents.map((agent) => agent.mayWrite())).toEqual([true, true]);
  });

  test('all begin where there is room', async () => {
    const { home } = processWith(3, 'p', 'q', 'r');
    await home.pass(2 * INTERVAL);
    expect(home.moving).toEqual(['p', 'q', 'r']);
  });

  test('a move of an operator’s waits for no place, and takes none', async () => {
    const { home, moves, agents } = processWith(1, 'p', 'q');
    await home.pass(2 * INTERVAL);
    const held = agents.find(({ partitionSet }) => !home.moving.includes(partitionSet))!;
    await held.post({ kind: 'switchover', target: 'c' }, { id: 'i', who: 'ada' });
    await home.pass(2 * INTERVAL);
    expect(home.state(held.partitionSet)).toMatchObject({ phase: 'Graceful', target: 'c', why: 'operator' });
    expect(moves.size).toBe(1);
    expect(moves.has(held)).toBe(false);
  });
});

describe('the place of a move', () => {
  /** One partition-set has the only place; another one waits for it. */
  async function oneMoves() {
    const { home, moves, agents } = processWith(1, 'p', 'q');
    await home.pass(2 * INTERVAL);
    const isMoving = ({ partitionSet }: HostedAgent): boolean => home.moving.includes(partitionSet);
    const moving = agents.find(isMoving)!;
    const waiting = agents.find((agent) => !isMoving(agent))!;
    expect(moves.has(moving)).toBe(true);
    return { home, moves, moving, waiting };
  }

  async function expectNext({ home, moves, waiting }: Awaited<ReturnType<typeof oneMoves>>): Promise<void> {
    await home.pass(2 * INTERVAL);
    expect(home.state(waiting.partitionSet)).toMatchObject({ phase: 'Graceful', why: 'priority' });
    expect(moves.has(waiting)).toBe(true);
  }

  test('is given back when it has arrived', async () => {
    const scene = await oneMoves();
    await scene.home.arrives(scene.moving.partitionSet);
    await expectNext(scene);
    expect(scene.moves.has(scene.moving)).toBe(false);
  });

  test('is given back when it is given up', async () => {
    const scene = await oneMoves();
    scene.home.says('b', scene.moving.partitionSet, { stopping: true });
    await expectNext(scene);
    expect(scene.home.state(scene.moving.partitionSet)).toMatchObject({ phase: 'Steady', writer: 'a' });
    expect(scene.moves.has(scene.moving)).toBe(false);
  });

  test('is given back when its partition-set is closed', async () => {
    const scene = await oneMoves();
    scene.moving.close();
    expect(scene.moves.size).toBe(0);
    await expectNext(scene);
  });

  test('is kept while the move goes on, however long it takes and however often it is updated', async () => {
    const { home, moves, moving } = await oneMoves();
    const { step } = home.state(moving.partitionSet);
    const behind = { progress: { epoch: 1, lsn: 9 }, gclsn: 9 };
    home.says('b', moving.partitionSet, { wait: { step, waitedMs: 1 }, ...behind });
    await home.pass(3 * INTERVAL);
    expect(home.state(moving.partitionSet)).toMatchObject({ phase: 'Graceful', final: { lsn: 10 } });
    expect(moves.has(moving)).toBe(true);
    expect(home.moving).toEqual([moving.partitionSet]);
  });

  test('is taken while the update that begins it is on its way, so that no other begins meanwhile', async () => {
    const { home, moves, agents } = processWith(1, 'p', 'q');
    const answers: (() => void)[] = [];
    home.registers.behind = () =>
      new Promise((resolve) => {
        if (home.moving.length === 0) resolve(true);
        else answers.push(() => resolve(true));
      });
    await home.pass(2 * INTERVAL);
    expect(home.moving).toHaveLength(1);
    expect(moves.size).toBe(1);
    const moving = agents.find(({ partitionSet }) => home.moving.includes(partitionSet))!;
    expect(moving.state?.phase).toBe('Steady');
    moving.onHint({ hint: 'beat', gcn: 1, writer: 'a', beat: 1 });
    expect(moves.has(moving)).toBe(true);
    for (const answer of answers) answer();
    await home.settle();
    expect(moving.state?.phase).toBe('Graceful');
    expect(moves.has(moving)).toBe(true);
  });

  test('is not taken again by an update that was on its way when its partition-set was closed', async () => {
    const { home, moves, moving } = await oneMoves();
    let go = (): void => undefined;
    home.registers.before = () =>
      new Promise((resolve) => {
        go = resolve;
      });
    moving.suspended();
    await home.pass(10);
    moving.close();
    go();
    await home.settle();
    expect(moves.size).toBe(0);
  });

  test('is given back when nobody knows whether the move began, and taken again when it did', async () => {
    const { home, moves, agents } = processWith(1, 'p');
    home.registers.behind = async () => home.moving.length === 0;
    for (let at = 0; home.moving.length === 0 && at < 200; at += 1) await home.pass(10);
    expect(home.moving).toEqual(['p']);
    expect(moves.size).toBe(0);
    home.registers.behind = async () => true;
    await home.pass(INTERVAL);
    expect(agents[0]!.state?.phase).toBe('Graceful');
    expect(moves.has(agents[0]!)).toBe(true);
  });
});

describe('a heartbeat', () => {
  /** An agent that has made its first update, woken by hand. */
  async function steady(
    region: string,
    timings: Timings,
    state = healthy({ priorities: ['a', 'b', 'c'], timings }),
  ) {
    const home = new Homebound();
    home.make('p', state);
    const agent = home.agent('p', sharedBy(home), { region, onChanged: () => undefined });
    const wake = async (): Promise<void> => {
      home.time.run(Math.max(home.time.now(), agent.wakeAt));
      agent.wake();
      await home.settle();
    };
    /** Lets time pass until a change has begun, and says how long that took. */
    const changed = async (): Promise<number> => {
      const { changes } = home.registers;
      const since = home.time.now();
      for (let ms = 0; home.registers.changes === changes; ms += 1) {
        if (ms > 1000) throw new Error('no change has begun');
        home.time.run(since + ms);
        await home.settle();
      }
      return home.time.now() - since;
    };
    await wake();
    await wake();
    if (home.registers.changes === 0) await changed();
    return { home, agent, wake, changed };
  }

  test.each([
    ['a tenth of an interval', { ...PROFILES.fast, intervalMs: 500 }, 50],
    ['but no more than 100 ms', PROFILES.paper, 100],
  ])('waits for others: %s', async (_, timings, patienceMs) => {
    const { home, agent, wake, changed } = await steady('a', timings);
    expect(agent.wakeAt).toBeGreaterThan(home.time.now() + timings.intervalMs / 2);
    const { changes } = home.registers;
    await wake();
    expect(home.registers.changes).toBe(changes);
    expect(await changed()).toBe(patienceMs);
  });

  test('leaves with those of other partition-sets that come meanwhile', async () => {
    const home = new Homebound();
    const shared = sharedBy(home);
    const leftAt: number[] = [];
    home.registers.before = async () => void leftAt.push(home.time.now());
    for (const [at, name] of ['p', 'q', 'r', 's'].entries()) {
      home.make(name, healthy({ priorities: ['a', 'b', 'c'], timings: UNHURRIED }));
      home.agent(name, shared, { firstBeatAt: at * 10 });
    }
    await home.pass(INTERVAL / 2);
    expect(leftAt).toHaveLength(4);
    expect(new Set(leftAt).size).toBe(1);
    await home.pass(INTERVAL);
    expect(leftAt).toHaveLength(8);
    expect(new Set(leftAt).size).toBe(2);
  });

  test.each([
    ['quick', 10, 20],
    ['slow', 900, 10],
  ])(
    'where the updates of a process are %s, one that only watches makes so many: %d ms, %d',
    async (_, ms, beats) => {
      const home = new Homebound();
      const timings = { intervalMs: 1000, leaseMs: 1e6, settleMs: 0 };
      home.make('p', healthy({ priorities: ['a', 'b', 'c'], timings }));
      const pace = new UpdatePace(1);
      pace.updated(ms, timings.intervalMs);
      home.agent('p', { ...sharedBy(home), pace }, { region: 'b', sendHint: () => undefined });
      await home.pass(2 * timings.intervalMs);
      const { changes } = home.registers;
      await home.pass(20 * timings.intervalMs);
      expect(home.registers.changes - changes).toBe(beats);
    },
  );

  test('that waits holds its lease no longer than from when it was due', async () => {
    const { home, agent, wake, changed } = await steady('a', PROFILES.paper);
    await wake();
    const dueAt = home.time.now();
    await changed();
    home.time.run(dueAt + PROFILES.paper.leaseMs - 1);
    expect(agent.mayWrite()).toBe(true);
    home.time.run(dueAt + PROFILES.paper.leaseMs);
    expect(agent.mayWrite()).toBe(false);
  });

  test('that waits when its partition-set is closed does not leave', async () => {
    const { home, agent, wake } = await steady('a', PROFILES.paper);
    const { changes } = home.registers;
    await wake();
    agent.close();
    expect(agent.wakeAt).toBe(Infinity);
    home.time.run(home.time.now() + 1000);
    await home.settle();
    expect(home.registers.changes).toBe(changes);
  });

  test('waits for nobody while the writes move', async () => {
    const timings = PROFILES.paper;
    const moving = after(
      healthy({ priorities: ['a', 'b', 'c'], timings }),
      () => intent({ kind: 'switchover', target: 'b' }),
      (now) => heartbeat(now, 'a', { scheduled: false }),
    );
    const { home, agent, wake } = await steady('c', timings, moving);
    expect(agent.state?.phase).toBe('Graceful');
    const { changes } = home.registers;
    await wake();
    expect(home.registers.changes).toBe(changes + 1);
  });

  test.each([
    ['what is wanted at once', 'a', (agent: HostedAgent) => agent.suspended()],
    ['the end of a silence', 'b', () => undefined],
  ])('is not %s: that waits for nobody', async (_, region, happens) => {
    const { home, agent, wake, changed } = await steady(region, PROFILES.paper);
    if (region === 'b') {
      await wake();
      await changed();
    }
    happens(agent);
    const { changes } = home.registers;
    await wake();
    expect(home.registers.changes).toBe(changes + 1);
    if (region === 'b') expect(home.state('p')).toMatchObject({ phase: 'Ungraceful', gcn: 2 });
  });
});
