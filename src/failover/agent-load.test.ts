/** What an agent of the product asks of real acceptors, counted where they are asked, in virtual time. */
import { afterEach, expect, onTestFinished, test, vi } from 'vitest';
import { handling, memoryUrls, storeOf } from '../../test/caspaxos/clusters.ts';
import { Homebound } from '../../test/failover/homebound.ts';
import { healthy } from '../../test/failover/reports.ts';
import { type Acceptor, type Cluster, StoreAcceptor } from '../caspaxos/index.ts';
import { Departures } from './departures.ts';
import type { HostedAgent } from './hosted-agent.ts';
import {
  BUSY_INTERVALS,
  namedPolicy,
  openAgentCluster,
  PROFILES,
  registerOf,
  StateCodec,
  UpdatePace,
} from './index.ts';
import { Moves } from './moves.ts';
import { WorkQueue } from './work-queue.ts';

const KEY = registerOf('p');
const { intervalMs, leaseMs } = PROFILES.fast;

/** The write region's agent, and acceptors of which the test says how many are away. */
class Scene {
  readonly home = new Homebound();
  away = 0;
  requests = 0;

  async begin(): Promise<HostedAgent> {
    const { time } = this.home;
    vi.spyOn(time, 'soon').mockImplementation((run) => void setImmediate(run));
    const acceptors = memoryUrls(3);
    const openAcceptor = (url: string): Acceptor =>
      this.#counted(new StoreAcceptor(storeOf(url)), acceptors.indexOf(url));
    const cluster: Cluster = await openAgentCluster({ acceptors, proposer: 'a', host: time, openAcceptor });
    onTestFinished(() => cluster.close());
    const found = { ...healthy({ priorities: ['a', 'b', 'c'], timings: PROFILES.fast }), partitionSet: 'p' };
    const written = cluster.change(KEY, () => found, { codec: new StateCodec() });
    await this.home.pass(100);
    await written;
    const shared = {
      moves: new Moves(),
      pace: new UpdatePace(),
      work: new WorkQueue(512),
      departures: new Departures(time),
    };
    return this.home.agent('p', shared, { cluster, host: time, policy: namedPolicy('baton') });
  }

  /** How many were asked of all acceptors in so many intervals. */
  async requestsIn(intervals: number): Promise<number> {
    const before = this.requests;
    await this.home.pass(intervals * intervalMs);
    return this.requests - before;
  }

  #counted(acceptor: Acceptor, index: number): Acceptor {
    return handling(acceptor, (requests, at) => {
      this.requests += requests.filter(({ key }) => key === KEY).length;
      if (index < this.away) return Promise.reject(new Error('the acceptor is away'));
      return acceptor.handle(requests, at);
    });
  }
}

afterEach(() => {
  vi.restoreAllMocks();
});

test('without a majority of the acceptors it asks no more than twice what it asks in the calm, and is back within a lease', async () => {
  const scene = new Scene();
  const agent = await scene.begin();
  await scene.home.pass(2 * leaseMs);
  expect(agent.mayWrite()).toBe(true);
  const calm = await scene.requestsIn(BUSY_INTERVALS);
  scene.away = 2;
  // Whatever the first half still finds in the budget, and what it gains in the second.
  expect(await scene.requestsIn(BUSY_INTERVALS)).toBeLessThanOrEqual(2 * calm);
  expect(agent.mayWrite()).toBe(false);
  const later = await scene.requestsIn(BUSY_INTERVALS);
  expect(later).toBeLessThanOrEqual(1.5 * calm);
  expect(later).toBeGreaterThan(0.3 * calm);
  scene.away = 0;
  await scene.home.pass(leaseMs);
  expect(agent.mayWrite()).toBe(true);
});

test('with a minority of them away it asks as little as in the calm', async () => {
  const scene = new Scene();
  const agent = await scene.begin();
  await scene.home.pass(2 * leaseMs);
  const calm = await scene.requestsIn(BUSY_INTERVALS / 2);
  scene.away = 1;
  expect(await scene.requestsIn(BUSY_INTERVALS / 2)).toBeLessThanOrEqual(1.3 * calm);
  expect(agent.mayWrite()).toBe(true);
});
