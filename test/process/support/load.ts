/** A load on one acceptor: several batches in flight on several streams, all of it held against a ledger. */
import {
  type Acceptor,
  openAcceptor,
  QUERY,
  type RegisterMessage,
  type RegisterRequest,
} from 'baton/caspaxos';
import type { Choose } from 'baton/check';
import { ballotOf, Ledger, valueOf } from './ledger.ts';

const REGISTERS = 50;
const STREAMS = 2;
const BATCHES_IN_FLIGHT = 4;
const LARGEST_BATCH = 16;
const TIMEOUT_MS = 60_000;

export class Load {
  readonly ledger = new Ledger();
  readonly #choose: Choose;
  #streams: Acceptor[] = [];
  #counter = 0;
  #isRunning = false;
  #loops: Promise<void>[] = [];
  inFlight = 0;
  /** Batches whose answer never came. */
  interrupted = 0;

  constructor(choose: Choose) {
    this.#choose = choose;
  }

  /** The acceptor may be down at the time; the streams survive its restarts. */
  connect(url: string): void {
    if (this.#streams.length > 0) return;
    this.#streams = Array.from({ length: STREAMS }, () => openAcceptor(url, { timeoutMs: TIMEOUT_MS }));
  }

  /** Everything that was answered must still be there. */
  async verify(): Promise<void> {
    const probes = this.ledger.probes();
    if (probes.length > 0) await this.#send(this.#streams[0]!, probes);
  }

  /** From here on until `settled`, or until the acceptor is gone. */
  start(): void {
    this.#isRunning = true;
    this.#loops = this.#streams.flatMap((stream) =>
      Array.from({ length: BATCHES_IN_FLIGHT }, () => this.#loop(stream)),
    );
  }

  /** Sends nothing more and waits for what is under way to be answered or to fail. */
  async settled(): Promise<void> {
    this.#isRunning = false;
    await Promise.all(this.#loops);
  }

  async close(): Promise<void> {
    await this.settled();
    await Promise.all(this.#streams.map((stream) => stream.close()));
  }

  async #loop(stream: Acceptor): Promise<void> {
    while (this.#isRunning) {
      this.inFlight += 1;
      try {
        await this.#send(stream, this.#batch());
      } catch {
        this.interrupted += 1;
        return;
      } finally {
        this.inFlight -= 1;
      }
    }
  }

  async #send(stream: Acceptor, requests: readonly RegisterRequest[]): Promise<void> {
    const before = requests.map(({ key }) => this.ledger.before(key));
    const replies = await stream.handle(requests, 0);
    for (const [at, request] of requests.entries()) this.ledger.note(request, replies[at]!, before[at]!);
  }

  #batch(): RegisterRequest[] {
    return Array.from({ length: 1 + this.#choose(LARGEST_BATCH) }, () => {
      const key = `register ${this.#choose(REGISTERS)}`;
      return { key, set: 0, message: this.#message(key) };
    });
  }

  #message(key: string): RegisterMessage {
    const kind = this.#choose(10);
    if (kind === 0) return QUERY;
    if (kind === 1) {
      // The last proposal again, as after a lost answer, or one that comes too late.
      const ballot = this.ledger.before(key).accepted;
      if (ballot.counter > 0) return { type: '2a', ballot, value: valueOf(key, ballot) };
    }
    this.#counter += 2;
    const ballot = ballotOf(this.#counter);
    if (kind < 5) return { type: '1a', ballot };
    const next = kind < 8 ? ballotOf(this.#counter + 1) : undefined;
    return { type: '2a', ballot, value: valueOf(key, ballot), next };
  }
}
