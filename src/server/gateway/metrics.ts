/** The metrics of a gateway. */
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { Host } from '../../protocol/index.ts';
import type { Partitions } from './context.ts';
import type { GatewayObserver } from './gateway-server.ts';

export interface GatewayGauges {
  readonly inFlight: () => number;
  readonly throttled: () => number;
  readonly isReady: () => boolean;
}

/** A write that takes longer is being held: between writers, mostly. */
const HELD_MS = 250;
const SECONDS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 30];

export class GatewayMetrics implements GatewayObserver {
  readonly #host: Pick<Host, 'now'>;
  readonly #requests: Counter<'resource' | 'method' | 'status'>;
  readonly #seconds: Histogram<'resource'>;
  readonly #refused: Counter;
  readonly #crowdedOut: Counter;
  readonly #writes = new Set<{ readonly atMs: number }>();

  constructor(registry: Registry, host: Pick<Host, 'now'>, gauges: GatewayGauges) {
    const registers = [registry];
    this.#host = host;
    this.#requests = new Counter({
      name: 'baton_gateway_requests_total',
      help: 'Requests that were answered, by what they named, their method and the status',
      labelNames: ['resource', 'method', 'status'],
      registers,
    });
    this.#seconds = new Histogram({
      name: 'baton_gateway_request_seconds',
      help: 'How long requests took, from their headers to the end of their answer',
      labelNames: ['resource'],
      buckets: SECONDS,
      registers,
    });
    this.#refused = new Counter({
      name: 'baton_gateway_refused_signatures_total',
      help: 'Requests whose signature, date or key was refused',
      registers,
    });
    this.#crowdedOut = new Counter({
      name: 'baton_gateway_crowded_out_total',
      help: 'Connections without a signed request that had to go for newer ones',
      registers,
    });
    const throttled: Counter = new Counter({
      name: 'baton_gateway_throttled_total',
      help: 'Requests that were refused because their container had no request units left',
      registers,
      collect: () => {
        throttled.reset();
        throttled.inc(gauges.throttled());
      },
    });
    const gauge = (name: string, help: string, value: () => number): void => {
      const one: Gauge = new Gauge({ name, help, registers, collect: () => one.set(value()) });
    };
    gauge('baton_gateway_in_flight', 'Requests under way now', gauges.inFlight);
    gauge('baton_gateway_held_writes', 'Writes that have been under way for more than 250 ms', () =>
      this.#held(),
    );
    gauge('baton_gateway_ready', 'Whether the gateway serves requests: 1 or 0', () =>
      gauges.isReady() ? 1 : 0,
    );
  }

  ended(resource: string, method: string, status: number, ms: number): void {
    this.#requests.inc({ resource, method, status });
    this.#seconds.observe({ resource }, ms / 1000);
  }

  refusedSignature(): void {
    this.#refused.inc();
  }

  crowdedOut(): void {
    this.#crowdedOut.inc();
  }

  /** The same client, with its writes counted. */
  watching(partitions: Partitions): Partitions {
    return {
      get topology() {
        return partitions.topology;
      },
      refreshMap: (...given) => partitions.refreshMap(...given),
      read: (call) => partitions.read(call),
      scan: (call) => partitions.scan(call),
      feed: (call) => partitions.feed(call),
      look: (call) => partitions.look(call),
      write: (call) => {
        const write = { atMs: this.#host.now() };
        this.#writes.add(write);
        return partitions.write(call).finally(() => this.#writes.delete(write));
      },
    };
  }

  #held(): number {
    const now = this.#host.now();
    let held = 0;
    for (const { atMs } of this.#writes) if (now - atMs > HELD_MS) held += 1;
    return held;
  }
}
