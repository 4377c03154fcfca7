/**
 * One region: a process with a disk, an engine with a copy of every partition-set, and an agent for each. It starts as a real
 * one would: the engine first, then the acceptors, then the agents, and tries again as long as one of them is not to be had.
 */
import type { Cluster, ClusterOptions } from '../../caspaxos/index.ts';
import {
  type DiskImage,
  Engine,
  type EngineDisk,
  type EnginePartition,
  type EnginePartitionOptions,
  MemoryNodeStore,
  type NodeMessage,
  type PartitionEvent,
} from '../../engine/index.ts';
import {
  type AgentEvent,
  AgentHost,
  type Configuration,
  type Hint,
  type HostedAgent,
  lastSaidOf,
  openAgentCluster,
  registerOf,
  StateCodec,
} from '../../failover/index.ts';
import type { Host } from '../../protocol/index.ts';
import type { SimProcess } from '../process.ts';
import type { SetRecorder } from './recorder.ts';
import { type FuzzDefect, observedStore, type StoreHooks, wiredDriver, wiredMessage } from './wiring.ts';

/** What the regions of a run have in common. */
export interface RegionScene {
  readonly regions: readonly string[];
  readonly recorders: readonly SetRecorder[];
  readonly defect: FuzzDefect | undefined;
  readonly hints: boolean;
  hostOf(process: SimProcess): Host;
  readonly partitionOptions: (region: string, partitionSet: string) => EnginePartitionOptions;
  readonly configurationOf: (partitionSet: string) => Configuration;
  clusterOptions(process: SimProcess): ClusterOptions;
  connect(process: SimProcess): void;
  sendTo(from: SimProcess, region: string, message: NodeMessage): void;
  canSendTo(from: SimProcess, region: string): boolean;
  readonly sendHint: (from: SimProcess, partitionSet: string, hint: Hint) => void;
  syncMs(region: string): number;
  readonly onAgentEvent: (region: string, partitionSet: string, event: AgentEvent) => void;
  readonly onEngineEvent: (region: string, partitionSet: string, event: PartitionEvent) => void;
  readonly onMayWrite: (region: string, partitionSet: string) => void;
  onAlarm(message: string): void;
  note(what: string, process: SimProcess): void;
}

const AGAIN_MS = 150;

/** Of one life of the process. */
interface Life {
  readonly engine: Engine;
  agents: AgentHost | undefined;
  readonly mayWrite: Map<string, () => boolean>;
}

export class Region {
  readonly name: string;
  readonly store: MemoryNodeStore;
  readonly process: SimProcess;
  readonly #scene: RegionScene;
  #life: Life | undefined;

  constructor(scene: RegionScene, process: SimProcess) {
    this.#scene = scene;
    this.name = process.name;
    this.process = process;
    this.store = new MemoryNodeStore({ host: process, syncMs: () => scene.syncMs(process.name) });
  }

  get agents(): AgentHost | undefined {
    return this.process.isUp ? this.#life?.agents : undefined;
  }

  agentOf(partitionSet: string): HostedAgent | undefined {
    return this.agents?.agentOf(partitionSet);
  }

