/** The acceptor service's metrics, in the Prometheus text format. */
import { collectDefaultMetrics, Gauge, Counter, Registry } from 'prom-client';
import type { DiskAcceptor, DiskAcceptorCounters } from './disk-acceptor.ts';

const HELP: Record<keyof DiskAcceptorCounters, string> = {
  requests: 'Role messages answered',
  batches: 'Batches of role messages handled',
  syncs: 'Synchronous journal writes; one for each batch that changed anything',
  checkpoints: 'Copies of the journal into the database',
};

/** What the service knows of its callers. */
export interface DoorCounts {
  readonly streams: () => number;
  /** Callers that were not let in, by kind. */
  readonly refused: ReadonlyMap<string, number>;
}

export class ServiceMetrics {
  readonly #registry = new Registry();

  constructor(acceptor: DiskAcceptor, { streams, refused }: DoorCounts) {
    collectDefaultMetrics({ register: this.#registry });
    const registers = [this.#registry];
    for (const name of Object.keys(HELP) as (keyof DiskAcceptorCounters)[]) {
      const counter: Counter = new Counter({
        name: `baton_acceptor_${name}_total`,
        help: HELP[name],
        registers,
        collect: () => {
          counter.reset();
          counter.inc(acceptor.counters[name]);
        },
      });
    }
    const notLetIn: Counter<'reason'> = new Counter({
      name: 'baton_acceptor_refused_total',
      help: 'Callers that were not let in, by reason',
      labelNames: ['reason'],
      registers,
      collect: () => {
        notLetIn.reset();
        for (const [reason, count] of refused) notLetIn.inc({ reason }, count);
      },
    });
    const gauge = (name: string, help: string, value: () => number): void => {
      const metric: Gauge = new Gauge({ name, help, registers, collect: () => metric.set(value()) });
    };
    gauge('baton_acceptor_sequence', 'Number of the last durable batch', () => acceptor.sequence);
    gauge('baton_acceptor_retired', '1: found to be an old copy, and refuses everything: replace it', () =>
      acceptor.retired === undefined ? 0 : 1,
    );
    gauge('baton_acceptor_disk_full', '1 while its disk has no room', () => (acceptor.isFull ? 1 : 0));
    gauge('baton_acceptor_streams', 'Proposers connected', streams);
    gauge('baton_acceptor_set', 'Number of the set of acceptors', () => acceptor.configuration?.number ?? 0);
  }

  text(): Promise<string> {
    return this.#registry.metrics();
  }
}
