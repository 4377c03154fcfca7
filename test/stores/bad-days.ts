/**
 * What happens to servers happens to every store's real one: it is killed, paused, emptied, given to somebody else, put back
 * from an old copy. Each test watches two things: an acceptor that uses the store directly must refuse, in time and under the
 * right name, and come back when it may (rules 3 and 8); and a cluster of this store and two acceptors in memory must go on
 * committing through all of it.
 *
 * A server that does not claim to survive a kill (an emulator) ends in an orderly way in its `kill`.
 */
import {
  type Acceptor,
  type AcceptorStore,
  AzureBlobStore,
  type ChangeOutcome,
  type Cluster,
  CosmosStore,
  DynamoDbStore,
  EtcdStore,
  openCluster,
  PostgresStore,
  RedisStore,
  StoreAcceptor,
  type StoreOptions,
} from 'baton/caspaxos';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import { increment, memoryUrls } from '../caspaxos/clusters.ts';
import { accept, ballot, promise, query, typesOf, valueIn } from '../conformance/messages.ts';
import { newPlace } from '../conformance/store.ts';
import { until } from '../support/until.ts';
import type { StoreServer } from './servers/server.ts';

const STORES: Readonly<Record<string, new (url: string, options: StoreOptions) => AcceptorStore>> = {
  postgres: PostgresStore,
  redis: RedisStore,
  etcd: EtcdStore,
  'azure-blob': AzureBlobStore,
  dynamodb: DynamoDbStore,
  cosmos: CosmosStore,
};

/** Of calls that are to be answered: a busy machine has time for them. */
const PATIENT_MS = 10_000;
/** Of calls to a server that stands still, and of a cluster that can do without it. */
const HASTY_MS = 500;
/** A call that is still open after this does not keep its time limit, however slow the machine is. */
const OPEN_MS = 60_000;
const KILLS_IN_FLIGHT = 6;
const CALLERS = 4;
/** What a server that is not there is called. */
const DOWN = /^(?:UNREACHABLE|TIMED_OUT)$/;

export interface BadDaysOptions {
  /** How often it is killed with changes in flight: fewer times where it takes long to start. */
  readonly kills?: number;
}

