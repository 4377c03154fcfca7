/**
 * A whole cluster on this machine: acceptors, a node or more for every region, gateways, DNS, each a process of its own that this one
 * starts, watches and stops. Nothing is started again by itself: a cluster that people break on purpose stays broken until
 * they say otherwise.
 */
import { join, resolve } from 'node:path';
import { thisProcess } from '../../caspaxos/index.ts';
import type { ConnectOptions } from '../../client/index.ts';
import type { ClusterConfig } from '../config/cluster-config.ts';
import { formatClusterFile } from '../config/format.ts';
import { nodesOf, partitionSetsOf } from '../config/layout.ts';
import { formatAddress } from '../config/values.ts';
import { operatorTls } from './certificates.ts';
import { ControlServer, type LocalState } from './control.ts';
import { Cuts, type Places } from './cuts.ts';
import {
  type ClusterState,
  MINIMUM_FREE_BYTES,
  prepareDirectory,
  unusableIfWithin,
  writeState,
  writeWhole,
} from './directory.ts';
import { LocalClusterError } from './errors.ts';
import { Guard } from './guarded.ts';
import { makeKeys } from './keys.ts';
import { type Load, loadOn } from './load.ts';
import { type DirectoryLock, lockDirectory } from './lock.ts';
import type { Namespaces } from './namespaces.ts';
import { Observer, type Observed } from './observer.ts';
import type { LocalClusterOptions, LocalEvent, Names, WaitOptions } from './options.ts';
import type { AnyOrder, CutOptions, LoadOrder, Obeyed, Order } from './orders.ts';
import { demandFreePorts, listenersOf } from './ports.ts';
import { BATON } from './programs.ts';
import { type Role, RoleProcess } from './role-process.ts';
import { settleDown } from './settling.ts';
import { describeLocal, describeState } from './state.ts';
import { keepPasswords, refuseStore } from './stores.ts';
import { makeTokens, readToken } from './tokens.ts';
import { until } from './until.ts';

/** How long a node that stops may try to move its writes to another region; when all are stopped, the last one cannot. */
const MOVE_MS = 3000;
const NODE_STOP_MS = 15_000;
const STOP_MS = 5000;

export class LocalCluster {
  readonly directory: string;
  readonly #options: LocalClusterOptions;
  readonly #guard = new Guard();
  readonly #control = new ControlServer({ obey: (order) => this.obey(order), state: () => this.state });
  #lock: DirectoryLock | undefined;
  #config: ClusterConfig | undefined;
  #portBase: number | null = null;
  #namespaces: Namespaces | undefined;
  #cuts = new Cuts(undefined);
  #load: Load | undefined;
  /** What nodes find in their environment: so they pass on what operators order from the page. */
  #environment: Readonly<Record<string, string>> = {};
  #processes: readonly RoleProcess[] = [];
  #access: ClusterState['control'] = null;
  #observer: Observer | undefined;
  #writing: Promise<void> = Promise.resolve();
  #starting: Promise<void> | undefined;
  #stopping: Promise<void> | undefined;
  #isReady = false;
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

  /** What nodes want to be shown over HTTP by whoever acts. */
  get operatorToken(): string {
    return readToken(this.config, 'operator');
  }

  /** What nodes want to be shown by clients. */
  get clientToken(): string {
    return readToken(this.config, 'client');
  }

  /** What acceptor services want to be shown. */
  get acceptorToken(): string {
    return readToken(this.config, 'acceptor');
  }

  /** How the SDK connects to it. */
  get connectOptions(): ConnectOptions {
    const { account, cluster, tls } = this.config;
    return {
      account: account.name,
      cluster,
      endpoints: nodesOf(this.config).map(({ address }) => formatAddress(address)),
      token: this.clientToken,
      ...(tls && { tls: operatorTls(this.directory) }),
    };
  }

  /**
   * The address at which people see the cluster, as its operators: for them alone. That of the last region, which writes last: others
   * are more likely to be killed by those who watch. None if no node speaks HTTP.
   */
  get page(): string | undefined {
    const last = this.config.regions.at(-1)!.name;
    const address = nodesOf(this.config).find(
      ({ region, http }) => region === last && http !== undefined,
    )?.http;
    if (address === undefined) return undefined;
    return `${this.config.tls ? 'https' : 'http'}://${formatAddress(address)}/#token=${this.operatorToken}`;
  }

