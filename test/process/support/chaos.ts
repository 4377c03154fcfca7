/** Trouble for a set of acceptor processes: killed with -9 and restarted, stopped and continued, a few at a time. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Choose } from 'baton/check';
import type { AcceptorProcess } from './acceptor-process.ts';

const LONGEST_DOWN_MS = 400;
const LONGEST_STOP_MS = 900;
const LONGEST_CALM_MS = 300;

export class Chaos {
  readonly #healthy: AcceptorProcess[];
  readonly #choose: Choose;
  readonly #atOnce: number;
  #isOver = false;
  #troubles: Promise<void>[] = [];
  kills = 0;
  stops = 0;

  /** At most `atOnce` of them are down or stopped at any moment. */
  constructor(acceptors: readonly AcceptorProcess[], atOnce: number, choose: Choose) {
    this.#healthy = [...acceptors];
    this.#atOnce = atOnce;
    this.#choose = choose;
  }

  begin(): void {
    this.#troubles = Array.from({ length: this.#atOnce }, () => this.#trouble());
  }

  /** All of them are up when it resolves. Throws if one could not be restarted. */
  async end(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#troubles);
  }

  async #trouble(): Promise<void> {
    while (!this.#isOver) {
      const acceptor = this.#healthy.splice(this.#choose(this.#healthy.length), 1)[0]!;
      // Some of the stops end with a kill: so there are as many of the one as of the other.
      if (this.#choose(5) < 2) await this.#kill(acceptor);
      else await this.#stop(acceptor);
      this.#healthy.push(acceptor);
      await sleep(this.#choose(LONGEST_CALM_MS));
    }
  }

  async #kill(acceptor: AcceptorProcess): Promise<void> {
    await acceptor.kill();
    this.kills += 1;
    await sleep(this.#choose(LONGEST_DOWN_MS));
    await acceptor.restart();
  }

  async #stop(acceptor: AcceptorProcess): Promise<void> {
    acceptor.signal('SIGSTOP');
    this.stops += 1;
    await sleep(this.#choose(LONGEST_STOP_MS));
    // A process that is stopped can be killed as well.
    if (this.#choose(4) === 0) await this.#kill(acceptor);
    else acceptor.signal('SIGCONT');
  }
}
