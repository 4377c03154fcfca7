/**
 * The short way in: one partition, its acceptors, its driver.
 *
 *   const agent = await FailoverAgent.start({
 *     acceptors: ['http://a:7400', 'http://b:7400', 'http://c:7400'],
 *     region: 'west',
 *     partitionSet: 'orders-7',
 *     driver,
 *     configuration: configurationFor(['west', 'east', 'north']),
 *   });
 *   ...
 *   await agent.stop();
 *
 * A process with thousands of partitions uses an `AgentHost` on a cluster of its own.
 */
import { type Cluster, type ClusterOptions, NODE_HOST, openCluster } from '../caspaxos/index.ts';
import { AgentHost, type AgentHostOptions } from './agent-host.ts';
import {
  type Configuration,
  type FailoverState,
  type Hint,
  type IntentBody,
  namedPolicy,
  type RegionName,
  type SchedulingPolicy,
} from './core/index.ts';
import type { Driver } from './driver.ts';
import type { HostedAgent } from './hosted-agent.ts';
import { countersOf } from './policy-counters.ts';

export interface FailoverAgentOptions extends Pick<
  AgentHostOptions,
  'sendHint' | 'onEvent' | 'logger' | 'metrics' | 'policy' | 'host' | 'isDirectoryStrange'
> {
  readonly acceptors: readonly string[];
  readonly region: RegionName;
  readonly partitionSet: string;
  readonly driver: Driver;
  /** Makes the partition-set if there is none. */
  readonly configuration?: Configuration;
  /** Of the acceptor services: token, certificates, deadlines. */
  readonly cluster?: Omit<ClusterOptions, 'acceptors'>;
}

/**
 * A cluster whose proposers have the ballots of the policy, and give up as it says: for agents, which all update at the same
 * pace. How long each waits after a refusal, its agent says with every update.
 */
export function openAgentCluster(
  options: ClusterOptions,
  policy: SchedulingPolicy = namedPolicy('baton'),
): Promise<Cluster> {
  const host = options.host ?? NODE_HOST;
  const ballots = countersOf(policy, () => host.wallClock());
  return openCluster({ ...options, ballots, giveUp: policy.giveUp, oneRoundTrip: false });
}

export class FailoverAgent {
  readonly #cluster: Cluster;
  readonly #host: AgentHost;
  readonly #agent: HostedAgent;

  private constructor(cluster: Cluster, host: AgentHost, agent: HostedAgent) {
    this.#cluster = cluster;
    this.#host = host;
    this.#agent = agent;
  }

  static async start(options: FailoverAgentOptions): Promise<FailoverAgent> {
    const { acceptors, region, partitionSet, driver, configuration, policy } = options;
    const cluster = await openAgentCluster({ proposer: region, ...options.cluster, acceptors }, policy);
    const host = new AgentHost({ ...options, region, cluster });
    const agent = await host.add({ partitionSet, driver, ...(configuration && { configuration }) });
    return new FailoverAgent(cluster, host, agent);
  }

  /** The failover state as this agent last saw it. */
  get state(): FailoverState | undefined {
    return this.#agent.state;
  }

  mayWrite(): boolean {
    return this.#agent.mayWrite();
  }

  /** A hint of a peer came in. */
  onHint(hint: Hint): void {
    this.#agent.onHint(hint);
  }

  post(intent: IntentBody, by: { id: string; who: string; gcn?: number }): Promise<FailoverState> {
    return this.#agent.post(intent, by);
  }

  /** Moves the writes away first if this region has them, as far as there is time. */
  async stop(withinMs = 10_000): Promise<void> {
    await this.#host.stop(withinMs);
    await this.#cluster.close();
  }

  /** Ends at once, as a crash would. */
  async crash(): Promise<void> {
    this.#host.close();
    await this.#cluster.close();
  }
}
