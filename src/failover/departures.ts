/**
 * Heartbeats leave together. Each has its own moment, and any moment near it is as good; those of one process that wait a
 * little for each other share the requests to every acceptor in both phases, and a request for fifty registers costs an
 * acceptor and its disk hardly more than one for five. They wait before they begin, not half-way: whoever holds a promise is in
 * others' way.
 */
import type { Host } from '../protocol/index.ts';

export class Departures {
  readonly #host: Host;
  #next: { readonly at: number; readonly left: Promise<void> } | undefined;

  constructor(host: Host) {
    this.#host = host;
  }

  /** Resolves with everybody else's, in so many milliseconds at most. */
  within(ms: number): Promise<void> {
    const at = this.#host.now() + ms;
    if (this.#next !== undefined && this.#next.at <= at) return this.#next.left;
    const left = new Promise<void>((resolve) => {
      this.#host.after(ms, () => {
        if (this.#next?.at === at) this.#next = undefined;
        resolve();
      });
    });
    this.#next = { at, left };
    return left;
  }
}
