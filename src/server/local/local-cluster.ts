/**
 * A whole cluster on this machine: acceptors, a node or more for every region, gateways, DNS, each a process of its own that this one
 * starts, watches and stops. Nothing is started again by itself: a cluster that people break on purpose stays broken until
 * they say otherwise.
 */
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { thisProcess } from '../../caspaxos/index.ts';
import type { ClusterConfig } from '../config/cluster-config.ts';
import { formatClusterFile } from '../config/format.ts';
import { nodesOf, partitionSetsOf } from '../config/layout.ts';
import { readClusterFile } from '../config/read.ts';
import { makeCertificates, operatorTls } from './certificates.ts';
import { ControlServer } from './control.ts';
import {
  type ClusterState,
  MINIMUM_FREE_BYTES,
  prepareDirectory,
  readState,
  writeState,
  writeWhole,
} from './directory.ts';
import { LocalClusterError } from './errors.ts';
import { DEFAULT_PORT_BASE, freeGround, type Ground, groundFrom, layOut } from './ground.ts';
import { Guard } from './guarded.ts';
import { makeKeys } from './keys.ts';
import { type DirectoryLock, lockDirectory } from './lock.ts';
import { EVERYBODY, type Link, Namespaces } from './namespaces.ts';
import { Observer, type Observed } from './observer.ts';
import type { CutOptions, Obeyed, Order } from './orders.ts';
import { CLUSTER_FILE_NAME, planCluster, settle, withDoors } from './plan.ts';
import { demandFreePorts, listenersOf } from './ports.ts';
import { BATON } from './programs.ts';
import { type Role, RoleProcess } from './role-process.ts';
import { demandSameShape, type Shape, shapeFor, shapeOf, type ShapeOptions } from './shape.ts';
import { describeState } from './state.ts';
import { until } from './until.ts';

export interface LocalClusterOptions extends ShapeOptions {
  readonly directory: string;
  /** The first of the ports; `free` takes any that are. Without it: those of the last run, or the default. */
  readonly portBase?: number | 'free';
  /** A gateway for each region and a global one. Without it: as the directory has it, or none. */
  readonly gateways?: boolean;
  /** A network namespace for each region and acceptor: then links can be cut. Needs root. */
  readonly namespaces?: boolean;
  /** The directory goes when this process does, however it ends. */
  readonly isTemporary?: boolean;
  readonly minimumFreeBytes?: number;
  readonly onEvent?: (event: LocalEvent) => void;
}

export type LocalEvent =
  | { readonly type: 'starting' | 'ready' | 'stopping' | 'stopped'; readonly process: string }
  | { readonly type: 'lost'; readonly process: string; readonly how: string; readonly log: string }
  | { readonly type: 'order'; readonly order: Order; readonly processes: readonly string[] };

/** One or several. */
export type Names = string | readonly string[];

/** How long a node that stops may try to move its writes to another region; when all are stopped, the last one cannot. */
const MOVE_MS = 3000;
const NODE_STOP_MS = 15_000;
const STOP_MS = 5000;

export class LocalCluster {
  readonly directory: string;
  readonly #options: LocalClusterOptions;
  readonly #guard = new Guard();
  readonly #control = new ControlServer((order) => this.obey(order));
  #lock: DirectoryLock | undefined;
  #config: ClusterConfig | undefined;
  #portBase: number | null = null;
  #namespaces: Namespaces | undefined;
  /** Places that were cut off, not those at the other end of their links. */
  readonly #cutOff = new Set<string>();
  #processes: readonly RoleProcess[] = [];
  #access: ClusterState['control'] = null;
  #observer: Observer | undefined;
  #writing: Promise<void> = Promise.resolve();
  #starting: Promise<void> | undefined;
  #stopping: Promise<void> | undefined;
  #isEnding = false;

  constructor(options: LocalClusterOptions) {
    this.#options = options;
    this.directory = resolve(options.directory);
  }

  static async start(options: LocalClusterOptions): Promise<LocalCluster> {
    const cluster = new LocalCluster(options);
    await cluster.start();
    return cluster;
  }

