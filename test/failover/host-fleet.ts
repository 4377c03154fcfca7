/**
 * Regions with real agent hosts on a real cluster of acceptors in memory, in virtual time. Each has a log and metrics, and
 * can be killed, started again, and cut off from the acceptors.
 */
import { type Acceptor, type Cluster, StoreAcceptor } from 'baton/caspaxos';
import {
  AgentHost,
  type Configuration,
  configurationFor,
  type Driver,
  MemoryPartitionSet,
  openAgentCluster,
  PROFILES,
} from 'baton/failover';
import { Registry } from 'prom-client';
import { handling, memoryUrls, storeOf } from '../caspaxos/clusters.ts';
import { SimHost } from './sim-host.ts';

export const PARTITION_SET = 'orders-7';
const STEP_MS = 5;
const PATIENCE_MS = 30_000;

export interface Line {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly fields: Readonly<Record<string, unknown>>;
  readonly message: string;
}

/** Keeps what is logged. */
export class LogBook {
  readonly lines: Line[] = [];

  debug = (fields: object, message: string): void => this.#note('debug', fields, message);
  info = (fields: object, message: string): void => this.#note('info', fields, message);
  warn = (fields: object, message: string): void => this.#note('warn', fields, message);
  error = (fields: object, message: string): void => this.#note('error', fields, message);

  of(...whats: readonly string[]): readonly Line[] {
    return this.lines.filter(({ fields }) => whats.includes(String(fields['what'])));
  }

  #note(level: Line['level'], fields: object, message: string): void {
    this.lines.push({ level, fields: { ...fields }, message });
  }
}

/** Chance that is the same in every run, and names that differ. */
class FleetHost extends SimHost {
  #chance = 1;

  override random(): number {
    this.#chance = (this.#chance * 48_271) % 2_147_483_647;
    return this.#chance / 2_147_483_647;
  }

  override randomInteger(bound: number): number {
    return Math.floor(this.random() * bound);
  }

  override randomId(): string {
    return `id-${this.randomInteger(2 ** 31)}`;
  }
}

export class FleetProcess {
  readonly log = new LogBook();
  readonly region: string;
  readonly host: AgentHost;
  readonly metrics = new Registry();
  readonly #cluster: Cluster;

  constructor(region: string, cluster: Cluster, time: SimHost, hint: AgentHostHint) {
    this.region = region;
    this.#cluster = cluster;
    this.host = new AgentHost({
      region,
      cluster,
      host: time,
      sendHint: hint,
      logger: this.log,
      metrics: this.metrics,
    });
  }

  /** As in the text: `baton_agent_updates_total{outcome="failed"}`. */
  async metric(series: string): Promise<number> {
    const line = (await this.metrics.metrics()).split('\n').find((text) => text.startsWith(`${series} `));
    if (line === undefined) throw new Error(`there is no ${series}`);
    return Number(line.slice(series.length + 1));
  }

  async end(): Promise<void> {
    this.host.close();
    await this.#cluster.close();
  }
}

type AgentHostHint = NonNullable<ConstructorParameters<typeof AgentHost>[0]['sendHint']>;

export class HostFleet {
  readonly time = new FleetHost();
  readonly regions: readonly string[];
  readonly data: MemoryPartitionSet;
  readonly processes = new Map<string, FleetProcess>();
  /** Regions that do not reach the acceptors. */
  readonly cutOff = new Set<string>();
  readonly #configuration: Configuration;
  readonly #urls = memoryUrls(3);

  constructor(regions: readonly string[], changes: Partial<Configuration> = {}) {
    this.regions = regions;
    this.#configuration = configurationFor(regions, { timings: PROFILES.fast, ...changes });
    this.data = new MemoryPartitionSet(regions);
  }

  /** All regions run, and the first of them writes. */
  static async of(regions: readonly string[]): Promise<HostFleet> {
    const fleet = new HostFleet(regions);
    for (const region of regions) await fleet.start(region);
    await fleet.untilWritesAt(regions[0]!);
    return fleet;
  }

  /** The first region dies, the second takes over; the first comes back, and gets the writes back. */
  async outage(): Promise<void> {
    const [first = '', second = ''] = this.regions;
    await this.kill(first);
    await this.untilWritesAt(second);
    await this.start(first);
    await this.untilWritesAt(first);
  }

  process(region: string): FleetProcess {
    return this.processes.get(region)!;
  }

  async start(region: string, driver: Driver = this.data.driver(region)): Promise<FleetProcess> {
    const opening = openAgentCluster({
      proposer: region,
      acceptors: this.#urls,
      host: this.time,
      openAcceptor: (url) => this.#acceptor(url, region),
    });
    const started = new FleetProcess(region, await this.during(opening), this.time, (partitionSet, hint) => {
      for (const [other, { host }] of this.processes)
        if (other !== region) this.time.after(1, () => host.onHint(partitionSet, hint));
    });
    this.processes.set(region, started);
    const configuration = this.#configuration;
    await this.during(started.host.add({ partitionSet: PARTITION_SET, driver, configuration }));
    return started;
  }

  async kill(region: string): Promise<void> {
    const killed = this.process(region);
    this.processes.delete(region);
    this.data.driver(region).crash();
    await this.during(killed.end());
  }

  async pass(ms: number): Promise<void> {
    const end = this.time.now() + ms;
    while (this.time.now() < end) {
      this.time.run(Math.min(end, this.time.now() + STEP_MS));
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  /** Lets time pass until that region may take writes. */
  async untilWritesAt(region: string, withinMs = PATIENCE_MS): Promise<void> {
    const end = this.time.now() + withinMs;
    while (this.process(region).host.agentOf(PARTITION_SET)?.mayWrite() !== true) {
      if (this.time.now() > end) throw new Error(`${region} takes no writes`);
      await this.pass(STEP_MS);
    }
  }

  async end(): Promise<void> {
    await Promise.all([...this.processes.values()].map((process) => this.during(process.end())));
  }

  async during<T>(work: Promise<T>): Promise<T> {
    let isDone = false;
    void work.catch(() => undefined).finally(() => (isDone = true));
    const end = this.time.now() + PATIENCE_MS;
    while (!isDone) {
      if (this.time.now() > end) throw new Error('it does not end');
      await this.pass(1);
    }
    return work;
  }

  #acceptor(url: string, region: string): Acceptor {
    const acceptor = new StoreAcceptor(storeOf(url));
    return handling(acceptor, (requests, index) =>
      this.cutOff.has(region) ? Promise.reject(new Error('cut off')) : acceptor.handle(requests, index),
    );
  }
}
