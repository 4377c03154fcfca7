import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { handling, memoryUrls, storeOf } from '../../test/caspaxos/clusters.ts';
import { Homebound } from '../../test/failover/homebound.ts';
import { healthy } from '../../test/failover/reports.ts';
import { type Acceptor, type Cluster, StoreAcceptor } from '../caspaxos/index.ts';
import type { Ballot } from '../protocol/index.ts';
import { Departures } from './departures.ts';
import {
  type FailoverState,
  namedPolicy,
  NO_STATISTICS,
  observe,
  openAgentCluster,
  type PhaseStatistics,
  type PolicyName,
  PROFILES,
  registerOf,
  StateCodec,
  typicalLongest,
  UpdatePace,
} from './index.ts';
import { Moves } from './moves.ts';
import { WorkQueue } from './work-queue.ts';

const KEY = registerOf('p');
const RANDOM = 0.5;

function observed(...values: readonly number[]): PhaseStatistics {
  return values.reduce(observe, NO_STATISTICS);
}

const OWN = observed(400, 650, 520);
const OTHERS = observed(40, 65, 52);
const SHARED = observed(90, 210, 130, 160);

/** An agent of the product's on a real cluster, beside a rival who may be one step ahead of it at some of the acceptors. */
class Duel {
  readonly home = new Homebound();
  /** At how many acceptors the rival is ahead of the next ballot. */
  rivalAt = 0;
  readonly ballots: Ballot[] = [];
  readonly delays: number[] = [];
  cluster: Cluster | undefined;

  async begin(name: PolicyName): Promise<void> {
    const policy = namedPolicy(name);
    const { time } = this.home;
    vi.spyOn(time, 'soon').mockImplementation((run) => void setImmediate(run));
    const acceptors = memoryUrls(3);
    const openAcceptor = (url: string): Acceptor =>
      this.#beside(new StoreAcceptor(storeOf(url)), acceptors.indexOf(url));
    const cluster = await openAgentCluster({ acceptors, proposer: 'a', host: time, openAcceptor }, policy);
    this.cluster = cluster;
    onTestFinished(() => cluster.close());
    const statistics = { a: OWN, b: OTHERS, '*': SHARED };
    const found = {
      ...healthy({ priorities: ['a', 'b', 'c'], timings: PROFILES.paper }),
      partitionSet: 'p',
      statistics,
    };
    const written = cluster.change(KEY, () => found, { codec: new StateCodec() });
    await this.#settled(written);
    const after = time.after.bind(time);
    vi.spyOn(time, 'after').mockImplementation((ms, run) => {
      this.delays.push(ms);
      return after(ms, run);
    });
    const shared = {
      moves: new Moves(),
      pace: new UpdatePace(),
      work: new WorkQueue(512),
      departures: new Departures(time),
    };
    this.home.agent('p', shared, { cluster, policy, host: time });
    await this.home.pass(1000);
    this.ballots.length = 0;
    this.delays.length = 0;
  }

  /** The agent's next beat, which the rival disturbs at so many acceptors. */
  async beat(rivalAt: number): Promise<FailoverState> {
    const before = await this.state();
    this.rivalAt = rivalAt;
    await this.home.pass(PROFILES.paper.intervalMs + 5000);
    const after = await this.state();
    expect(after.regions['a']!.beat).toBeGreaterThan(before.regions['a']!.beat);
    return after;
  }

  async state(): Promise<FailoverState> {
    const read = this.cluster!.read<FailoverState>(KEY, { codec: new StateCodec() });
    return (await this.#settled(read)).value!;
  }

  async #settled<T>(work: Promise<T>): Promise<T> {
    let isDone = false;
    void work.finally(() => (isDone = true));
    while (!isDone) await this.home.pass(10);
    return work;
  }

  #beside(acceptor: Acceptor, index: number): Acceptor {
    return handling(acceptor, async (requests, at) => {
      for (const { key, set, message } of requests) {
        if (key !== KEY || message.type !== '1a') continue;
        if (index === 0) this.ballots.push(message.ballot);
        if (index >= this.rivalAt) continue;
        const ballot = { counter: message.ballot.counter + 1, proposer: 'rival', incarnation: 7 };
        await acceptor.handle([{ key, set, message: { ...message, ballot } }], at);
        if (index === this.rivalAt - 1) this.rivalAt = 0;
      }
      return acceptor.handle(requests, at);
    });
  }
}

afterEach(() => {
  vi.restoreAllMocks();
});

describe('after a refusal the agent waits by its policy', () => {
  const expected: Readonly<Record<PolicyName, number>> = {
    initial: namedPolicy('initial').baseMs * RANDOM,
    // Formula 3: (average + deviation) x uniform(0, 2^0), of the figures that stand in the state.
    adaptive: typicalLongest(SHARED) * RANDOM,
    baton: typicalLongest(OWN) * RANDOM,
  };

  test.each(Object.keys(expected) as PolicyName[])('%s', async (name) => {
    const duel = new Duel();
    await duel.begin(name);
    const { statistics } = await duel.state();
    // The first beats have added to one of them.
    const unit = { initial: undefined, adaptive: statistics['*'], baton: statistics['a'] }[name];
    await duel.beat(2);
    const delay = unit === undefined ? expected.initial : typicalLongest(unit) * RANDOM;
    expect(delay).toBeGreaterThan(expected[name] / 3);
    expect(duel.delays.some((ms) => Math.abs(ms - delay) < 0.001)).toBe(true);
  });
});

test('what a beat observes goes into the figures that its policy waits by', async () => {
  const duel = new Duel();
  await duel.begin('adaptive');
  const before = await duel.state();
  const { statistics } = await duel.beat(0);
  expect(statistics['*']!.count).toBeGreaterThan(before.statistics['*']!.count);
  expect(statistics['a']).toEqual(before.statistics['a']);
});

describe('the policy’s ballots and its giving up', () => {
  test.each([
    ['initial', 2],
    ['adaptive', 2],
    ['baton', 1],
  ] as const)('%s makes %i ballots where one acceptor of three refuses', async (name, attempts) => {
    const duel = new Duel();
    await duel.begin(name);
    const [before] = [duel.ballots.length];
    await duel.beat(1);
    const made = duel.ballots.slice(before);
    expect(made.length).toBe(attempts);
    const isClock = made[0]!.counter > 1e12;
    expect(isClock).toBe(name === 'baton');
  });
});
