/**
 * Connections whose other end has not shown yet that it may come in. There is room for so many of them, apart from the seats of those
 * who have: so strangers who open connections and say nothing take room from each other, and never a seat. When one more comes, the
 * one that has waited longest has to go, of those from the address that has most here.
 */

/** A socket, or what is enough of one. The other side's address and port name it, also when TLS has put another object around it. */
export interface Arrival {
  readonly remoteAddress?: string | undefined;
  readonly remotePort?: number | undefined;
  destroy(): unknown;
  once(event: 'close', listener: () => void): unknown;
}

export interface LobbyOptions {
  readonly places: number;
  /** One had to make room for another. */
  readonly onCrowdedOut?: ((address: string) => void) | undefined;
}

export class Lobby {
  readonly #options: LobbyOptions;
  /** By address, then by port, in the order in which they came. */
  readonly #waiting = new Map<string, Map<number, Arrival>>();
  #size = 0;

  constructor(options: LobbyOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#size;
  }

  enter(arrival: Arrival): void {
    const { address, port } = placeOf(arrival);
    const others = this.#waiting.get(address) ?? new Map<number, Arrival>();
    if (!others.has(port)) this.#size += 1;
    this.#waiting.set(address, others.set(port, arrival));
    arrival.once('close', () => {
      if (this.#waiting.get(address)?.get(port) === arrival) this.#remove(address, port);
    });
    if (this.#size > this.#options.places) this.#crowdOut();
  }

  /** It has a seat now, or is gone. */
  leave(arrival: Pick<Arrival, 'remoteAddress' | 'remotePort'>): void {
    const { address, port } = placeOf(arrival);
    if (this.#waiting.get(address)?.has(port) === true) this.#remove(address, port);
  }

  #crowdOut(): void {
    let [address, most] = ['', new Map<number, Arrival>()];
    for (const [from, arrivals] of this.#waiting)
      if (arrivals.size > most.size) [address, most] = [from, arrivals];
    const [port, oldest] = most.entries().next().value!;
    this.#remove(address, port);
    oldest.destroy();
    this.#options.onCrowdedOut?.(address);
  }

  #remove(address: string, port: number): void {
    const arrivals = this.#waiting.get(address)!;
    arrivals.delete(port);
    this.#size -= 1;
    if (arrivals.size === 0) this.#waiting.delete(address);
  }
}

function placeOf({ remoteAddress = '', remotePort = 0 }: Pick<Arrival, 'remoteAddress' | 'remotePort'>): {
  readonly address: string;
  readonly port: number;
} {
  return { address: remoteAddress, port: remotePort };
}
