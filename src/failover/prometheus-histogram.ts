/**
 * A `Histogram` as Prometheus wants one: counts below fixed bounds that only ever grow, so that they can be added up over
 * processes, which quantiles cannot. The bounds are doublings and fall on the edges of its buckets, so the counts are exact.
 */
import { Histogram as Metric } from 'prom-client';
import { Histogram } from '../protocol/index.ts';

const SHORTEST_MS = 0.001;
/** From a millisecond to somewhat over a minute. */
const DOUBLINGS = Array.from({ length: 17 }, (_, at) => at + 10);

const BOUNDS = DOUBLINGS.map((doublings) => {
  const ms = SHORTEST_MS * 2 ** doublings;
  return { seconds: (2 ** doublings * SHORTEST_MS) / 1000, bucket: bucketOf(ms) };
});

function bucketOf(ms: number): number {
  const probe = new Histogram();
  probe.record(ms);
  return probe.snapshot().buckets[0]![0];
}

export interface PrometheusHistogramOptions {
  readonly name: string;
  readonly help: string;
}

type Collected = Awaited<ReturnType<Metric['get']>>;

/** Of durations in milliseconds, shown in seconds. It is in no registry until somebody puts it there. */
export class PrometheusHistogram extends Metric {
  readonly #of: Histogram;
  readonly #options: PrometheusHistogramOptions;

  constructor(of: Histogram, options: PrometheusHistogramOptions) {
    super({ ...options, registers: [], buckets: BOUNDS.map(({ seconds }) => seconds) });
    this.#of = of;
    this.#options = options;
  }

  override async get(): Promise<Collected> {
    const { name } = this.#options;
    const { buckets, sum } = this.#of.snapshot();
    const below = (edge: number): number =>
      buckets.reduce((total, [at, count]) => (at < edge ? total + count : total), 0);
    const value = (suffix: string, amount: number, labels = {}) => ({
      metricName: `${name}_${suffix}`,
      value: amount,
      labels,
    });
    const values = [
      ...BOUNDS.map(({ seconds, bucket }) => value('bucket', below(bucket), { le: seconds })),
      value('bucket', this.#of.count, { le: '+Inf' }),
      value('sum', sum / 1000),
      value('count', this.#of.count),
    ];
    return { ...this.#options, type: 'histogram', aggregator: 'sum', values } as unknown as Collected;
  }

  /** What the registry's text is made of. */
  getForPromString(): Promise<Collected> {
    return this.get();
  }
}
