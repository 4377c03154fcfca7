/** Failover of partition-sets: the state machine, its agents, and the policies by which they take turns. */
export { type AddAgent, type AgentCounters, AgentHost, type AgentHostOptions } from './agent-host.ts';
export * from './core/index.ts';
export type { AgentView, Driver } from './driver.ts';
export { FAILOVER_ERRORS, FailoverError, type FailoverErrorCode } from './errors.ts';
export { FailoverAgent, type FailoverAgentOptions, openAgentCluster } from './failover-agent.ts';
export { HostedAgent, registerOf } from './hosted-agent.ts';
export { type Entry, MemoryDriver, MemoryPartitionSet } from './memory-driver.ts';
export { AgentLog, type Logger } from './agent-log.ts';
export { countersOf } from './policy-counters.ts';
export { AgentMetrics, type MeteredHost } from './agent-metrics.ts';
export { StateCodec } from './state-codec.ts';
export { SuspensionWatch } from './suspension.ts';
export { type Sleeper, WakeQueue } from './wake-queue.ts';