export function badDays(name: string, server: () => StoreServer, options: BadDaysOptions = {}): void {
  const { kills: killsInFlight = KILLS_IN_FLIGHT } = options;
  describe(`${name} on a bad day`, () => {
    // A test that failed may have left it dead or paused. Where its program is lacking there is none.
    afterEach(() => (server() as StoreServer | undefined)?.heal());

    test('killed, it is missed at once or in time; it comes back with its memory', async () => {
      const load = await Load.begin(server());
      const { acceptor } = await acceptorAt(server(), newPlace(name));
      await acceptor.handle([promise('k', 1), accept('k', 1, 'v'), promise('k', 5)], 0);
      await server().kill();
      for (let calls = 0; calls < 3; calls += 1)
        expect(await codeOf(acceptor.handle([accept('k', 6, 'w')], 0))).toMatch(DOWN);
      await load.goesOn();
      await server().start();
      expect(await whenBack(acceptor)).toBe('none');
      expect(valueIn((await acceptor.handle([query('k')], 0))[0])).toBe('v');
      const replies = await acceptor.handle([promise('k', 4), accept('k', 7, 'x')], 0);
      expect(replies).toMatchObject([{ type: 'nak', promised: ballot(5) }, { type: '2b' }]);
      await load.storeIsBack();
      await load.end();
    });

    test('paused, it is missed in time, and calls to it do not pile up; it comes back', async () => {
      const load = await Load.begin(server());
      const place = newPlace(name);
      const patient = await acceptorAt(server(), place);
      await patient.acceptor.handle([accept('k', 1, 'v')], 0);
      const { acceptor } = await acceptorAt(server(), place, HASTY_MS);
      server().pause();
      onTestFinished(() => server().resume());
      let held = 0;
      for (let round = 0; round < 4; round += 1) {
        const calls = Array.from({ length: 20 }, (_, at) => acceptor.handle([promise(`k${at}`, 1)], 0));
        for (const code of await Promise.all(calls.map(codeOf))) expect(code).toMatch(DOWN);
        if (round === 0) held = socketsInUse();
      }
      const most = held + acceptor.concurrency;
      await until('no more connections are held', () => socketsInUse() <= most);
      await load.goesOn();
      server().resume();
      expect(await whenBack(acceptor)).toBe('none');
      expect(typesOf(await patient.acceptor.handle([accept('k', 2, 'w')], 0))).toEqual(['2b']);
      await load.storeIsBack();
      await load.end();
    });

    test('killed again and again with changes in flight, it loses nothing that was answered', async () => {
      const cluster = await clusterOf([server().urlOf(newPlace(name))]);
      const load = new Load(cluster, CALLERS);
      for (let kills = 0; kills < killsInFlight; kills += 1) {
        await load.goesOn();
        await server().kill();
        await server().start();
      }
      await load.goesOn();
      await load.end();
    });

    test('emptied, it is not a fresh acceptor; with another in its place, it is not this one', async () => {
      const load = await Load.begin(server());
      const emptied = await acceptorAt(server(), newPlace(name));
      const given = await acceptorAt(server(), newPlace(name));
      for (const { acceptor } of [emptied, given]) await acceptor.handle([accept('k', 1, 'v')], 0);
      await server().empty();
      await load.goesOn();
      // Where a place has to be made, its absence is noticed first, and nobody but an administrator makes it again.
      expect(await whenBack(emptied.acceptor)).toMatch(/^(?:ACCEPTOR_EMPTY|STORE_FAILED)$/);
      await emptied.other().prepare?.();
      await refusesEverything(emptied.acceptor, 'ACCEPTOR_EMPTY');
      expect(await emptied.other().list('', 10)).toEqual([]);
      await new StoreAcceptor(given.other()).describe();
      await refusesEverything(given.acceptor, 'ACCEPTOR_FOREIGN');
      await load.goesOn();
      await load.end();
    });

    test('from an old copy, it is behind, and is not written to', async () => {
      const load = await Load.begin(server());
      const { acceptor, other } = await acceptorAt(server(), newPlace(name));
      await acceptor.handle([accept('k', 1, 'v')], 0);
      const restore = await server().snapshot();
      expect(await whenBack(acceptor)).toBe('none');
      await acceptor.handle([accept('k', 2, 'w')], 0);
      const before = await other().read(['register/k']);
      await restore();
      await load.goesOn();
      // What it remembers is the version of the newer document: the write has to fail on its condition.
      await refusesEverything(acceptor, 'ACCEPTOR_BEHIND');
      const [old] = await other().read(['register/k']);
      expect(old).not.toEqual(before[0]);
      // Nor does anybody else use it, who has nothing to compare with.
      await refusesEverything(new StoreAcceptor(other()), 'ACCEPTOR_BEHIND');
      await load.goesOn();
      await load.end();
    });
  });
}

interface Opened {
  readonly acceptor: Acceptor;
  /** A further connection to the same place. */
  readonly other: () => AcceptorStore;
}

/** Closed with the test. */
export function openStoreAt(server: StoreServer, place: string, timeoutMs = PATIENT_MS): AcceptorStore {
  const Store = STORES[server.kind];
  if (Store === undefined) throw new Error(`there is no store for ${server.kind}`);
  const store = new Store(server.urlOf(place), { timeoutMs });
  onTestFinished(() => store.close());
  return store;
}

async function acceptorAt(server: StoreServer, place: string, timeoutMs = PATIENT_MS): Promise<Opened> {
  const other = (): AcceptorStore => openStoreAt(server, place, timeoutMs);
  const acceptor = new StoreAcceptor(other());
  const { id } = await until('the acceptor describes itself', () => acceptor.describe());
  acceptor.expect(id);
  return { acceptor, other };
}

