/**
 * The metrics of the agents of one process, in the Prometheus text format. Docs: "Metrics and logs" in docs/failover.md.
 *
 * No label has a partition-set as its value. A process hosts thousands of them, and every value of a label is a time series
 * in every process that is scraped: here they are counted, and the log (`agent-log.ts`) says which one it was. For the same
 * reason a word that a newer version has put into a state is counted as `other`.
 *
 * What can happen is there from the start, as zero: a failover is rare, and the first one must be seen as a rise. Every
 * agent that sees a transition counts it, so one failover counts once in each region; compare regions, do not add them up.
 *
 *   const metrics = new Registry();
 *   const host = new AgentHost({ region, cluster, metrics });
 *   response.end(await metrics.metrics());
 */
import { Counter, Gauge, Registry } from 'prom-client';
import type { AgentCounters, AgentHost } from './agent-host.ts';
import {
  type AgentEvent,
  type HistoryEntry,
  newEntries,
  PHASES,
  REFUSALS,
  TRANSITIONS,
} from './core/index.ts';
import { PrometheusHistogram } from './prometheus-histogram.ts';

export type MeteredHost = Pick<AgentHost, 'counters' | 'updateMs' | 'size' | 'agents'>;

const OUTCOMES = ['accepted', 'stale', 'refused', 'failed'] as const;
const ROLES = ['writer', 'reader', 'builder', 'fenced', 'gone', 'none'] as const;
/** Of agents that have not seen a state yet. */
const UNKNOWN = 'unknown';

/** All agents, counted in one pass. */
interface Census {
  readonly phases: Map<string, number>;
  readonly writers: Map<string, number>;
  readonly roles: Map<string, number>;
  mayWrite: number;
}

export class AgentMetrics {
  readonly #host: MeteredHost;
  readonly #registry: Registry;
  readonly #transitions: Counter<'what' | 'why'>;
  readonly #refusals: Counter<'code'>;
  #census: Census | undefined;

  /** `registry`: where others have their metrics too. Two hosts in one process need a registry each. */
  constructor(host: MeteredHost, registry: Registry = new Registry()) {
    this.#host = host;
    this.#registry = registry;
    this.#registerUpdates();
    this.#transitions = this.#registerTransitions();
    this.#refusals = this.#registerRefusals();
    this.#registerCensus();
  }

  text(): Promise<string> {
    return this.#registry.metrics();
  }

  onEvent(event: AgentEvent): void {
    if (event.event === 'refused') this.#refusals.inc({ code: known(event.refusal.code, REFUSALS) });
    if (event.event !== 'state' || event.before === undefined) return;
    for (const entry of newEntries(event.before, event.state)) this.#transitions.inc(labelsOf(entry));
  }

