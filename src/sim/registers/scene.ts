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
import { type ClockErrors, latencyModel, plainLink } from '../core/index.ts';
import type { SimProcess } from '../process.ts';
import type { ScheduledFault, SimulationFailure } from '../seeded-run.ts';
import { World } from '../world.ts';
import { judge, wasDone } from './checks.ts';
import { Board } from './board.ts';
import { type ClientScene, RegisterClient } from './client.ts';
import type { RegistersConfiguration } from './configuration.ts';
import { copiedIn, Copies } from './copies.ts';
import { type Fairness, fairness } from './fair.ts';
import { acceptorName, clientName } from './faults.ts';
import { commitOf, ERASABLE_KEY, History, type RecordedCall } from './history.ts';
import { Newcomers } from './newcomers.ts';
import { Lineages } from './lineages.ts';
import { onRecord, Phases } from './phases.ts';
import { type AcceptorPlace, RemoteStore } from './remote.ts';
import { AcceptorService, RemoteAcceptor } from './service.ts';
import { type Rivals, rivalsIn } from './rivals.ts';
import { type Defect, StoreServer, type StoreServerOptions } from './store-server.ts';
import { Weather } from './weather.ts';

/** By then every client has opened the cluster, even across oceans. */
export const CALM_MS = 6000;
const RECOVERY_MS = 60_000;
/** No original is promoted so often that it tells the same line as a copy. */
const TIMELINE_OF_COPIES = 1000;
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
  readonly #lineages: Lineages;
  readonly #rivals: Rivals | undefined;
  readonly #phases = new Phases((what) => this.count(what));
  readonly #defect: Defect | undefined;
  /** Acceptors and clients, with those of the rivals at the end. */
  readonly #places: AcceptorPlace[] = [];
  readonly #clients: { readonly process: SimProcess; readonly client: RegisterClient }[] = [];
  readonly #copies = new Copies();
  readonly #weather: Weather;
  readonly #alarms: string[] = [];
  readonly #newcomers = new Newcomers((what) => this.count(what));
  #isHealed = false;
  readonly #boards = new Map<string, Board>();
  /** Of each cluster, the newest set of acceptors that any client has worked with: whom to name when the library is opened. */
  readonly #newestSets = new Map<string, Configuration>();
  /** The cluster in which a client was last. */
  readonly #clusters = new Map<SimProcess, string>();

  constructor(
    seed: number,
    configuration: RegistersConfiguration,
    schedule: readonly ScheduledFault[],
    defect?: Defect,
  ) {
    this.#configuration = configuration;
    this.#defect = defect;
    this.#isFair = fairness(configuration, schedule);
    this.#rivals = rivalsIn(schedule, configuration.acceptors);
    const world = new World(seed);
    this.world = world;
    this.history = new History(() => world.now);
    const own = Array.from({ length: configuration.acceptors + configuration.spares }, (_, at) =>
      acceptorName(at),
    );
    const clients = Array.from({ length: configuration.clients }, (_, at) => clientName(at));
    const rivals = this.#rivals ?? { acceptors: [], clients: [] };
    const copied = copiedIn(schedule);
    const places = [own, clients, rivals.acceptors, rivals.clients, copied].flat().length;
    world.link = plainLink(latencyModel(configuration.latency)!, places, world.randomFor('network'));
    this.#lineages = new Lineages(
      [...own, ...rivals.acceptors].map(urlOf),
      (key) => this.#keys().includes(key) || key.startsWith(FRESH_KEYS),
    );
    this.#addAcceptors(own);
    this.#addClients(clients);
    this.#addAcceptors(rivals.acceptors);
    this.#addClients(rivals.clients);
    for (const name of copied) this.#addCopy(name);
    this.#weather = new Weather({
      world,
      phases: this.#phases,
      lineages: this.#lineages,
      servers: new Map(this.#places.map(({ process, server }) => [process.index, server])),
      rivals: rivals.clients,
      copies: this.#copies,
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
      const late = this.#rivals?.clients ?? [];
      for (const process of this.world.processes) if (!late.includes(process.name)) process.start();
      await this.#run(CALM_MS + this.#configuration.chaosMs, () => false);
      this.#weather.heal();
      this.#isHealed = true;
      await this.#run(this.world.now + RECOVERY_MS, () => this.#clients.every(({ client }) => client.isDone));
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
    const clusters = [...new Set(operations.map(({ cluster }) => cluster))];
    if (this.#rivals !== undefined)
      this.count(clusters.length > 1 ? 'shared: two clusters' : 'shared: one cluster');
    const mixture = this.#lineages.mixture(operations);
    const unrecovered = this.#unrecovered();
    for (const cluster of clusters) {
      const failure = judge({
        operations: operations.filter((operation) => operation.cluster === cluster),
        ancestry: this.#lineages.of(cluster),
        alarms: this.#alarms,
        misused: this.#newcomers.misused,
        mixture,
        unrecovered,
        due,
      });
      if (failure !== undefined) return failure;
    }
    return undefined;
  }

  /** Calls that began when faults did or later, had to end before healing, and had all they needed meanwhile. */
  #due(): readonly RecordedCall[] {
    const operations = this.history.operations.filter(({ cluster }) => this.#isOfOurs(cluster));
    return operations.flatMap(({ calls }) =>
      calls.filter(
        ({ client, start, dueBy }) =>
          start >= CALM_MS && dueBy <= this.#healedAt && this.#isFair(client, start, dueBy),
      ),
    );
  }

  /** Whether it is on those acceptors alone of which the schedule speaks. */
  #isOfOurs(cluster: string): boolean {
    const others = new Set((this.#rivals?.acceptors ?? []).map(urlOf));
    return !membersOf(this.#newestSets.get(cluster)!).some(({ url }) => others.has(url));
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
    return this.#clients.flatMap(({ client, process }) =>
      this.#keys()
        .filter((key) => !client.recovered.has(key))
        .map((key) => `${process.name} on ${key}`),
    );
  }

  #keys(): readonly string[] {
    return ['x', ERASABLE_KEY, 'y'].slice(0, this.#configuration.keys);
  }

  #addAcceptors(names: readonly string[]): void {
    const { clocks } = this.#configuration;
    const first = this.#places.length;
    const servers = names.map((name, at) =>
      this.#newServer(name, (key, text) => this.#lineages.onDurable(first + at, key, text)),
    );
    for (const [at, server] of servers.entries())
      this.#places.push(this.#newPlace(names[at]!, server, first === 0 ? clocks[at] : undefined));
  }

  /** What becomes durable there counts for nobody. */
  #addCopy(name: string): void {
    const server = this.#newServer(name, () => {}, TIMELINE_OF_COPIES);
    this.#copies.add(name, this.#newPlace(`copy-of-${name}`, server));
  }

  #newPlace(name: string, server: StoreServer, clock?: ClockErrors): AcceptorPlace {
    const service = new AcceptorService(server);
    const process = this.world.addProcess({
      name,
      ...(clock && { clock }),
      main: (own) => {
        server.start(own);
        if (this.#configuration.kind === 'service') service.start(own);
      },
    });
    return { server, service, process };
  }

  #addClients(names: readonly string[]): void {
    const { clocks, acceptors, spares } = this.#configuration;
    const first = this.#clients.length;
    const scene = this.#clientScene();
    for (const [at, name] of names.entries()) {
      const letter = String.fromCodePoint(97 + first + at);
      const client = new RegisterClient(scene, letter, this.world.randomFor('workload'));
      const process = this.world.addProcess({
        name,
        ...(first === 0 && { clock: clocks[acceptors + spares + at]! }),
        main: client.main,
      });
      this.#clients.push({ client, process });
    }
  }

  #newServer(name: string, onDurable: StoreServerOptions['onDurable'], timeline?: number): StoreServer {
    const { syncMs, concurrency } = this.#configuration;
    const random = this.world.randomFor('disk');
    return new StoreServer({
      url: urlOf(name),
      concurrency,
      syncMs: () => this.#weather.syncMs(name, random.between(0.5, 1.5) * syncMs),
      onDurable,
      ...(timeline !== undefined && { timeline }),
      onRetired: () => {
        this.count('restored: found');
        this.#weather.onRetired(name);
      },
      now: () => this.world.now,
      defect: this.#defect,
    });
  }

  #clientScene(): ClientScene {
    const { lanes, thinkMs, idleShare, timeoutMs, reopenShare } = this.#configuration;
    return {
      history: this.history,
      boardOf: (cluster) => this.#boardOf(cluster),
      keys: this.#keys(),
      lanes,
      thinkMs,
      idleShare,
      timeoutMs,
      reopenShare,
      isHealed: () => this.#isHealed,
      freshKey: () => `${FRESH_KEYS}${Math.floor(this.world.now / FRESH_EVERY_MS)}`,
      options: (process) => this.#clusterOptions(process),
      onSet: (configuration, process) => this.#onSet(configuration, process),
      count: (what, times) => this.count(what, times),
      onAlarm: (message) => this.#alarms.push(message),
      note: (what, process) => this.world.note(what, process.index),
    };
  }

  #boardOf(cluster: string): Board {
    const board = this.#boards.get(cluster) ?? new Board();
    this.#boards.set(cluster, board);
    return board;
  }

  #onSet(configuration: Configuration, process: SimProcess): void {
    const { cluster, number } = configuration;
    this.#clusters.set(process, cluster);
    if (number > (this.#newestSets.get(cluster)?.number ?? 0)) this.#newestSets.set(cluster, configuration);
  }

  /** Whom a client names when it opens the library: those that its cluster had last, or those that it was given. */
  #namedBy(process: SimProcess): readonly string[] {
    // Without rivals there is one cluster, and who comes to it for the first time is given its newest set.
    const known = this.#rivals === undefined ? [...this.#newestSets.keys()][0] : this.#clusters.get(process);
    if (known !== undefined) return membersOf(this.#newestSets.get(known)!).map(({ url }) => url);
    const isRival = this.#rivals?.clients.includes(process.name) === true;
    const first = this.#places.slice(0, this.#configuration.acceptors).map(({ process: { name } }) => name);
    return (isRival ? [...this.#rivals.acceptors, this.#rivals.shared] : first).map(urlOf);
  }

  #clusterOptions(process: SimProcess) {
    const { ballots, oneRoundTrip, oneName, quorums, timeoutMs, requestTimeoutMs } = this.#configuration;
    return {
      acceptors: this.#namedBy(process),
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
    const { client, process } = this.#clients.find(({ process: { name: own } }) => own === name)!;
    const change = (): Promise<void> => client.changeSet(process, acceptors.map(urlOf));
    const everywhere = this.#places.map(({ process: { index } }) => index);
    process.inside(() => void this.#phases.during(process.index, everywhere, ['set change'], change))();
  }

  #openAcceptor(from: SimProcess, url: string): Acceptor {
    const original = this.#places.find(({ server }) => server.url === url)!;
    const to = () => this.#copies.placeFor(from.name, original);
    const route = { world: this.world, from, to, timeoutMs: this.#configuration.requestTimeoutMs };
    const acceptor =
      this.#configuration.kind === 'store'
        ? new StoreAcceptor(new RemoteStore(route, this.#phases), from)
        : new RemoteAcceptor(route);
    const watched = this.#newcomers.watch(acceptor, {
      server: () => to().server,
      openedAt: this.world.now,
    });
    return onRecord(watched, this.#phases, from.index, original.process.index);
  }
}

function urlOf(name: string): string {
  return `sim:${name}`;
}

class Endless extends Error {}
