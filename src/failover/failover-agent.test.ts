import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { memoryUrls, openFor } from '../../test/caspaxos/clusters.ts';
import {
  configurationFor,
  FailoverAgent,
  type FailoverAgentOptions,
  MemoryPartitionSet,
  PROFILES,
  registerOf,
} from './index.ts';

const REGIONS = ['west', 'east', 'north'];
/** Of virtual time. */
const PATIENCE_MS = 120_000;
const STEP_MS = 10;

/** Time passes until the work is done. */
async function inTime<T>(work: Promise<T>): Promise<T> {
  let isDone = false;
  const end = (): void => {
    isDone = true;
  };
  work.then(end, end);
  while (!isDone) await vi.advanceTimersByTimeAsync(STEP_MS);
  return work;
}

/** Three regions in this process, whose time passes as fast as they can use it, with real agents, a real cluster and drivers in memory. */
class Fleet {
  readonly regions: readonly string[];
  readonly data: MemoryPartitionSet;
  readonly agents = new Map<string, FailoverAgent>();
  readonly acknowledged: string[] = [];
  readonly urls = memoryUrls(3);
  #writes = 0;

  constructor(regions: readonly string[] = REGIONS) {
    this.regions = regions;
    this.data = new MemoryPartitionSet(regions);
  }

  async start(...regions: readonly string[]): Promise<void> {
    await inTime(Promise.all(regions.map((region) => this.#start(region))));
  }

  /** With data that were last used on another machine. */
  async startElsewhere(region: string): Promise<void> {
    await inTime(this.#start(region, { isDirectoryStrange: () => true }));
  }

  async #start(region: string, more: Pick<FailoverAgentOptions, 'isDirectoryStrange'> = {}): Promise<void> {
    const agent = await FailoverAgent.start({
      acceptors: this.urls,
      region,
      partitionSet: 'orders',
      driver: this.data.driver(region),
      configuration: configurationFor(this.regions, { timings: PROFILES.fast }),
      ...more,
      sendHint: (_, hint) => {
        for (const [other, peer] of this.agents) if (other !== region) setTimeout(() => peer.onHint(hint), 1);
      },
    });
    this.agents.set(region, agent);
  }

  /** The end of a process: what it had in memory is gone. */
  async kill(region: string): Promise<void> {
    const agent = this.agents.get(region)!;
    this.agents.delete(region);
    this.data.driver(region).crash();
    await inTime(agent.crash());
  }

  /** Writes wherever it is taken until that region takes it. Never do two take writes at one moment. */
  async writesAt(region: string): Promise<void> {
    for (const until = performance.now() + PATIENCE_MS; performance.now() < until;) {
      const takers = [...this.agents].filter(([, agent]) => agent.mayWrite()).map(([name]) => name);
      expect(takers.length).toBeLessThanOrEqual(1);
      const taker = takers[0];
      if (taker !== undefined && (await inTime(this.#write(taker))) && taker === region) return;
      await vi.advanceTimersByTimeAsync(STEP_MS);
    }
    throw new Error(`no write was taken in ${region}`);
  }

  async #write(region: string): Promise<boolean> {
    this.#writes += 1;
    const value = `w${this.#writes}`;
    const late = new Promise<false>((resolve) => setTimeout(() => resolve(false), 500));
    const written = this.data.driver(region).write(value);
    const done = written.then(
      () => {
        this.acknowledged.push(value);
        return true;
      },
      () => false,
    );
    return Promise.race([done, late]);
  }

  async end(): Promise<void> {
    await inTime(Promise.all([...this.agents.values()].map((agent) => agent.crash())));
  }
}

describe('agents in a real process', () => {
  let fleet: Fleet;

  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance', 'Date'] });
    fleet = new Fleet();
  });
  afterEach(async () => {
    await fleet.end();
    vi.useRealTimers();
  });

  test('a region dies, another takes over; it returns, and the writes go home; nothing acknowledged is lost', async () => {
    await fleet.start(...REGIONS);
    await fleet.writesAt('west');
    await fleet.kill('west');
    await fleet.writesAt('east');
    await fleet.start('west');
    await fleet.writesAt('west');
    const log = new Set(fleet.data.driver('west').log.map(({ value }) => value));
    expect(fleet.acknowledged.filter((value) => !log.has(value))).toEqual([]);
    expect(fleet.agents.get('west')!.state).toMatchObject({ gcn: 3, writer: 'west' });
    const cluster = await inTime(openFor({ acceptors: fleet.urls }));
    const { value } = await inTime(cluster.read(registerOf('orders')));
    expect(value).toMatchObject({ form: 1, names: REGIONS });
    expect(JSON.stringify(value).length).toBeLessThanOrEqual(2048);
  });

  test('a planned stop moves the writes without waiting for a lease', async () => {
    await fleet.start(...REGIONS);
    await fleet.writesAt('west');
    const west = fleet.agents.get('west')!;
    fleet.agents.delete('west');
    await inTime(west.stop());
    fleet.data.driver('west').crash();
    await fleet.writesAt('east');
    expect(fleet.agents.get('east')!.state?.raise.cause).toBe('switch');
    const log = new Set(fleet.data.driver('east').log.map(({ value }) => value));
    expect(fleet.acknowledged.filter((value) => !log.has(value))).toEqual([]);
  });

  test('an operator switches over, and the choice is kept', async () => {
    await fleet.start(...REGIONS);
    await fleet.writesAt('west');
    const north = fleet.agents.get('north')!;
    await inTime(north.post({ kind: 'switchover', target: 'north' }, { id: 'i1', who: 'ada' }));
    await fleet.writesAt('north');
    expect(fleet.agents.get('north')!.state).toMatchObject({ writer: 'north', pin: 'north' });
  });

  test.each([
    ['in its place, writes without a wait', (one: Fleet) => one.start('west'), false],
    [
      'on another machine, waits until the one before can have no lease',
      (one: Fleet) => one.startElsewhere('west'),
      true,
    ],
  ] as const)('a process that begins again %s', async (_, begin, isWaiting) => {
    await fleet.end();
    fleet = new Fleet(['west']);
    await fleet.start('west');
    await fleet.writesAt('west');
    await fleet.kill('west');
    const begunAt = performance.now();
    await begin(fleet);
    await fleet.writesAt('west');
    expect(performance.now() - begunAt >= PROFILES.fast.leaseMs).toBe(isWaiting);
  });

  test('a wish that cannot be honoured is refused with the field that is wrong', async () => {
    await fleet.start(...REGIONS);
    await fleet.writesAt('west');
    const wish = fleet.agents
      .get('west')!
      .post({ kind: 'switchover', target: 'mars' }, { id: 'i1', who: 'ada' });
    await expect(inTime(wish)).rejects.toMatchObject({ code: 'INTENT_REFUSED', field: 'intent.target' });
  });
});