  #registerUpdates(): void {
    const updates = this.#counter(
      'baton_agent_updates_total',
      'State updates, by how they ended',
      ['outcome'],
      () => {
        for (const outcome of OUTCOMES) updates.inc({ outcome }, this.#host.counters[outcome]);
      },
    );
    const durations = new PrometheusHistogram(this.#host.updateMs, {
      name: 'baton_agent_update_seconds',
      help: 'How long state updates took, however they ended',
    });
    this.#registry.registerMetric(durations);
    const total = (name: string, help: string, of: keyof AgentCounters): void => {
      const counter = this.#counter(name, help, [], () => counter.inc(this.#host.counters[of]));
    };
    total('baton_agent_leases_lost_total', 'Leases that ran out before they were renewed', 'leasesLost');
    total(
      'baton_agent_suspensions_total',
      'Times that this process stood still or its clocks jumped',
      'suspensions',
    );
    total(
      'baton_agent_steps_total',
      'Times that an agent found its partition-set in another step',
      'phaseChanges',
    );
  }

  #registerTransitions(): Counter<'what' | 'why'> {
    const transitions = new Counter({
      name: 'baton_failover_transitions_total',
      help: 'Transitions that agents of this process saw, by what happened and its cause',
      labelNames: ['what', 'why'] as const,
      registers: [this.#registry],
    });
    for (const [what, causes] of Object.entries(TRANSITIONS))
      for (const why of causes) transitions.inc({ what, why }, 0);
    return transitions;
  }

  #registerRefusals(): Counter<'code'> {
    const refusals = new Counter({
      name: 'baton_agent_refusals_total',
      help: 'Updates that the state machine refused, by code',
      labelNames: ['code'] as const,
      registers: [this.#registry],
    });
    for (const code of Object.keys(REFUSALS)) refusals.inc({ code }, 0);
    return refusals;
  }

  #registerCensus(): void {
    this.#gauge('baton_agent_hosted', 'Agents in this process', () => this.#host.size);
    this.#gauge(
      'baton_agent_may_write',
      'Partition-sets for which this process may take writes now',
      () => this.#look().mayWrite,
    );
    this.#gaugeBy('baton_agent_roles', 'Agents by the role that they gave their driver', 'role', 'roles');
    this.#gaugeBy('baton_failover_phases', 'Partition-sets by phase', 'phase', 'phases');
    this.#gaugeBy('baton_failover_writers', 'Partition-sets by their write region', 'writer', 'writers');
  }

  /** A counter whose value is kept elsewhere. */
  #counter<T extends string>(
    name: string,
    help: string,
    labelNames: readonly T[],
    add: () => void,
  ): Counter<T> {
    const counter = new Counter<T>({
      name,
      help,
      labelNames,
      registers: [this.#registry],
      collect: () => {
        counter.reset();
        add();
      },
    });
    return counter;
  }

  #gauge(name: string, help: string, value: () => number): void {
    const gauge: Gauge = new Gauge({
      name,
      help,
      registers: [this.#registry],
      collect: () => gauge.set(value()),
    });
  }

  #gaugeBy(name: string, help: string, label: string, of: 'phases' | 'writers' | 'roles'): void {
    const gauge: Gauge = new Gauge({
      name,
      help,
      labelNames: [label],
      registers: [this.#registry],
      collect: () => {
        gauge.reset();
        for (const [value, count] of this.#look()[of]) gauge.set({ [label]: value }, count);
      },
    });
  }

  /** The gauges of one scrape are collected in one turn, and share what the first of them counted. */
  #look(): Census {
    if (this.#census === undefined) {
      this.#census = this.#count();
      queueMicrotask(() => (this.#census = undefined));
    }
    return this.#census;
  }

  #count(): Census {
    const zeros = (names: readonly string[]): Map<string, number> => new Map(names.map((name) => [name, 0]));
    const census: Census = {
      phases: zeros([...PHASES, UNKNOWN]),
      writers: zeros(['none']),
      roles: zeros(ROLES),
      mayWrite: 0,
    };
    let seen = 0;
    for (const agent of this.#host.agents()) {
      if (agent.state === undefined) continue;
      seen += 1;
      raise(census.phases, agent.state.phase);
      raise(census.writers, agent.state.writer ?? 'none');
      raise(census.roles, agent.role?.role ?? 'none');
      if (agent.mayWrite()) census.mayWrite += 1;
    }
    raise(census.phases, UNKNOWN, this.#host.size - seen);
    raise(census.roles, 'none', this.#host.size - seen);
    return census;
  }
}

function raise(counts: Map<string, number>, name: string, by = 1): void {
  counts.set(name, (counts.get(name) ?? 0) + by);
}

function known(name: string, names: object): string {
  return Object.hasOwn(names, name) ? name : 'other';
}

function labelsOf({ what, why }: HistoryEntry): { what: string; why: string } {
  const causes: readonly string[] | undefined = Object.hasOwn(TRANSITIONS, what)
    ? TRANSITIONS[what]
    : undefined;
  return { what: known(what, TRANSITIONS), why: causes?.includes(why) === true ? why : 'other' };
}
