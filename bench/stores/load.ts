/**
 * What is asked of a store. One acceptor is the whole cluster, so that what is measured is this store and nothing else.
 * Before anything is counted, every register has been changed once: from then on its version is known, and a phase is one
 * conditional write and no read.
 */
import { type AcceptorStore, type Cluster, openCluster, openStore, StoreAcceptor } from 'baton/caspaxos';
import { median } from '../support/measure.ts';
import { type Looped, runInLoop } from './loop.ts';

export const IN_FLIGHT = 64;
export const BATCH = 1000;
export const TURN_TAKERS = 2;
/** On a busy machine an emulator may take half a minute for a batch; nothing here is about how soon to give up. */
const PATIENCE_MS = 120_000;

export interface Figures {
  /** With 64 registers in flight. */
  readonly changesPerSecond: number;
  /** Of a change of one register, one after the other; also the requests for it. */
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly requestsPerChange: number;
  readonly inFlight: {
    readonly registers: number;
    readonly p50Ms: number;
    readonly p99Ms: number;
    readonly requestsPerChange: number;
  };
  /** Proposers that change one register in turns, as the regions of a partition-set do: none knows the last version. */
  readonly turns: {
    readonly proposers: number;
    readonly p50Ms: number;
    readonly p99Ms: number;
    readonly requestsPerChange: number;
  };
  /** So many registers, each changed once at the same moment. */
  readonly batch: {
    readonly registers: number;
    /** The median. */
    readonly ms: number;
    readonly changesPerSecond: number;
    /** For one batch. */
    readonly requests: number;
  };
}

export interface Load {
  readonly seconds: number;
  readonly oneRoundTrip: boolean;
  readonly onProgress: (what: string) => void;
}

export async function measureStore(url: string, load: Load): Promise<Figures> {
  const proposers: Proposer[] = [];
  const proposer = async (): Promise<Proposer> => {
    const opened = await Proposer.open(url, load.oneRoundTrip);
    proposers.push(opened);
    return opened;
  };
  try {
    const one = await proposer();
    load.onProgress('one change at a time');
    const alone = await measureInFlight(one, 'alone', 1, load.seconds);
    // Before the others, so that the two can be compared: a server's plans and files change with what it holds.
    load.onProgress(`${TURN_TAKERS} proposers in turns`);
    const turns = await measureTurns([one, await proposer()], load.seconds);
    load.onProgress(`${IN_FLIGHT} registers in flight`);
    const inFlight = await measureInFlight(one, 'flight', IN_FLIGHT, load.seconds);
    load.onProgress(`batches of ${BATCH} registers`);
    const batch = await measureBatches(one, load.seconds);
    const { p50Ms, p99Ms, requestsPerChange } = inFlight;
    return {
      changesPerSecond: inFlight.changesPerSecond,
      p50Ms: alone.p50Ms,
      p99Ms: alone.p99Ms,
      requestsPerChange: alone.requestsPerChange,
      inFlight: { registers: IN_FLIGHT, p50Ms, p99Ms, requestsPerChange },
      turns,
      batch,
    };
  } finally {
    for (const opened of proposers) await opened.close();
  }
}

/** A process' way to the register, with a count of what it asks of the store. */
class Proposer {
  readonly #cluster: Cluster;
  readonly #stores: readonly AcceptorStore[];

  private constructor(cluster: Cluster, stores: readonly AcceptorStore[]) {
    this.#cluster = cluster;
    this.#stores = stores;
  }

  static async open(url: string, oneRoundTrip: boolean): Promise<Proposer> {
    const stores: AcceptorStore[] = [];
    const cluster = await openCluster({
      acceptors: [url],
      oneRoundTrip,
      timeoutMs: PATIENCE_MS,
      requestTimeoutMs: PATIENCE_MS,
      openAcceptor: (wanted) => {
        const store = openStore(wanted, { timeoutMs: PATIENCE_MS });
        if (store === undefined) return undefined;
        stores.push(store);
        return new StoreAcceptor(store);
      },
    });
    return new Proposer(cluster, stores);
  }

  async increment(register: string): Promise<void> {
    const result = await this.#cluster.change<number>(register, (value) => (value ?? 0) + 1);
    if (result.outcome !== 'committed') throw result.error;
  }

  /** As the store counts them, or else the batches: those are an embedded store's transactions, a service's requests. */
  get requests(): number {
    const counted = this.#stores.map(({ requests }) => requests).filter((count) => count !== undefined);
    return counted.length === 0
      ? this.#cluster.counters.requests
      : counted.reduce((sum, count) => sum + count, 0);
  }

  get committed(): number {
    return this.#cluster.counters.committed;
  }

  close(): Promise<void> {
    return this.#cluster.close();
  }
}

async function measureInFlight(
  proposer: Proposer,
  name: string,
  registers: number,
  seconds: number,
): Promise<Looped & { readonly requestsPerChange: number }> {
  const register = (caller: number): string => `${name}-${caller}`;
  await changeAll(proposer, registers, register);
  const cost = costOf([proposer]);
  const looped = await runInLoop(registers, seconds, (caller) => proposer.increment(register(caller)));
  return { ...looped, requestsPerChange: cost() };
}

async function measureTurns(proposers: readonly Proposer[], seconds: number): Promise<Figures['turns']> {
  let turn = 0;
  const next = (): Promise<void> => proposers[turn++ % proposers.length]!.increment('turns');
  for (let round = 0; round < 2 * proposers.length; round += 1) await next();
  const cost = costOf(proposers);
  const { p50Ms, p99Ms } = await runInLoop(1, seconds, next);
  return { proposers: proposers.length, p50Ms, p99Ms, requestsPerChange: cost() };
}

async function measureBatches(proposer: Proposer, seconds: number): Promise<Figures['batch']> {
  const register = (at: number): string => `batch-${at}`;
  // The first makes the documents; the second is as warm as those that follow.
  for (let round = 0; round < 2; round += 1) await changeAll(proposer, BATCH, register);
  const { requests } = proposer;
  const took: number[] = [];
  const startedAt = performance.now();
  do {
    const before = performance.now();
    await changeAll(proposer, BATCH, register);
    took.push(performance.now() - before);
  } while (performance.now() - startedAt < seconds * 1000);
  const elapsed = performance.now() - startedAt;
  return {
    registers: BATCH,
    ms: median(took),
    changesPerSecond: Math.round((took.length * BATCH * 1000) / elapsed),
    requests: rounded((proposer.requests - requests) / took.length),
  };
}

async function changeAll(
  proposer: Proposer,
  registers: number,
  register: (at: number) => string,
): Promise<void> {
  await Promise.all(Array.from({ length: registers }, (_, at) => proposer.increment(register(at))));
}

/** From now until it is asked: the requests for each change. */
function costOf(proposers: readonly Proposer[]): () => number {
  const total = (of: (proposer: Proposer) => number): number =>
    proposers.reduce((sum, proposer) => sum + of(proposer), 0);
  const requests = total((proposer) => proposer.requests);
  const committed = total((proposer) => proposer.committed);
  return () =>
    rounded(
      (total((proposer) => proposer.requests) - requests) /
        (total((proposer) => proposer.committed) - committed),
    );
}

function rounded(value: number): number {
  return Math.round(value * 1000) / 1000;
}
