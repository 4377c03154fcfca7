/**
 * Throughput. A container that was given one has a bucket of request units in this process: it fills at that rate, holds one
 * second's worth, and a request is let through as long as there is something in it, also if it takes more than is there. Each
 * gateway counts on its own: an account with three of them lets up to three times as much through.
 */
import type { Host } from '../../protocol/index.ts';
import type { Throttle } from './context.ts';

interface Bucket {
  units: number;
  filledAt: number;
}

export class TokenBuckets implements Throttle {
  readonly #host: Pick<Host, 'now'>;
  readonly #rateOf: (containerNumber: number) => number | undefined;
  readonly #buckets = new Map<number, Bucket>();
  /** Requests that were refused. */
  throttled = 0;

  /** `rateOf`: units per second; undefined: as many as there are. */
  constructor(host: Pick<Host, 'now'>, rateOf: (containerNumber: number) => number | undefined) {
    this.#host = host;
    this.#rateOf = rateOf;
  }

  charge(containerNumber: number, units: number): number | undefined {
    const rate = this.#rateOf(containerNumber);
    if (rate === undefined) {
      this.#buckets.delete(containerNumber);
      return undefined;
    }
    const bucket = this.#filled(containerNumber, rate);
    if (bucket.units > 0) {
      bucket.units -= units;
      return undefined;
    }
    this.throttled += 1;
    return Math.ceil(((1 - bucket.units) / rate) * 1000);
  }

  #filled(containerNumber: number, rate: number): Bucket {
    const now = this.#host.now();
    const bucket = this.#buckets.get(containerNumber) ?? { units: rate, filledAt: now };
    bucket.units = Math.min(rate, bucket.units + ((now - bucket.filledAt) / 1000) * rate);
    bucket.filledAt = now;
    this.#buckets.set(containerNumber, bucket);
    return bucket;
  }
}