async function clusterOf(acceptors: readonly string[]): Promise<Cluster> {
  const cluster = await until('the cluster is open', () =>
    openCluster({ acceptors, requestTimeoutMs: HASTY_MS }),
  );
  onTestFinished(() => cluster.close());
  return cluster;
}

/** What the work ended with; a call that never ends is an error of its own. */
async function codeOf(work: Promise<unknown>): Promise<string> {
  const patience = new AbortController();
  const never = sleep(OPEN_MS, 'still open', { signal: patience.signal }).catch(() => 'over');
  const ended = work.then(
    () => 'none',
    (error: { code?: string; message: string }) => error.code ?? error.message,
  );
  try {
    return await Promise.race([ended, never]);
  } finally {
    patience.abort();
  }
}

/** What it says once it is reached again: broken connections are noticed by the call that meets them. */
function whenBack(acceptor: Acceptor): Promise<string> {
  return whenReached(() => acceptor.handle([query('k')], 0));
}

async function whenReached(call: () => Promise<unknown>): Promise<string> {
  return until('the server is reached again', async () => {
    const code = await codeOf(call());
    if (DOWN.test(code)) throw new Error(code);
    return code;
  });
}

async function refusesEverything(acceptor: Acceptor, code: string): Promise<void> {
  expect(await whenReached(() => acceptor.handle([accept('k', 3, 'x')], 0))).toBe(code);
  expect(await codeOf(acceptor.handle([query('k')], 0))).toBe(code);
  expect(await codeOf(acceptor.handle([promise('another', 9)], 0))).toBe(code);
  expect(await codeOf(acceptor.describe())).toBe(code);
}

function socketsInUse(): number {
  return process.getActiveResourcesInfo().filter((kind) => /^(?:TCP|TLS)/.test(kind)).length;
}

/** Increments one register without end, from several callers, and keeps the account of what it was told. */
class Load {
  readonly #cluster: Cluster;
  readonly #work: Promise<unknown>;
  readonly #committed: number[] = [];
  readonly #others: ChangeOutcome<number>[] = [];
  #isOver = false;

  constructor(cluster: Cluster, callers: number) {
    this.#cluster = cluster;
    this.#work = Promise.all(Array.from({ length: callers }, () => this.#run()));
    onTestFinished(() => {
      this.#isOver = true;
    });
  }

  /** On a cluster that can do without the server. */
  static async begin(server: StoreServer): Promise<Load> {
    const cluster = await clusterOf([server.urlOf(newPlace('load')), ...memoryUrls(2)]);
    const load = new Load(cluster, 1);
    await load.goesOn();
    return load;
  }

  /** Resolves when more has been committed. */
  async goesOn(): Promise<void> {
    const enough = this.#committed.length + 10;
    await until('more changes are committed', () => this.#committed.length >= enough);
  }

  /** Resolves when the store takes part again. */
  async storeIsBack(): Promise<void> {
    await until('the cluster has its acceptor back', () => this.#cluster.acceptors[0]!.state === 'up');
  }

  /** Nothing that was answered is lost, and what was not answered was done at most once. */
  async end(): Promise<void> {
    this.#isOver = true;
    await this.#work;
    if (this.#cluster.acceptors.length > 1) expect(this.#others).toEqual([]);
    const unknown = this.#others.filter(({ outcome }) => outcome === 'unknown').length;
    const { value } = await this.#cluster.read<number>('counter', { timeoutMs: 60_000 });
    expect(new Set(this.#committed).size).toBe(this.#committed.length);
    expect(value).toBeGreaterThanOrEqual(this.#committed.length);
    expect(value).toBeLessThanOrEqual(this.#committed.length + unknown);
  }

  async #run(): Promise<void> {
    while (!this.#isOver) {
      const outcome = await this.#cluster.change<number>('counter', increment, { timeoutMs: 60_000 });
      if (outcome.outcome === 'committed') this.#committed.push(outcome.value!);
      else this.#others.push(outcome);
      // Others need the processor, too.
      if (this.#cluster.acceptors.length > 1) await sleep(2);
    }
  }
}
