/**
 * The agents of one process: thousands of partitions of one region on one cluster of acceptors. They share a timer, a bound
 * on the updates under way, and the batches that carry their messages; their first heartbeats are spread over an interval.
 */
import type { Registry } from 'prom-client';
import type { Cluster } from '../caspaxos/index.ts';
import { NODE_HOST } from '../caspaxos/index.ts';
import { Histogram, type Host } from '../protocol/index.ts';
import {
  type AgentEvent,
  type Configuration,
  type Hint,
  namedPolicy,
  type RegionName,
  type SchedulingPolicy,
  UpdatePace,
} from './core/index.ts';
import { AgentLog, type Logger } from './agent-log.ts';
import { AgentMetrics } from './agent-metrics.ts';
import { Departures } from './departures.ts';
import type { Driver } from './driver.ts';
import { HostedAgent } from './hosted-agent.ts';
import { Moves } from './moves.ts';
import { SuspensionWatch } from './suspension.ts';
import { WakeQueue } from './wake-queue.ts';
import { WorkQueue } from './work-queue.ts';

export interface AgentHostOptions {
  readonly region: RegionName;
  readonly cluster: Cluster;
  readonly policy?: SchedulingPolicy;
  /** Updates and reads under way at a time: 512. */
  readonly maxUnderWay?: number;
  /** Sends a hint to the partition-set's agents in the other regions. Without it they notice by themselves, later. */
  readonly sendHint?: (partitionSet: string, hint: Hint) => void;
  readonly onEvent?: (partitionSet: string, event: AgentEvent) => void;
  /** An agent failed, and begins anew. */
  readonly onError?: (partitionSet: string, error: unknown) => void;
  /** One line for every transition. */
  readonly logger?: Logger;
  /** Where the metrics of this host's agents are registered. */
  readonly metrics?: Registry;
  readonly host?: Host;
  /**
   * The data were last used under another boot or on another machine, so no lock shows that the process that had them is gone: an agent waits
   * a lease before it has any rights. Asked for every agent.
   */
  readonly isDirectoryStrange?: () => boolean;
}

export interface AddAgent {
  readonly partitionSet: string;
  readonly driver: Driver;
  /** Makes the partition-set if there is none. */
  readonly configuration?: Configuration;
  /** The first heartbeat comes at a random moment within this: an interval. */
  readonly spreadMs?: number;
}

export interface AgentCounters {
  accepted: number;
  stale: number;
  refused: number;
  failed: number;
  phaseChanges: number;
  leasesLost: number;
  suspensions: number;
  /** Errors of the agents' own. */
  errors: number;
}

const STALLED_MS = 1000;

/** Planned moves of a stop: at least so many at once, and at most so many one after the other. */
const MOVES_AT_ONCE = 3;
const MOVES_IN_TURN = 50;

export class AgentHost {
  readonly counters: AgentCounters = {
    accepted: 0,
    stale: 0,
    refused: 0,
    failed: 0,
    phaseChanges: 0,
    leasesLost: 0,
    suspensions: 0,
    errors: 0,
  };
  readonly updateMs = new Histogram();
  readonly #options: AgentHostOptions;
  readonly #host: Host;
  readonly #policy: SchedulingPolicy;
  readonly #agents = new Map<string, HostedAgent>();
  readonly #wakes: WakeQueue;
  readonly #work: WorkQueue;
  readonly #departures: Departures;
  readonly #pace = new UpdatePace();
  readonly #moves: Moves;
  readonly #suspension: SuspensionWatch;
  readonly #log: AgentLog | undefined;
  readonly #metrics: AgentMetrics | undefined;

  constructor(options: AgentHostOptions) {
    this.#options = options;
    this.#host = options.host ?? NODE_HOST;
    this.#policy = options.policy ?? namedPolicy('baton');
    this.#wakes = new WakeQueue(this.#host);
    this.#departures = new Departures(this.#host);
    this.#moves = new Moves(undefined, () => this.#wakes.lateMs, this.#pace);
    this.#work = new WorkQueue(options.maxUnderWay ?? 512, () => this.#wakes.lateMs);
    this.#suspension = new SuspensionWatch(this.#host, STALLED_MS, (ms) => this.#suspended(ms));
    this.#log = options.logger && new AgentLog(options.logger, options.region);
    this.#metrics = options.metrics && new AgentMetrics(this, options.metrics);
  }