  /** Undefined while its process is down, or has not come so far. */
  partition(partitionSet: string): EnginePartition | undefined {
    if (!this.process.isUp || this.#life === undefined) return undefined;
    const partition = this.#life.engine.partition(partitionSet);
    return partition.core === undefined ? undefined : partition;
  }

  /** Whether its copy would be told so now. */
  mayWrite(partitionSet: string): boolean {
    return this.process.isUp && this.#life?.mayWrite.get(partitionSet)?.() === true;
  }

  /** A life begins. */
  start(): void {
    const { name, process } = this;
    const { recorders, regions, partitionOptions, onEngineEvent } = this.#scene;
    const engine = new Engine({
      region: name,
      host: this.#scene.hostOf(process),
      disk: this.#disk(),
      others: regions.filter((other) => other !== name),
      links: {
        send: (to, message) => this.#scene.sendTo(process, to, message),
        canSend: (to) => this.#scene.canSendTo(process, to),
      },
      onEvent: (partitionSet, event) => onEngineEvent(name, partitionSet, event),
    });
    for (const { partitionSet } of recorders) engine.open(partitionOptions(name, partitionSet));
    this.#life = { engine, agents: undefined, mayWrite: new Map() };
    this.#scene.connect(process);
    void this.#startAgents(this.#life);
  }

  /** The power goes. Returns how many writes were lost. */
  crash(): number {
    this.process.crash();
    this.#life = undefined;
    return this.store.crash();
  }

  /** The process ends, and its disk comes back with that on it, or empty. Returns how many writes were lost that were on their way to it. */
  loseDisk(image?: DiskImage): number {
    const lost = this.crash();
    this.store.replaceDisk(image);
    return lost;
  }

  /** Stops on purpose: the agents hand the writes over and leave their stop marks; then the process ends. */
  async stop(withinMs: number): Promise<void> {
    await this.#life?.agents?.stop(withinMs);
    this.process.soon(() => this.crash());
  }

  onMessage(from: string, message: NodeMessage): void {
    const { defect } = this.#scene;
    const receiver = message.type === 'partition' ? this.partition(message.partitionSet) : undefined;
    this.#life?.engine.onMessage(from, wiredMessage(message, receiver, defect));
  }

  linkReady(other: string): void {
    this.#life?.engine.linkReady(other);
  }

  linkLost(other: string): void {
    this.#life?.engine.linkLost(other);
  }

  #disk(): EngineDisk {
    const { recorders, defect } = this.#scene;
    return {
      partition: (partitionSet) => {
        const recorder = recorders.find((one) => one.partitionSet === partitionSet)!;
        const hooks: StoreHooks = { onAppend: (tail, entries) => recorder.took(this.name, tail, entries) };
        return observedStore(this.store.partition(partitionSet), hooks, defect);
      },
      drop: (partitionSet) => this.store.drop(partitionSet),
      probe: (done) => this.store.partition(recorders[0]!.partitionSet).sync(done),
    };
  }

  async #startAgents(life: Life): Promise<void> {
    const { name, process } = this;
    const cluster = await this.#open();
    const { hints, sendHint, onAgentEvent, recorders } = this.#scene;
    const agents = new AgentHost({
      region: name,
      cluster,
      host: this.#scene.hostOf(process),
      ...(hints && { sendHint: (partitionSet, hint) => sendHint(process, partitionSet, hint) }),
      onEvent: (partitionSet, event) => onAgentEvent(name, partitionSet, event),
      onError: (_, error) => this.#scene.onAlarm(`an agent failed: ${String(error)}`),
    });
    life.agents = agents;
    await Promise.all(recorders.map(({ partitionSet }) => this.#add(life, agents, cluster, partitionSet)));
  }

  async #add(
    { engine, mayWrite }: Life,
    agents: AgentHost,
    cluster: Cluster,
    partitionSet: string,
  ): Promise<void> {
    const { configurationOf, defect, onMayWrite } = this.#scene;
    const hooks = {
      onMayWrite: () => onMayWrite(this.name, partitionSet),
      onAttached: (told: () => boolean) => void mayWrite.set(partitionSet, told),
    };
    const partition = engine.partition(partitionSet);
    const driver = wiredDriver(partition, hooks, defect);
    for (;;) {
      try {
        const { value: state } = await cluster.read(registerOf(partitionSet), { codec: new StateCodec() });
        if (state !== undefined) await partition.isOutlived(lastSaidOf(state, this.name));
        await agents.add({ partitionSet, driver, configuration: configurationOf(partitionSet) });
        return;
      } catch (error) {
        this.#scene.note(`start failed: ${(error as Error).message}`, this.process);
        await sleep(this.process, AGAIN_MS);
      }
    }
  }

  async #open(): Promise<Cluster> {
    for (;;) {
      try {
        const options = this.#scene.clusterOptions(this.process);
        const cluster = await openAgentCluster(options);
        cluster.on('alarm', (error) => this.#scene.onAlarm(error.message));
        cluster.on('warning', () => {});
        return cluster;
      } catch (error) {
        this.#scene.note(`open failed: ${(error as Error).message}`, this.process);
        await sleep(this.process, AGAIN_MS);
      }
    }
  }
}

export function sleep(process: SimProcess, ms: number): Promise<void> {
  return new Promise((resolve) => {
    process.after(ms, resolve);
  });
}
