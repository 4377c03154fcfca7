/**
 * One run, put together: acceptors, regions with real agents and engines, clients, readers of feeds, weather, and the record
 * of what happened.
 *
 *   calm ──▶ faults ──▶ healed: writes are back within three leases ──▶ rest: copies become equal ──▶ a last look everywhere
 */
import type { Acceptor, ClusterOptions } from '../../caspaxos/index.ts';
import type { StalenessBound } from '../../check/index.ts';
import {
  type EnginePartition,
  type EnginePartitionOptions,
  LIMITS,
  nodeJson,
  type NodeMessage,
} from '../../engine/index.ts';
import { type Configuration, configurationFor, PROFILES } from '../../failover/index.ts';
import { latencyModel, plainLink } from '../core/index.ts';
import type { SimProcess } from '../process.ts';
import { AcceptorService, RemoteAcceptor } from '../registers/service.ts';
import { StoreServer } from '../registers/store-server.ts';
import type { ScheduledFault, SimulationFailure } from '../seeded-run.ts';
import { World } from '../world.ts';
import { judge } from './checks.ts';
import { EngineClient, type ClientScene } from './client.ts';
import type { EngineConfiguration } from './configuration.ts';
import { Connections } from './connections.ts';
import { acceptorName, partitionSetName, regionName } from './faults.ts';
import { FeedReader } from './feed-reader.ts';
import { guardedHost } from './guard.ts';
import { LastLook } from './last-look.ts';
import { PlanClient, type PlanScene } from './plan-client.ts';
import type { PlanStyle, PlanStyles } from './plan-style.ts';
import { SetRecorder } from './recorder.ts';
import { Region, type RegionScene } from './region.ts';
import { ask, converse, type Reply } from './request.ts';
import { Watch } from './watch.ts';
import { Weather } from './weather.ts';
import { type FuzzDefect, wiredHost } from './wiring.ts';

/** By then every partition-set has its first write region. */
export const CALM_MS = 5000;
/** Three leases, as the design says; without hints everything works too, only later. */
const RECOVERY_LEASES = 3;
const RECOVERY_LEASES_WITHOUT_HINTS = 6;
const REST_MS = 15_000;
/** That copies become equal has no bound in time; what is not equal by now will never be. */
const EVEN_MS = 60_000;
/** By then every request has arrived that was sent before all was healed. */
const STRAGGLERS_MS = 3500;
const LAST_LOOK_MS = 15_000;
/** Many times what a run takes. */
const MAX_EVENTS = 3_000_000;
/** With fewer a run has shown little. */
const FEW_WRITES = 40;

export interface SceneOptions {
  readonly plans: PlanStyles;
  readonly defect: FuzzDefect | undefined;
}

export class Scene {
  readonly world: World;
  readonly counts = new Map<string, number>();
  readonly #configuration: EngineConfiguration;
  readonly #defect: FuzzDefect | undefined;
  readonly #recorders: readonly SetRecorder[];
  readonly #servers: readonly StoreServer[];
  readonly #services: readonly AcceptorService[];
  readonly #acceptors: readonly SimProcess[];
  readonly #regions: readonly Region[];
  readonly #looker: EngineClient;
  readonly #clients: readonly (EngineClient | PlanClient)[];
  readonly #feeds: readonly FeedReader[];
  readonly #connections: Connections<NodeMessage>;
  readonly #weather: Weather;
  readonly #watch: Watch;
  readonly #recovered = new Set<string>();
  readonly #unhealed: string[] = [];
  readonly #wrongPlans: SimulationFailure[] = [];
  #stage: 'play' | 'recover' | 'rest' = 'play';
  #healedAt = Infinity;
  #isLooked = false;

