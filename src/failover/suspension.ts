/**
 * Notices that the process stood still (DESIGN section 5): suspended, with clocks that disagree about how long, or an event
 * loop that did nothing for too long. Leases measured across such a gap are not to be trusted.
 */
import type { Host, Timer } from '../protocol/index.ts';

const EVERY_MS = 500;
/** Adjustments of the wall clock are smaller than this; a suspended machine is not. */
const DISAGREEMENT_MS = 1000;

export class SuspensionWatch {
  readonly #host: Host;
  readonly #stalledMs: number;
  readonly #onSuspended: () => void;
  #timer: Timer | undefined;
  #monotonic = 0;
  #wall = 0;

  constructor(host: Host, stalledMs: number, onSuspended: () => void) {
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
    if (!isFirst && (disagreement > DISAGREEMENT_MS || passed > EVERY_MS + this.#stalledMs))
      this.#onSuspended();
    this.#timer = this.#host.after(EVERY_MS, this.#look);
  };
}
