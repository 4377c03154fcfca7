/**
 * What the agents of one process do, as structured log lines: one for each transition, with the partition-set, the GCN and
 * the cause. Metrics (`agent-metrics.ts`) say how often something happens, these lines say where.
 *
 *   const log = new AgentLog(pino(), 'west');    // and `onEvent: (set, event) => log.onEvent(set, event)` in the host
 *
 * A process may see several transitions at once, after an outage of its own; the state has the last three, and each of them
 * that is new gets its line. `gcn`, `step`, `phase` and `writer` are those of the state that was seen; `from` and `to` are
 * the GCNs of the transition itself. Where a writer is lost or something is given up, the line is a warning.
 */
import {
  type AgentEvent,
  type FailoverState,
  type HistoryEntry,
  newEntries,
  type RegionName,
  type Role,
  sentenceOf,
} from './core/index.ts';

/** As much of pino as is needed. */
export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export class AgentLog {
  readonly #logger: Logger;
  readonly #region: RegionName;

  constructor(logger: Logger, region: RegionName) {
    this.#logger = logger;
    this.#region = region;
  }

  onEvent(partitionSet: string, event: AgentEvent): void {
    const about = this.#about(partitionSet);
    switch (event.event) {
      case 'state':
        return this.#onState(about, event.state, event.before);
      case 'lease lost':
        return this.#logger.warn(
          { ...about, gcn: event.gcn, what: 'lease lost' },
          'The lease ran out before it was renewed: no write is taken until it is.',
        );
      case 'refused': {
        const { code, field, message } = event.refusal;
        return this.#logger.warn({ ...about, what: 'refused', code, field }, message);
      }
      case 'stopped':
        return this.#logger.info({ ...about, what: 'stopped' }, 'The agent has stopped.');
      default:
        return event satisfies never;
    }
  }

  /** The process stood still, or its clocks jumped: agents whose lease is not more than twice as long have dropped it. */
  suspended(agents: number): void {
    this.#logger.warn(
      { region: this.#region, what: 'suspended', agents },
      'The process stood still or its clocks jumped: leases of up to twice as long are dropped.',
    );
  }

  /** The driver is that now. */
  assumed(partitionSet: string, role: Role): void {
    this.#logger.info(
      { ...this.#about(partitionSet), ...fieldsOf(role), what: 'role' },
      `The driver has taken the role ${role.role}.`,
    );
  }

  /** The driver could not take that role; it will be asked again. */
  assumeFailed(partitionSet: string, role: Role, error: unknown): void {
    this.#logger.error(
      { ...this.#about(partitionSet), ...fieldsOf(role), what: 'role failed', err: error },
      `The driver could not take the role ${role.role}.`,
    );
  }

  /** An error of the agent's own. It dropped its lease, and begins anew. */
  failed(partitionSet: string, error: unknown): void {
    this.#logger.error(
      { ...this.#about(partitionSet), what: 'failed', code: 'AGENT_FAILED', err: error },
      'The agent failed: it dropped its lease and begins anew in a second.',
    );
  }

  #about(partitionSet: string): { partitionSet: string; region: RegionName } {
    return { partitionSet, region: this.#region };
  }

  #onState(about: object, state: FailoverState, before: FailoverState | undefined): void {
    const { gcn, step, phase, writer } = state;
    const seen = { ...about, gcn, step, phase, writer };
    if (before === undefined) {
      const fields = { ...seen, what: 'found', cause: state.raise.cause };
      return this.#logger.debug(fields, `The partition-set was found: ${summaryOf(state)}.`);
    }
    const entries = newEntries(before, state);
    for (const entry of entries) this.#transition(seen, entry);
    if (entries.length > 0) return undefined;
    const { why, raise, target } = state;
    const fields = { ...seen, cause: why ?? raise.cause, ...(target !== undefined && { target }) };
    if (state.quiesce === true && before.quiesce !== true) {
      const sentence = `${writer} finishes its writes: ${target} is ready to take over (GCN ${gcn}).`;
      return this.#logger.info({ ...fields, what: 'quiescing' }, sentence);
    }
    return this.#logger.info({ ...fields, what: 'step' }, `Another step: ${summaryOf(state)}.`);
  }

  #transition(seen: object, entry: HistoryEntry): void {
    const { what, why: cause, who: by, from, to, region } = entry;
    const whom = what === 'raised' ? { lost: region } : { target: region };
    const level = what === 'raised' || what === 'gave up' ? 'warn' : 'info';
    this.#logger[level]({ ...seen, what, cause, by, from, to, ...whom }, sentenceOf(entry));
  }
}

function fieldsOf(role: Role): { role: Role['role']; gcn?: number; accepts?: boolean } {
  return {
    role: role.role,
    ...('epoch' in role && { gcn: role.epoch }),
    ...('accepts' in role && { accepts: role.accepts }),
  };
}

function summaryOf({ gcn, phase, writer }: FailoverState): string {
  return `GCN ${gcn}, ${phase}, write region ${writer ?? 'none'}`;
}
