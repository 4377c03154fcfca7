/**
 * The demonstration's work, made so that it can be proved afterwards. Every register holds one counter for each
 * proposer, and a proposer only ever raises its own. So each of the final counters must equal, exactly, the number of
 * that proposer's changes that were acknowledged: one less is a lost change, one more a change applied twice.
 */
import { type Cluster, openCluster, type UnknownOperation } from '../../caspaxos/index.ts';
import { Histogram } from '../../protocol/index.ts';

type Counters = Record<string, number>;

/** Changes that one proposer has under way: on different registers, since one register takes one at a time. */
const CALLERS_EACH = 4;

interface Unresolved {
  readonly register: string;
  readonly operation: UnknownOperation;
}

export interface Progress {
  readonly committed: number;
  readonly conflicts: number;
  readonly unknown: number;
  /** Of what was committed since the last look. */
  readonly p50Ms: number;
  readonly p99Ms: number;
}

export interface Proof {
  readonly registers: number;
  readonly acknowledged: number;
  readonly found: number;
  readonly lost: number;
  readonly twice: number;
  readonly unknownResolved: number;
}

export class Workload {
  readonly #registers: readonly string[];
  readonly #proposers: DemoProposer[] = [];
  #latencies = new Histogram();

  constructor(registers: number) {
    this.#registers = Array.from({ length: registers }, (_, index) => `register-${index + 1}`);
  }

  async open(urls: readonly string[], token: string, proposers: number): Promise<void> {
    for (let index = 0; index < proposers; index += 1) {
      const cluster = await openCluster({
        acceptors: urls,
        token,
        proposer: `proposer-${index + 1}`,
        requestTimeoutMs: 500,
      });
      this.#proposers.push(new DemoProposer(`p${index + 1}`, cluster));
    }
  }

  /** All proposers change random registers until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const callers = this.#proposers.flatMap((proposer) =>
      Array.from({ length: CALLERS_EACH }, () => proposer),
    );
    await Promise.all(callers.map((proposer) => this.#call(proposer, signal)));
  }

  async #call(proposer: DemoProposer, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const register = this.#registers[Math.floor(Math.random() * this.#registers.length)]!;
      const startedAt = performance.now();
      if (await proposer.raise(register)) this.#latencies.record(performance.now() - startedAt);
    }
  }

  progress(): Progress {
    const latencies = this.#latencies;
    this.#latencies = new Histogram();
    return {
      committed: this.#sum(({ committed }) => committed),
      conflicts: this.#sum(({ cluster }) => cluster.counters.conflicts),
      unknown: this.#sum(({ unresolved }) => unresolved.length),
      p50Ms: latencies.percentile(0.5),
      p99Ms: latencies.percentile(0.99),
    };
  }

  /** Reads every register back and compares it with what was acknowledged. */
  async prove(): Promise<Proof> {
    let unknownResolved = 0;
    for (const proposer of this.#proposers) unknownResolved += await proposer.resolve();
    let acknowledged = 0;
    let found = 0;
    let lost = 0;
    let twice = 0;
    const reader = this.#proposers[0]!.cluster;
    for (const register of this.#registers) {
      const { value = {} } = await reader.read<Counters>(register);
      for (const { name, acknowledged: promised } of this.#proposers) {
        const expected = promised.get(register) ?? 0;
        const actual = value[name] ?? 0;
        acknowledged += expected;
        found += actual;
        lost += Math.max(0, expected - actual);
        twice += Math.max(0, actual - expected);
      }
    }
    return { registers: this.#registers.length, acknowledged, found, lost, twice, unknownResolved };
  }

  async close(): Promise<void> {
    await Promise.all(this.#proposers.map(({ cluster }) => cluster.close()));
  }

  #sum(count: (proposer: DemoProposer) => number): number {
    return this.#proposers.reduce((total, proposer) => total + count(proposer), 0);
  }
}

class DemoProposer {
  readonly name: string;
  readonly cluster: Cluster;
  /** How many of its changes of each register were acknowledged. */
  readonly acknowledged = new Map<string, number>();
  readonly unresolved: Unresolved[] = [];
  committed = 0;

  constructor(name: string, cluster: Cluster) {
    this.name = name;
    this.cluster = cluster;
  }

  async raise(register: string, retryOf?: UnknownOperation): Promise<boolean> {
    const raiseOwn = (counters: Counters = {}): Counters => ({
      ...counters,
      [this.name]: (counters[this.name] ?? 0) + 1,
    });
    const outcome = await this.cluster.change<Counters>(register, raiseOwn, { timeoutMs: 3000, retryOf });
    if (outcome.outcome === 'unknown') this.unresolved.push({ register, operation: outcome.operation });
    if (outcome.outcome !== 'committed') return false;
    this.committed += 1;
    this.acknowledged.set(register, (this.acknowledged.get(register) ?? 0) + 1);
    return true;
  }

  /** Finishes what was left unknown, without ever applying anything twice. */
  async resolve(): Promise<number> {
    const open = this.unresolved.splice(0);
    for (const { register, operation } of open) await this.raise(register, operation);
    return open.length;
  }
}
