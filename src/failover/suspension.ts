/**
 * Notices that the process stood still (DESIGN section 5): suspended with its machine, or an event loop that did nothing for too
 * long. No lease is used for too long because of it: the host's clock goes on meanwhile, and is asked at each use. What was measured
 * across such a gap is void all the same; how long is too long depends on the lease, so whoever is told is told how long it was:
 * without end where the clocks cannot say, as when a virtual machine was paused with all of its own and then had its wall clock set.
 */
import type { Host, Timer } from '../protocol/index.ts';

const EVERY_MS = 500;
/** Adjustments of the wall clock are smaller than this; a suspended machine is not. */
const DISAGREEMENT_MS = 1000;

export class SuspensionWatch {
  readonly #host: Host;
  readonly #stalledMs: number;
  readonly #onSuspended: (ms: number) => void;
  #timer: Timer | undefined;
  #monotonic = 0;
  #wall = 0;

  constructor(host: Host, stalledMs: number, onSuspended: (ms: number) => void) {
    this.#host = host;
    this.#stalledMs = stalledMs;
    this.#onSuspended = onSuspended;
    this.#look();
  }

  close(): void {
    this.#host.cancel(this.#timer);
  }

  readonly #look = (): void => {
    const monotonic = this.#host.now();
    const wall = this.#host.wallClock();
    const passed = monotonic - this.#monotonic;
    const disagreement = Math.abs(wall - this.#wall - passed);
    const isFirst = this.#timer === undefined;
    this.#monotonic = monotonic;
    this.#wall = wall;
    const stoodStillMs = disagreement > DISAGREEMENT_MS ? Infinity : passed - EVERY_MS;
    if (!isFirst && stoodStillMs > this.#stalledMs) this.#onSuspended(stoodStillMs);
    this.#timer = this.#host.after(EVERY_MS, this.#look);
  };
}
