/**
 * One run, put together: acceptors, clients, weather, and the record of what happened. First everybody opens the cluster in
 * calm weather; then faults go on while the clients work; then all is healed, and every client must get a change through on
 * every register within `RECOVERY_MS`.
 */
import {
  type Acceptor,
  type Configuration,
  hybrid,
  membersOf,
  sequential,
  StoreAcceptor,
} from '../../caspaxos/index.ts';
import { latencyModel, plainLink } from '../core/index.ts';
import type { SimProcess } from '../process.ts';
import type { ScheduledFault, SimulationFailure } from '../seeded-run.ts';
import { World } from '../world.ts';
import { Ancestry } from './ancestry.ts';
import { judge, wasDone } from './checks.ts';
import { Board } from './board.ts';
import { type ClientScene, RegisterClient } from './client.ts';
import type { RegistersConfiguration } from './configuration.ts';
import { type Fairness, fairness } from './fair.ts';
import { acceptorName, clientName } from './faults.ts';
import { commitOf, ERASABLE_KEY, History, type RecordedCall } from './history.ts';
import { Newcomers } from './newcomers.ts';
import { onRecord, Phases } from './phases.ts';
import { RemoteStore } from './remote.ts';
import { AcceptorService, RemoteAcceptor } from './service.ts';
import { type Defect, StoreServer } from './store-server.ts';
import { Weather } from './weather.ts';

/** By then every client has opened the cluster, even across oceans. */
export const CALM_MS = 6000;
const RECOVERY_MS = 60_000;
/** Registers that come into use while faults go on. */
const FRESH_KEYS = 'fresh-';
const FRESH_EVERY_MS = 1500;
/** Many times what a run takes. */
const MAX_EVENTS = 2_000_000;
/** A run with fewer changes that were acknowledged during the faults, of those that there was time for, has shown little. */
const FEW_SHARE = 0.02;

export class Scene {
  readonly world: World;
  readonly history: History;
  readonly counts = new Map<string, number>();
  readonly #configuration: RegistersConfiguration;
  readonly #isFair: Fairness;
  readonly #ancestry: Ancestry;
  readonly #phases = new Phases((what) => this.count(what));
  readonly #servers: readonly StoreServer[];
  readonly #services: readonly AcceptorService[];
  readonly #acceptors: readonly SimProcess[];
  readonly #clients: readonly RegisterClient[];
  readonly #weather: Weather;
  readonly #alarms: string[] = [];
  readonly #newcomers = new Newcomers((what) => this.count(what));
  #isHealed = false;
  /** The newest set of acceptors that any client has worked with: whom to name when the library is opened. */
  #newestSet: Configuration | undefined;