  constructor(
    seed: number,
    configuration: EngineConfiguration,
    schedule: readonly ScheduledFault[],
    { plans, defect }: SceneOptions,
  ) {
    this.#configuration = configuration;
    this.#defect = defect;
    const world = new World(seed);
    this.world = world;
    const { acceptors, regions, clients, partitionSets, level, latency, clocks } = configuration;
    world.link = plainLink(latencyModel(latency)!, clocks.length, world.randomFor('network'));
    const sets = Array.from({ length: partitionSets }, (_, at) => partitionSetName(at));
    this.#recorders = sets.map((name) => new SetRecorder(name, level));
    this.#watch = new Watch(world, level, () => this.#regions, this.#count);
    this.#servers = Array.from({ length: acceptors }, (_, at) => this.#newServer(at));
    this.#services = this.#servers.map((server) => new AcceptorService(server));
    this.#acceptors = this.#servers.map((server, at) =>
      this.#addProcess(acceptorName(at), (process) => {
        server.start(process);
        this.#services[at]!.start(process);
      }),
    );
    this.#connections = this.#newConnections();
    this.#regions = Array.from({ length: regions }, (_, at) => this.#newRegion(at));
    this.#looker = this.#newClient(0);
    const others = plans.slice(1, clients).map((style, at) => this.#newClientOf(at + 1, style));
    this.#clients = [this.#looker, ...others];
    this.#feeds = this.#recorders.map((recorder) => this.#newFeed(recorder));
    const outside = world.processes.slice(acceptors + regions).map(({ index }) => index);
    this.#weather = new Weather({
      world,
      regions: this.#regions,
      recorders: this.#recorders,
      acceptors: new Map(this.#servers.map((server, at) => [acceptorName(at), server])),
      clients: new Set(outside),
      untilMs: CALM_MS + configuration.chaosMs,
      count: this.#count,
    });
    this.#weather.bring(schedule);
  }

  async play(): Promise<SimulationFailure | undefined> {
    try {
      for (const process of this.world.processes) process.start();
      await this.#run(CALM_MS + this.#configuration.chaosMs, () => false);
      await this.#heal();
      await this.#rest();
      await this.#lastLook();
      return this.#judge();
    } catch (error) {
      if (error instanceof Endless) return { check: 'endless', message: error.message };
      const stack = error instanceof Error ? (error.stack ?? error.message) : String(error);
      return {
        check: 'crash',
        message: stack
          .split('\n')
          .slice(0, 8)
          .map((line) => line.trim())
          .join(' | '),
      };
    }
  }

  // ---- the parts of a run

  get #recoveryMs(): number {
    const leases = this.#configuration.hints ? RECOVERY_LEASES : RECOVERY_LEASES_WITHOUT_HINTS;
    return leases * PROFILES.fast.leaseMs;
  }

  async #heal(): Promise<void> {
    const { world } = this;
    this.#weather.heal();
    this.#stage = 'recover';
    this.#healedAt = world.now;
    const isBack = (): boolean => this.#recovered.size === this.#recorders.length;
    await this.#run(world.now + this.#recoveryMs, isBack);
    this.#tellRecovery();
    await this.#run(world.now + this.#recoveryMs, isBack);
  }

  #tellRecovery(): void {
    const took = Math.round(this.world.now - this.#healedAt);
    this.#count(took < PROFILES.fast.leaseMs ? 'back within a lease' : 'back later');
  }

  /** Nobody writes any more: all copies become equal and all feeds come to their end. */
  async #rest(): Promise<void> {
    this.#stage = 'rest';
    await this.#run(this.world.now + REST_MS, () => this.#clients.every(({ isResting }) => isResting));
    if (!this.#clients.every(({ isResting }) => isResting))
      this.#wrongPlans.push({
        check: 'plan.recovery',
        message: 'a client never came to the end of its work',
      });
    await this.#run(this.#healedAt + STRAGGLERS_MS, () => false);
    const isEven = (): boolean => this.#recorders.every((recorder) => this.#unevenOf(recorder) === undefined);
    await this.#run(this.world.now + EVEN_MS, isEven);
    for (const recorder of this.#recorders) {
      const uneven = this.#unevenOf(recorder);
      if (uneven !== undefined) this.#unhealed.push(uneven);
    }
  }

  #unevenOf(recorder: SetRecorder): string | undefined {
    const { partitionSet } = recorder;
    const cores = this.#regions.map((region) => region.partition(partitionSet)?.core);
    const down = this.#regions.find((_, at) => cores[at] === undefined);
    if (down !== undefined) return `${partitionSet}: ${down.name} has not come up`;
    const tails = cores.map((core) => `${core!.store.tail.epoch}:${core!.store.tail.lsn}`);
    if (new Set(tails).size > 1 || cores.some((core) => core!.store.notes.building))
      return `${partitionSet}: the copies end at ${tails.join(', ')}`;
    const { lsn } = cores[0]!.store.tail;
    const behind = this.#regions.find((_, at) => cores[at]!.store.notes.gclsn < lsn);
    if (behind !== undefined) return `${partitionSet}: ${behind.name} does not know that ${lsn} is committed`;
    const feed = this.#feeds[this.#recorders.indexOf(recorder)]!;
    // On a branch that was undone it has not come to the end, however long that is.
    if (feed.position.lsn < lsn || feed.position.epoch !== cores[0]!.store.tail.epoch)
      return `${partitionSet}: its feed ends at ${feed.position.epoch}:${feed.position.lsn} of ${tails[0]}`;
    return undefined;
  }

  /** Everything is read once more in every region: what is damaged comes to light and is repaired. */
  async #lastLook(): Promise<void> {
    // What has not become equal is a failure by itself; what it shows meanwhile is not judged as if it had.
    if (this.#unhealed.length > 0) return;
    for (const recorder of this.#recorders) recorder.quietFrom = this.world.now;
    const process = this.#processOf('client-0');
    const look = new LastLook(this.#looker, process, this.#regions, this.#ask);
    process.inside(() => void look.at(this.#recorders).then(() => (this.#isLooked = true)))();
    await this.#run(this.world.now + LAST_LOOK_MS, () => this.#isLooked);
    if (!this.#isLooked)
      this.#unhealed.push('the last look did not come to its end: something cannot be read');
    for (const [at, feed] of this.#feeds.entries()) {
      const { tail } = this.#regions[0]!.partition(this.#recorders[at]!.partitionSet)?.core?.store ?? {};
      feed.finish(tail !== undefined && feed.position.lsn >= tail.lsn);
    }
  }

  #judge(): SimulationFailure | undefined {
    const { level, staleness } = this.#configuration;
    const acknowledged = this.#recorders.reduce((sum, recorder) => sum + recorder.acknowledged, 0);
    this.#count('acknowledged writes', acknowledged);
    if (acknowledged < FEW_WRITES || this.#watch.failovers === 0) this.#count('weak seed');
    const { alarms, twoWriters, undone } = this.#watch;
    const bound: StalenessBound | undefined =
      level === 'BoundedStaleness' ? { versions: staleness.writes, ms: staleness.seconds * 1010 } : undefined;
    const unrecovered = this.#recorders
      .filter(({ partitionSet }) => !this.#recovered.has(partitionSet))
      .map(
        ({ partitionSet }) =>
          `${partitionSet}: no write was acknowledged within ${this.#recoveryMs} ms of healing`,
      );
    const up = this.#regions.every((region) =>
      this.#recorders.every(({ partitionSet }) => region.partition(partitionSet) !== undefined),
    );
    const sets = up ? this.#recorders.map((recorder) => ({ recorder, regions: this.#regions, bound })) : [];
    const plans = this.#wrongPlans;
    return judge({ alarms, twoWriters, undone, unrecovered, unhealed: this.#unhealed, plans }, sets);
  }

  async #run(untilMs: number, isDone: () => boolean): Promise<void> {
    const isEndless = (): boolean => this.world.events > MAX_EVENTS;
    await this.world.run(untilMs, () => isEndless() || isDone());
    if (isEndless()) throw new Endless(`${MAX_EVENTS} events did not bring the run to its end`);
  }

  // ---- who is in it

  readonly #count = (what: string, times = 1): void => {
    if (times > 0) this.counts.set(what, (this.counts.get(what) ?? 0) + times);
  };

  #addProcess(name: string, main: (process: SimProcess) => void): SimProcess {
    const clock = this.#configuration.clocks[this.world.processes.length]!;
    return this.world.addProcess({ name, clock, main });
  }

  #processOf(name: string): SimProcess {
    return this.world.processes.find((process) => process.name === name)!;
  }

  #newServer(at: number): StoreServer {
    const random = this.world.randomFor('disk');
    const { syncMs } = this.#configuration;
    return new StoreServer({
      url: urlOf(acceptorName(at)),
      concurrency: 4,
      syncMs: () => random.between(0.5, 1.5) * syncMs + this.#weather.slowMs(acceptorName(at)),
      onDurable: () => {},
      now: () => this.world.now,
    });
  }

  #newConnections(): Connections<NodeMessage> {
    const { links, idleMs } = this.#configuration;
    const random = this.world.randomFor('connections');
    const region = ({ name }: SimProcess): Region => this.#regions.find((one) => one.name === name)!;
    return new Connections<NodeMessage>(
      this.world,
      { mode: links, idleMs, random },
      {
        onMessage: (at, from, message) => region(at).onMessage(from.name, message),
        onReady: (at, other) => region(at).linkReady(other.name),
        onLost: (at, other) => region(at).linkLost(other.name),
      },
    );
  }

  #newRegion(at: number): Region {
    const process = this.#addProcess(regionName(at), () => region.start());
    const region: Region = new Region(this.#regionScene(), process);
    return region;
  }

  #regionScene(): RegionScene {
    const { regions: count, hints, syncMs } = this.#configuration;
    const regions = Array.from({ length: count }, (_, at) => regionName(at));
    const random = this.world.randomFor('disks');
    return {
      regions,
      recorders: this.#recorders,
      defect: this.#defect,
      hints,
      hostOf: (process) => wiredHost(guardedHost(process, this.world), process, this.#defect),
      partitionOptions: (region, partitionSet) => this.#partitionOptions(region, partitionSet),
      configurationOf: (partitionSet) => this.#configurationOf(partitionSet),
      clusterOptions: (process) => this.#clusterOptions(process),
      connect: (process) =>
        this.#connections.start(
          process,
          this.#regions.map((region) => region.process),
        ),
      sendTo: (from, to, message) => this.#connections.send(from, this.#processOf(to), message),
      canSendTo: (from, to) => this.#connections.canSend(from, this.#processOf(to)),
      sendHint: (from, partitionSet, hint) => {
        for (const { process, ...other } of this.#regions.map((region) => ({
          region,
          process: region.process,
        })))
          if (process !== from)
            this.world.send(from, process, () => other.region.agents?.onHint(partitionSet, hint));
      },
      syncMs: (region) => random.between(0.5, 1.5) * syncMs + this.#weather.slowMs(region),
      onAgentEvent: (_, partitionSet, event) => this.#watch.onAgentEvent(partitionSet, event),
      onEngineEvent: (region, partitionSet, event) => this.#watch.onEngineEvent(region, partitionSet, event),
      onMayWrite: (region, partitionSet) => this.#watch.onMayWrite(region, partitionSet),
      onAlarm: (message) => this.#watch.alarms.push(message),
      note: (what, process) => this.world.note(what, process.index),
    };
  }

  #partitionOptions(region: string, partitionSet: string): EnginePartitionOptions {
    const { regions, level, staleness, trim, forwarder } = this.#configuration;
    return {
      partitionSet,
      region,
      regions: Array.from({ length: regions }, (_, at) => regionName(at)),
      consistency: level === 'BoundedStaleness' ? { level, staleness } : { level },
      settings: { partitionKeyPaths: ['/pk'] },
      limits: LIMITS,
      json: nodeJson,
      maxWaiting: 200,
      ...(trim && { trim }),
      ...(forwarder && { forwarder }),
    };
  }

  /** Partition-sets prefer different regions. */
  #configurationOf(partitionSet: string): Configuration {
    const { regions, level, staleness, minDurability } = this.#configuration;
    const first = this.#recorders.findIndex((recorder) => recorder.partitionSet === partitionSet);
    const names = Array.from({ length: regions }, (_, at) => regionName((first + at) % regions));
    return configurationFor(names, {
      consistency: level,
      minDurability,
      timings: PROFILES.fast,
      ...(level === 'BoundedStaleness' && { staleness }),
    });
  }

  #clusterOptions(process: SimProcess): ClusterOptions {
    const { requestTimeoutMs } = this.#configuration;
    return {
      acceptors: this.#servers.map(({ url }) => url),
      proposer: process.name,
      timeoutMs: 5000,
      requestTimeoutMs,
      host: process,
      openAcceptor: (url) => this.#openAcceptor(process, url),
    };
  }

  #openAcceptor(from: SimProcess, url: string): Acceptor {
    const at = this.#servers.findIndex((server) => server.url === url);
    const { requestTimeoutMs: timeoutMs } = this.#configuration;
    const place = {
      process: this.#acceptors[at]!,
      server: this.#servers[at]!,
      service: this.#services[at]!,
    };
    return new RemoteAcceptor({ world: this.world, from, to: () => place, timeoutMs });
  }

  #newClient(at: number): EngineClient {
    const name = `client-${at}`;
    const process = this.#addProcess(name, () => client.main());
    const client = new EngineClient(this.#clientScene(), name, () => process, this.world.randomFor('client'));
    return client;
  }

  #newClientOf(at: number, style: PlanStyle | undefined): EngineClient | PlanClient {
    if (style === undefined) return this.#newClient(at);
    const name = `client-${at}`;
    const process = this.#addProcess(name, () => client.main());
    const random = this.world.randomFor('client');
    const client: PlanClient = new PlanClient(this.#planScene(), name, style, () => process, random);
    return client;
  }

  #planScene(): PlanScene {
    const regionOf = (name: string): Region => this.#regions.find((region) => region.name === name)!;
    return {
      ...this.#clientScene(),
      defect: this.#defect,
      isTrimmed: this.#configuration.trim !== undefined,
      boundMs: this.#recoveryMs,
      converse: (from, region, partitionSet, talk, work) => {
        const to = regionOf(region);
        const carryOut = () => {
          const partition = to.partition(partitionSet);
          return partition && work(partition);
        };
        converse(this.world, from, to.process, { ...talk, carryOut });
      },
      gcnsOf: (partitionSet) =>
        this.#regions.flatMap((region) => region.agentOf(partitionSet)?.state?.gcn ?? []),
      hintIn: (region, partitionSet) => {
        const { writer, gcn } = regionOf(region).agentOf(partitionSet)?.state ?? {};
        return writer === undefined || writer === null ? undefined : { region: writer, gcn: gcn! };
      },
      onWrong: (check, message) => void this.#wrongPlans.push({ check, message }),
    };
  }

  #clientScene(): ClientScene {
    const { documents, level, thinkMs } = this.#configuration;
    return {
      regions: this.#regions.map(({ name }) => name),
      recorders: this.#recorders,
      documents,
      level,
      thinkMs,
      now: () => this.world.now,
      stage: () => this.#stage,
      ask: (from, region, partitionSet, timeoutMs, work) =>
        this.#ask(from, region, partitionSet, timeoutMs, work),
      onAcknowledged: (partitionSet) => {
        const isInTime = this.world.now <= this.#healedAt + this.#recoveryMs;
        if (this.#stage === 'recover' && isInTime) this.#recovered.add(partitionSet);
      },
      count: this.#count,
      note: (what, process) => this.world.note(what, process.index),
    };
  }

  #newFeed(recorder: SetRecorder): FeedReader {
    const process = this.#addProcess(`feed-${recorder.partitionSet}`, () => feed.main());
    const scene = {
      regions: this.#regions.map(({ name }) => name),
      isTrimmed: this.#configuration.trim !== undefined,
      ask: this.#ask,
      onUndone: (of: SetRecorder, at: { readonly epoch: number; readonly lsn: number }) =>
        this.#watch.onFeedUndone(of.partitionSet, at),
      count: this.#count,
    };
    const feed: FeedReader = new FeedReader(scene, recorder, () => process, this.world.randomFor('feed'));
    return feed;
  }

  readonly #ask = <R>(
    from: SimProcess,
    region: string,
    partitionSet: string,
    timeoutMs: number,
    work: (partition: EnginePartition) => Promise<R>,
  ): Promise<Reply<R>> => {
    const to = this.#regions.find(({ name }) => name === region)!;
    return ask(this.world, from, to.process, timeoutMs, () => {
      const partition = to.partition(partitionSet);
      return partition && work(partition);
    });
  };
}

function urlOf(name: string): string {
  return `sim:${name}`;
}

class Endless extends Error {}