  get config(): ClusterConfig {
    if (this.#config === undefined) throw new Error('the cluster was not started');
    return this.#config;
  }

  get processes(): readonly RoleProcess[] {
    return this.#processes;
  }

  /** Until all processes are ready; when one cannot, nothing is left behind. */
  async start(): Promise<void> {
    this.#starting = this.#start();
    try {
      await this.#starting;
    } catch (error) {
      this.#stopping ??= this.#end(() => Promise.all(this.#processes.map((one) => one.kill())));
      await this.#stopping;
      throw error;
    }
  }

  /** In order: gateways; nodes from the last region to the first, so that writes move as seldom as can be; acceptors; DNS. */
  stop(): Promise<void> {
    this.#stopping ??= this.#end(() => this.#stopInOrder());
    return this.#stopping;
  }

  /** Everything at once, with kill -9. */
  async killAll(): Promise<void> {
    await Promise.all(this.#processes.map((one) => one.kill()));
    await this.stop();
  }

  async kill(name: Names): Promise<Obeyed> {
    return this.obey({ action: 'kill', targets: namesIn(name) });
  }

  async pause(name: Names): Promise<Obeyed> {
    return this.obey({ action: 'pause', targets: namesIn(name) });
  }

  /** SIGTERM: a node first moves its writes to another region. */
  async stopOne(name: Names): Promise<Obeyed> {
    return this.obey({ action: 'stop', targets: namesIn(name) });
  }

  async resume(name: Names): Promise<Obeyed> {
    return this.obey({ action: 'resume', targets: namesIn(name) });
  }

  async startAgain(name: Names): Promise<Obeyed> {
    return this.obey({ action: 'start', targets: namesIn(name) });
  }

  async cut(name: Names, options: CutOptions = {}): Promise<Obeyed> {
    return this.obey({ action: 'cut', targets: namesIn(name), ...options });
  }

  /** Everything that was done to it, or to all: links, processes that were stopped, processes that are gone. */
  async heal(name?: Names): Promise<Obeyed> {
    return this.obey({ action: 'heal', ...(name !== undefined && { targets: namesIn(name) }) });
  }

  async obey(order: Order): Promise<Obeyed> {
    this.#demandGoing();
    const named = this.#targets(order);
    const targets = order.action === 'heal' ? named.filter((one) => this.#isHarmed(one)) : named;
    await this.#carryOut(order, targets);
    const processes = targets.map(({ name }) => name);
    this.#tell({ type: 'order', order, processes });
    await this.#writing;
    return { processes };
  }

  async #carryOut(order: Order, targets: readonly RoleProcess[]): Promise<void> {
    switch (order.action) {
      case 'kill':
        await Promise.all(targets.map((one) => one.kill()));
        return;
      case 'pause':
        for (const one of targets) one.pause();
        return;
      case 'resume':
        for (const one of targets) one.resume();
        return;
      case 'stop':
        await Promise.all(targets.map((one) => one.stop(NODE_STOP_MS)));
        return;
      case 'start':
        await this.#startAll(targets);
        return;
      case 'cut':
        this.#demandNetworks(targets);
        for (const target of new Set(order.targets!.map((name) => this.#placeOf(name))))
          await this.#isolate(target, order);
        return;
      case 'heal':
        await this.#healLinks(order.targets?.map((name) => this.#placeOf(name)) ?? []);
        for (const one of targets) one.resume();
        await this.#startAll(targets);
        return;
    }
  }

  /** Regions of which every node runs and every link is whole. */
  get healthyRegions(): readonly string[] {
    return this.config.regions
      .map(({ name }) => name)
      .filter((region) => {
        const nodes = this.#nodesOf(region);
        return !this.#cutOff.has(region) && nodes.every(({ state }) => state === 'running');
      });
  }

  observe(): Promise<ReadonlyMap<string, Observed>> {
    return this.#observer!.observe();
  }

  /** Until every partition-set takes writes in one of these regions. */
  async waitForWriters(regions: readonly string[], timeoutMs: number, signal?: AbortSignal): Promise<void> {
    const wanted = partitionSetsOf(this.config).map(({ name }) => name);
    await until(
      async () => {
        const observed = await this.observe();
        const lacking = wanted.filter((name) => {
          const { writeRegion, canWrite = false } = observed.get(name) ?? {};
          return !canWrite || writeRegion === undefined || !regions.includes(writeRegion);
        });
        return lacking.length === 0
          ? undefined
          : `${lacking.length} of ${wanted.length} partition-sets have no writer in ${regions.join(', ')}`;
      },
      timeoutMs,
      signal,
    );
  }

  async #start(): Promise<void> {
    const { minimumFreeBytes = MINIMUM_FREE_BYTES, isTemporary = false } = this.#options;
    if (isTemporary) this.#guard.remove(this.directory);
    await prepareDirectory(this.directory, minimumFreeBytes);
    this.#lock = await lockDirectory(this.directory);
    this.#config = await this.#settleDown();
    await makeKeys(this.directory, this.#config);
    const { path } = this.#config;
    await writeWhole(path, formatClusterFile(this.#config, { withSecrets: true }));
    this.#processes = this.#household(this.#config);
    await demandFreePorts(listenersOf(this.#config, this.#namespaces !== undefined));
    this.#observer = new Observer({
      nodes: nodesOf(this.#config).flatMap(({ http }) => (http ? [{ http }] : [])),
      ...(this.#config.tls && { tls: operatorTls(this.directory) }),
    });
    await this.#startAll(this.#processes.filter(({ role }) => role === 'acceptor'));
    await this.#startAll(this.#processes.filter(({ role }) => role === 'node' || role === 'dns'));
    await this.#startAll(this.#processes.filter(({ role }) => role === 'gateway'));
    this.#access = await this.#control.listen();
    this.#write();
    await this.#writing;
  }

  /** The configuration of this run: the one that the directory holds, or a new one, at the addresses of this run. */
  async #settleDown(): Promise<ClusterConfig> {
    const { directory } = this;
    const { portBase, namespaces: secure = false } = this.#options;
    const path = join(directory, CLUSTER_FILE_NAME);
    const kept = existsSync(path) ? await readClusterFile(path) : undefined;
    const before = kept && (await readState(directory));
    if (kept) demandSameShape(shapeOf(kept), this.#options, directory);
    const shape = kept ? shapeOf(kept) : shapeFor(this.#options);
    const last = before === undefined ? DEFAULT_PORT_BASE : before.portBase;
    this.#portBase = portBase === 'free' ? null : (portBase ?? last);
    const isSettled = portBase === undefined && !secure && before?.namespaces !== true;
    const hadGateways = (kept?.gateways.length ?? 0) > 0;
    const gateways = this.#options.gateways ?? hadGateways;
    if (kept && isSettled && gateways === hadGateways) return kept;
    const ground = await this.#ground(shape, gateways);
    if (kept && isSettled) return withDoors(kept, directory, ground);
    const plan = { directory, shape, ground, secure };
    const config = kept ? settle(kept, plan) : planCluster(plan);
    if (secure) await makeCertificates(directory, config);
    return config;
  }

  async #ground(shape: Shape, gateways: boolean): Promise<Ground> {
    const base = this.#portBase;
    const outside =
      base === null ? await freeGround(shape, { gateways }) : groundFrom(base, shape, { gateways });
    if (this.#options.namespaces !== true) return outside;
    const acceptors = Array.from({ length: shape.acceptors }, (_, at) => `a${at + 1}`);
    const namespaces = await Namespaces.make([...shape.regions, ...acceptors], this.#guard);
    this.#namespaces = namespaces;
    const addresses = (names: readonly string[]): string[] => names.map((name) => namespaces.addressOf(name));
    const hosts = { regions: addresses(shape.regions), acceptors: addresses(acceptors) };
    const inside = layOut(shape, (offset) => (base ?? DEFAULT_PORT_BASE) + offset, { gateways, hosts });
    return {
      ...inside,
      gateways: [...outside.gateways.slice(0, 1), ...inside.gateways.slice(1)],
      dns: outside.dns,
    };
  }

  #household(config: ClusterConfig): RoleProcess[] {
    return [
      ...config.acceptors.flatMap(({ name, serve }) => (serve ? [this.#process('acceptor', name)] : [])),
      ...nodesOf(config).map(({ name, region }) => this.#process('node', name, region)),
      ...config.gateways.map(({ name, region }) => this.#process('gateway', name, region)),
      ...(config.dns ? [this.#process('dns', 'dns')] : []),
    ];
  }

  #process(role: Role, name: string, region?: string): RoleProcess {
    const place = role === 'acceptor' ? name : region;
    return new RoleProcess({
      name,
      role,
      ...(region !== undefined && { region }),
      log: join(this.directory, 'logs', `${name}.log`),
      guard: this.#guard,
      command: () => [
        ...(place === undefined ? [] : (this.#namespaces?.enter(place) ?? [])),
        process.execPath,
        BATON,
        role,
        '--config',
        this.config.path,
        ...(role === 'dns' ? [] : ['--name', name]),
        ...(role === 'node' || role === 'gateway' ? ['--stop-within', String(MOVE_MS)] : []),
        '--stop-with-parent',
      ],
      onChange: () => this.#write(),
      onLost: (_, how) =>
        this.#tell({ type: 'lost', process: name, how, log: join(this.directory, 'logs', `${name}.log`) }),
    });
  }

  async #startAll(processes: readonly RoleProcess[]): Promise<void> {
    this.#demandGoing();
    const started = processes.map(async (one) => {
      if (one.state !== 'stopped') return;
      this.#tell({ type: 'starting', process: one.name });
      await one.start();
      this.#tell({ type: 'ready', process: one.name });
    });
    const results = await Promise.allSettled(started);
    for (const result of results) if (result.status === 'rejected') throw result.reason as Error;
    this.#demandGoing();
  }

  #demandGoing(): void {
    if (this.#isEnding) throw new LocalClusterError('CLUSTER_NOT_RUNNING', 'The cluster is stopping.');
  }

  async #stopInOrder(): Promise<void> {
    const all = (role: Role): RoleProcess[] => this.#processes.filter((one) => one.role === role);
    await this.#stopAll(all('gateway'), STOP_MS);
    for (const { name } of this.#config?.regions.toReversed() ?? [])
      await this.#stopAll(this.#nodesOf(name), NODE_STOP_MS);
    await this.#stopAll(all('acceptor'), STOP_MS);
    await this.#stopAll(all('dns'), STOP_MS);
  }

  async #stopAll(processes: readonly RoleProcess[], withinMs: number): Promise<void> {
    const stopped = processes.map(async (one) => {
      if (one.state === 'stopped') return;
      this.#tell({ type: 'stopping', process: one.name });
      await one.stop(withinMs);
      this.#tell({ type: 'stopped', process: one.name });
    });
    await Promise.all(stopped);
  }

  async #end(stopProcesses: () => Promise<unknown>): Promise<void> {
    this.#isEnding = true;
    await Promise.all(this.#processes.filter(({ state }) => state === 'starting').map((one) => one.kill()));
    await this.#starting?.catch(() => {});
    await stopProcesses();
    await this.#control.close();
    this.#namespaces?.close();
    this.#access = null;
    if (this.#config && this.#lock) this.#write(null);
    await this.#writing;
    await this.#lock?.release();
    await this.#guard.close();
  }

  /** A region is its nodes: its gateways live on, to say that they have nobody behind them. */
  #nodesOf(region: string): readonly RoleProcess[] {
    return this.#processes.filter((one) => one.role === 'node' && one.region === region);
  }

  #targets({ action, targets = [] }: Order): readonly RoleProcess[] {
    if (targets.length === 0 && action === 'heal') return this.#processes;
    const named = targets.length === 0 ? [''] : targets;
    return [...new Set(named.flatMap((target) => this.#named(target)))];
  }

  #named(target: string): readonly RoleProcess[] {
    const region = this.#nodesOf(target);
    const named = region.length > 0 ? region : this.#processes.filter(({ name }) => name === target);
    if (named.length > 0) return named;
    const regions = this.config.regions.map(({ name }) => name);
    const names = this.#processes.map(({ name }) => name);
    throw new LocalClusterError(
      'NAME_UNKNOWN',
      `There is no "${target}" in the cluster; regions: ${regions.join(', ')}; processes: ${names.join(', ')}.`,
    );
  }

  /** The namespace that a name means: a node's is that of its region. */
  #placeOf(target: string): string {
    return this.#processes.find(({ name }) => name === target)?.region ?? target;
  }

  #isHarmed({ name, region = name, state }: RoleProcess): boolean {
    return this.#cutOff.has(region) || state !== 'running';
  }

  #demandNetworks(targets: readonly RoleProcess[]): void {
    if (this.#namespaces === undefined)
      throw new LocalClusterError(
        'CUT_UNAVAILABLE',
        'Links can be cut only in a cluster that was started with --netns (as root): each region has a network of its own there.',
      );
    const without = targets.find(({ role, region }) => role !== 'acceptor' && region === undefined);
    if (without !== undefined)
      throw new LocalClusterError(
        'CUT_UNAVAILABLE',
        `${without.name} has no network of its own to be cut off from.`,
      );
  }

  async #isolate(place: string, { from = 'all', direction = 'both' }: CutOptions): Promise<void> {
    const others = { all: [EVERYBODY], acceptors: this.#acceptorNames(), regions: this.#regionNames() }[from];
    const links = others.flatMap((other): Link[] => [
      ...(direction === 'in' ? [] : [{ from: place, to: other }]),
      ...(direction === 'out' ? [] : [{ from: other, to: place }]),
    ]);
    await this.#namespaces!.cut(links.filter(({ from: sender, to }) => sender !== to));
    this.#cutOff.add(place);
  }

  /** Of these places; of none means of all. */
  async #healLinks(places: readonly string[]): Promise<void> {
    if (places.length === 0) {
      await this.#namespaces?.heal();
      this.#cutOff.clear();
    }
    for (const place of new Set(places)) {
      await this.#namespaces?.heal(place);
      this.#cutOff.delete(place);
    }
  }

  #regionNames(): string[] {
    return this.config.regions.map(({ name }) => name);
  }

  #acceptorNames(): string[] {
    return this.#processes.filter(({ role }) => role === 'acceptor').map(({ name }) => name);
  }

  #tell(event: LocalEvent): void {
    this.#options.onEvent?.(event);
  }

  /** One after the other: what was written last is what is. */
  #write(supervisor: ClusterState['supervisor'] = thisProcess()): void {
    const state = describeState(this.config, this.#processes, {
      portBase: this.#portBase,
      namespaces: this.#namespaces !== undefined,
      supervisor,
      control: this.#access,
    });
    this.#writing = this.#writing.then(() => writeState(this.directory, state)).catch(() => {});
  }
}

function namesIn(names: Names): readonly string[] {
  return typeof names === 'string' ? [names] : names;
}