  constructor(
    seed: number,
    configuration: RegistersConfiguration,
    schedule: readonly ScheduledFault[],
    defect?: Defect,
  ) {
    this.#configuration = configuration;
    this.#isFair = fairness(configuration, schedule);
    const world = new World(seed);
    this.world = world;
    this.history = new History(() => world.now);
    const { spares, clients, latency, kind } = configuration;
    const acceptors = configuration.acceptors + spares;
    const places = acceptors + clients;
    world.link = plainLink(latencyModel(latency)!, places, world.randomFor('network'));
    this.#servers = Array.from({ length: acceptors }, (_, at) => this.#newServer(at, defect));
    this.#ancestry = new Ancestry(
      this.#servers.map(({ url }) => url),
      (key) => this.#keys().includes(key) || key.startsWith(FRESH_KEYS),
    );
    this.#services = this.#servers.map((server) => new AcceptorService(server));
    this.#acceptors = this.#servers.map((server, at) =>
      world.addProcess({
        name: acceptorName(at),
        clock: configuration.clocks[at]!,
        main: (process) => {
          server.start(process);
          if (kind === 'service') this.#services[at]!.start(process);
        },
      }),
    );
    const scene = this.#clientScene();
    this.#clients = Array.from({ length: clients }, (_, at) => {
      const letter = String.fromCodePoint(97 + at);
      const client = new RegisterClient(scene, letter, world.randomFor('workload'));
      world.addProcess({
        name: clientName(at),
        clock: configuration.clocks[acceptors + at]!,
        main: client.main,
      });
      return client;
    });
    const ground = { world, phases: this.#phases, ancestry: this.#ancestry, servers: this.#servers };
    this.#weather = new Weather({
      ...ground,
      changeSet: (client, names) => this.#changeSet(client, names),
      count: (what, times) => this.count(what, times),
    });
    this.#weather.bring(schedule);
  }

  count(what: string, times = 1): void {
    if (times > 0) this.counts.set(what, (this.counts.get(what) ?? 0) + times);
  }

  async play(): Promise<SimulationFailure | undefined> {
    try {
      for (const process of this.world.processes) process.start();
      await this.#run(CALM_MS + this.#configuration.chaosMs, () => false);
      this.#weather.heal();
      this.#isHealed = true;
      await this.#run(this.world.now + RECOVERY_MS, () => this.#clients.every(({ isDone }) => isDone));
    } catch (error) {
      if (error instanceof Endless) return { check: 'endless', message: error.message };
      return { check: 'crash', message: error instanceof Error ? error.message : String(error) };
    }
    return this.#judge();
  }

  async #run(untilMs: number, isDone: () => boolean): Promise<void> {
    const isEndless = (): boolean => this.world.events > MAX_EVENTS;
    await this.world.run(untilMs, () => isEndless() || isDone());
    if (isEndless()) throw new Endless(`${MAX_EVENTS} events did not bring the run to its end`);
  }

  #judge(): SimulationFailure | undefined {
    const { operations } = this.history;
    const due = this.#due();
    const done = due.filter(wasDone).length;
    this.count('due: done', done);
    this.count('due: missed', due.length - done);
    if (this.#hasShownLittle()) this.count('weak seed');
    return judge({
      operations,
      ancestry: this.#ancestry,
      alarms: this.#alarms,
      misused: this.#newcomers.misused,
      unrecovered: this.#unrecovered(),
      due,
    });
  }

  /** Calls that began when faults did or later, had to end before healing, and had all they needed meanwhile. */
  #due(): readonly RecordedCall[] {
    return this.history.operations.flatMap(({ calls }) =>
      calls.filter(
        ({ client, start, dueBy }) =>
          start >= CALM_MS && dueBy <= this.#healedAt && this.#isFair(client, start, dueBy),
      ),
    );
  }

  #hasShownLittle(): boolean {
    const { chaosMs, clients, lanes, thinkMs, idleShare } = this.#configuration;
    const changes = ((chaosMs * clients * lanes) / thinkMs) * (1 - idleShare);
    const committed = this.history.operations.filter(
      (operation) => (commitOf(operation)?.end ?? Infinity) < this.#healedAt,
    );
    return committed.length < changes * FEW_SHARE;
  }

  get #healedAt(): number {
    return CALM_MS + this.#configuration.chaosMs;
  }

  #unrecovered(): readonly string[] {
    return this.#clients.flatMap((client, at) =>
      this.#keys()
        .filter((key) => !client.recovered.has(key))
        .map((key) => `${clientName(at)} on ${key}`),
    );
  }

  #keys(): readonly string[] {
    return ['x', ERASABLE_KEY, 'y'].slice(0, this.#configuration.keys);
  }

  #newServer(at: number, defect: Defect | undefined): StoreServer {
    const { syncMs, concurrency } = this.#configuration;
    const random = this.world.randomFor('disk');
    return new StoreServer({
      url: urlOf(acceptorName(at)),
      concurrency,
      syncMs: () => this.#weather.syncMs(at, random.between(0.5, 1.5) * syncMs),
      onDurable: (key, text) => this.#ancestry.onDurable(at, key, text),
      onRetired: () => this.count('restored: found'),
      now: () => this.world.now,
      defect,
    });
  }

  #clientScene(): ClientScene {
    const { lanes, thinkMs, idleShare, timeoutMs, reopenShare } = this.#configuration;
    return {
      history: this.history,
      board: new Board(),
      keys: this.#keys(),
      lanes,
      thinkMs,
      idleShare,
      timeoutMs,
      reopenShare,
      isHealed: () => this.#isHealed,
      freshKey: () => `${FRESH_KEYS}${Math.floor(this.world.now / FRESH_EVERY_MS)}`,
      options: (process) => this.#clusterOptions(process),
      onSet: (configuration) => {
        if (configuration.number > (this.#newestSet?.number ?? 0)) this.#newestSet = configuration;
      },
      count: (what, times) => this.count(what, times),
      onAlarm: (message) => this.#alarms.push(message),
      note: (what, process) => this.world.note(what, process.index),
    };
  }

  #clusterOptions(process: SimProcess) {
    const { acceptors, ballots, oneRoundTrip, oneName, quorums, timeoutMs, requestTimeoutMs } =
      this.#configuration;
    const first = this.#servers.slice(0, acceptors).map(({ url }) => url);
    return {
      acceptors: this.#newestSet === undefined ? first : membersOf(this.#newestSet).map(({ url }) => url),
      proposer: oneName ? 'proposer' : process.name,
      quorums,
      timeoutMs,
      requestTimeoutMs,
      oneRoundTrip,
      ballots: ballots === 'sequential' ? sequential : hybrid(() => process.wallClock()),
      host: process,
      openAcceptor: (url: string) => this.#openAcceptor(process, url),
    };
  }

  #changeSet(name: string, acceptors: readonly string[]): void {
    const at = this.world.processes.findIndex((process) => process.name === name);
    const process = this.world.processes[at]!;
    const client = this.#clients[at - this.#acceptors.length]!;
    const change = (): Promise<void> => client.changeSet(process, acceptors.map(urlOf));
    const everywhere = this.#acceptors.map(({ index }) => index);
    process.inside(() => void this.#phases.during(process.index, everywhere, ['set change'], change))();
  }

  #openAcceptor(from: SimProcess, url: string): Acceptor {
    const at = this.#servers.findIndex((server) => server.url === url);
    const to = this.#acceptors[at]!;
    const route = { world: this.world, from, to, timeoutMs: this.#configuration.requestTimeoutMs };
    const acceptor =
      this.#configuration.kind === 'store'
        ? new StoreAcceptor(new RemoteStore(route, this.#servers[at]!, this.#phases), from)
        : new RemoteAcceptor(route, url, this.#services[at]!);
    const watched = this.#newcomers.watch(acceptor, this.#servers[at]!, this.world.now);
    return onRecord(watched, this.#phases, from.index, to.index);
  }
}

function urlOf(name: string): string {
  return `sim:${name}`;
}

class Endless extends Error {}