  get size(): number {
    return this.#agents.size;
  }

  async add({ partitionSet, driver, configuration, spreadMs }: AddAgent): Promise<HostedAgent> {
    const { region, cluster, sendHint } = this.#options;
    const incarnation = await driver.incarnation();
    const spread = spreadMs ?? configuration?.timings.intervalMs ?? 1000;
    const agent = new HostedAgent({
      partitionSet,
      region,
      incarnation,
      configuration,
      driver,
      cluster,
      host: this.#host,
      policy: this.#policy,
      work: this.#work,
      departures: this.#departures,
      moves: this.#moves,
      pace: this.#pace,
      isDirectoryStrange: this.#options.isDirectoryStrange?.(),
      firstBeatAt: this.#host.now() + this.#host.random() * spread,
      sendHint: sendHint && ((hint) => sendHint(partitionSet, hint)),
      onEvent: (_, event) => this.#onEvent(partitionSet, event),
      onUpdate: ({ state }, ms, outcome) => {
        this.counters[outcome] += 1;
        this.updateMs.record(ms);
        if (state !== undefined) this.#pace.updated(ms, state.configuration.timings.intervalMs);
      },
      onRole: (role, error) => {
        if (error === undefined) this.#log?.assumed(partitionSet, role);
        else this.#log?.assumeFailed(partitionSet, role, error);
      },
      onError: (error) => {
        this.counters.errors += 1;
        this.#log?.failed(partitionSet, error);
        this.#options.onError?.(partitionSet, error);
      },
      onChanged: (changed) => this.#wakes.look(changed),
    });
    this.#agents.set(partitionSet, agent);
    this.#wakes.look(agent);
    return agent;
  }

  /** Its partition-set is given up: it ends at once, and the writes do not move. */
  remove(partitionSet: string): void {
    this.#agents.get(partitionSet)?.close();
    this.#agents.delete(partitionSet);
  }

  agents(): Iterable<HostedAgent> {
    return this.#agents.values();
  }

  agentOf(partitionSet: string): HostedAgent | undefined {
    return this.#agents.get(partitionSet);
  }

  onHint(partitionSet: string, hint: Hint): void {
    this.#agents.get(partitionSet)?.onHint(hint);
  }

  /**
   * Stops all agents on purpose: the writes move away first, as far as there is time. Only some at once: a move takes its writes a
   * moment, and that of each is longer the more are under way.
   */
  async stop(withinMs: number): Promise<void> {
    const host = this.#host;
    const startedAt = host.now();
    const agents = [...this.#agents.values()];
    const waiting = agents.values();
    const moveSome = async (): Promise<void> => {
      for (const agent of waiting) await agent.giveAway(withinMs / 2 - (host.now() - startedAt));
    };
    const atOnce = Math.max(MOVES_AT_ONCE, Math.ceil(agents.length / MOVES_IN_TURN));
    await Promise.all(Array.from({ length: atOnce }, moveSome));
    const left = withinMs - (host.now() - startedAt);
    await Promise.all(agents.map((agent) => agent.stop(left)));
    this.close();
  }

  /** Ends at once, as a crash would. */
  close(): void {
    for (const agent of this.#agents.values()) agent.close();
    this.#suspension.close();
    this.#wakes.close();
    this.#agents.clear();
  }

  #onEvent(partitionSet: string, event: AgentEvent): void {
    if (event.event === 'state') this.counters.phaseChanges += 1;
    if (event.event === 'lease lost') this.counters.leasesLost += 1;
    this.#log?.onEvent(partitionSet, event);
    this.#metrics?.onEvent(event);
    this.#options.onEvent?.(partitionSet, event);
  }

  #suspended(ms: number): void {
    this.counters.suspensions += 1;
    this.#log?.suspended(this.size);
    for (const agent of this.#agents.values()) agent.suspended(ms);
  }
}