  get state(): LocalState {
    return describeLocal(this.#processes, this.#load, this.#namespaces !== undefined);
  }

  /** Until all processes are ready; when one cannot, nothing is left behind. */
  async start(): Promise<void> {
    this.#starting = this.#start();
    try {
      await this.#starting;
    } catch (error) {
      this.#stopping ??= this.#end(() => Promise.all(this.#processes.map((one) => one.kill())));
      await this.#stopping;
      throw unusableIfWithin(this.directory, error);
    }
  }

  /** In order: gateways; nodes from the last region to the first, so that writes move as seldom as can be; acceptors; DNS. */
  stop(): Promise<void> {
    this.#stopping ??= this.#end(() => this.#stopInOrder());
    return this.#stopping;
  }

  /** Everything at once, with kill -9. */
  async killAll(): Promise<void> {
    await this.#load?.stop();
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

  /** A load of writes in every partition-set, with some reads. */
  async load(on: boolean, perSecond?: number): Promise<Obeyed> {
    return this.obey({ action: 'load', on, ...(perSecond !== undefined && { perSecond }) });
  }

  async obey(order: AnyOrder): Promise<Obeyed> {
    this.#demandGoing();
    if (!this.#isReady)
      throw new LocalClusterError(
        'CLUSTER_NOT_RUNNING',
        'The cluster is still starting; try again when it is up.',
      );
    const obeyed = order.action === 'load' ? await this.#setLoad(order) : await this.#harm(order);
    this.#tell({ type: 'order', order, ...obeyed });
    return obeyed;
  }

  async #setLoad({ on, perSecond }: LoadOrder): Promise<Obeyed> {
    this.#load ??= loadOn(this.config, this.connectOptions);
    if (on) this.#load.start(perSecond);
    else await this.#load.stop();
    return { processes: [], load: this.#load.state };
  }

  async #harm(order: Order): Promise<Obeyed> {
    const named = this.#targets(order);
    const targets = order.action === 'heal' ? named.filter((one) => this.#isHarmed(one)) : named;
    await this.#carryOut(order, targets);
    await this.#writing;
    return { processes: targets.map(({ name }) => name) };
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
        this.#cuts.demandNetworks(targets);
        for (const target of new Set(order.targets!.map((name) => this.#placeOf(name))))
          await this.#cuts.isolate(target, this.#places, order);
        return;
      case 'heal':
        await this.#cuts.heal(order.targets?.map((name) => this.#placeOf(name)) ?? []);
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
        return !this.#cuts.has(region) && nodes.every(({ state }) => state === 'running');
      });
  }

  observe(): Promise<ReadonlyMap<string, Observed>> {
    return this.#observer!.observe();
  }

  /** Until every partition-set takes writes in one of these regions. */
  async waitForWriters(
    regions: readonly string[],
    timeoutMs: number,
    { signal, onProgress, isFromProgress = false }: WaitOptions = {},
  ): Promise<void> {
    const wanted = partitionSetsOf(this.config).map(({ name }) => name);
    let fewest = wanted.length;
    let hasProgressed = false;
    await until(
      async () => {
        const observed = await this.observe();
        const lacking = wanted.filter((name) => {
          const { writeRegion, canWrite = false } = observed.get(name) ?? {};
          return !canWrite || writeRegion === undefined || !regions.includes(writeRegion);
        });
        hasProgressed = lacking.length < fewest;
        fewest = Math.min(fewest, lacking.length);
        onProgress?.(wanted.length - lacking.length, wanted.length);
        return lacking.length === 0
          ? undefined
          : `${lacking.length} of ${wanted.length} partition-sets have no writer in ${regions.join(', ')}`;
      },
      timeoutMs,
      { signal, hasProgressed: () => isFromProgress && hasProgressed },
    );
  }

  async #start(): Promise<void> {
    const { minimumFreeBytes = MINIMUM_FREE_BYTES, isTemporary = false } = this.#options;
    const { directory } = this;
    if (isTemporary) this.#guard.remove(directory);
    await prepareDirectory(directory, minimumFreeBytes);
    this.#lock = await lockDirectory(directory);
    const settled = await settleDown({ ...this.#options, directory }, this.#guard);
    const { config, portBase, namespaces, stores } = settled;
    this.#config = config;
    this.#portBase = portBase;
    this.#namespaces = namespaces;
    this.#cuts = new Cuts(namespaces);
    // Before anything is written: a cluster that never ran should not decide the shape of the next.
    await demandFreePorts(listenersOf(config, namespaces !== undefined));
    await makeKeys(directory, config);
    await makeTokens(directory, config);
    await keepPasswords(config, stores);
    await writeWhole(config.path, formatClusterFile(config, { withSecrets: true }));
    this.#processes = this.#household(config);
    this.#observer = this.#makeObserver(config);
    const control = await this.#control.listen(namespaces?.machine);
    this.#environment = { BATON_LOCAL_CONTROL: control.url, BATON_LOCAL_CONTROL_TOKEN: control.token };
    await this.#startAll(this.#processes.filter(({ role }) => role === 'acceptor'));
    await this.#startAll(this.#processes.filter(({ role }) => role === 'node' || role === 'dns'));
    await this.#startAll(this.#processes.filter(({ role }) => role === 'gateway'));
    this.#access = control;
    this.#isReady = true;
    this.#write();
    await this.#writing;
  }

  #makeObserver(config: ClusterConfig): Observer {
    return new Observer({
      nodes: nodesOf(config).flatMap(({ http }) => (http ? [{ http }] : [])),
      token: readToken(config, 'operator'),
      ...(config.tls && { tls: operatorTls(this.directory) }),
    });
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
      ...(role === 'node' && { environment: () => this.#environment }),
      onChange: () => this.#write(),
      onLost: (_, how) =>
        this.#tell({ type: 'lost', process: name, how, log: join(this.directory, 'logs', `${name}.log`) }),
    });
  }

  async #startAll(processes: readonly RoleProcess[]): Promise<void> {
    this.#demandGoing();
    const started = processes.map(async (one) => {
      if (one.state !== 'stopped') return;
      const who = { process: one.name, role: one.role };
      this.#tell({ type: 'starting', ...who });
      await one.start();
      this.#tell({ type: 'ready', ...who });
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
      const who = { process: one.name, role: one.role };
      this.#tell({ type: 'stopping', ...who });
      await one.stop(withinMs);
      this.#tell({ type: 'stopped', ...who });
    });
    await Promise.all(stopped);
  }

  async #end(stopProcesses: () => Promise<unknown>): Promise<void> {
    this.#isEnding = true;
    await Promise.all(this.#processes.filter(({ state }) => state === 'starting').map((one) => one.kill()));
    await this.#starting?.catch(() => {});
    await this.#load?.stop();
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
    return [...new Set(named.flatMap((target) => this.#named(target, action)))];
  }

  #named(target: string, action: Order['action']): readonly RoleProcess[] {
    const region = this.#nodesOf(target);
    const named = region.length > 0 ? region : this.#processes.filter(({ name }) => name === target);
    if (named.length > 0) return named;
    refuseStore(this.config, target, action);
    const regions = this.config.regions.map(({ name }) => name);
    const names = this.#processes.map(({ name }) => name);
    throw new LocalClusterError(
      'NAME_UNKNOWN',
      `The cluster has no region or process "${target}"; it has the regions ${regions.join(', ')} and the processes ${names.join(', ')}.`,
    );
  }

  /** The namespace that a name means: a node's is that of its region. */
  #placeOf(target: string): string {
    return this.#processes.find(({ name }) => name === target)?.region ?? target;
  }

  #isHarmed({ name, region = name, state }: RoleProcess): boolean {
    return this.#cuts.has(region) || state !== 'running';
  }

  get #places(): Places {
    const acceptors = this.#processes.filter(({ role }) => role === 'acceptor').map(({ name }) => name);
    return { regions: this.config.regions.map(({ name }) => name), acceptors };
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
