/** This library over acceptor services. */
import { type Cluster, openCluster } from 'baton/caspaxos';
import { startAcceptors } from './acceptors.ts';
import type { Contender, Operate } from './contender.ts';
import { Servers } from './servers.ts';

const SERVERS = 3;

export class BatonCluster implements Contender {
  readonly name = 'baton';
  readonly #servers = new Servers('acceptors');
  readonly #clusters: Cluster[] = [];
  #urls: readonly string[] = [];

  async start(): Promise<void> {
    this.#urls = await startAcceptors(this.#servers, SERVERS);
  }

  async stop(): Promise<void> {
    await this.closeClients();
    await this.#servers.stop();
  }

  async proposer(id: number, rounds: 1 | 2): Promise<Operate> {
    return operationOn(await this.open(id, rounds));
  }

  async open(id: number, rounds: 1 | 2): Promise<Cluster> {
    const cluster = await openCluster({
      acceptors: this.#urls,
      proposer: `bench-${id}`,
      oneRoundTrip: rounds === 1,
      timeoutMs: 20_000,
    });
    this.#clusters.push(cluster);
    return cluster;
  }

  async closeClients(): Promise<void> {
    for (const cluster of this.#clusters.splice(0)) await cluster.close();
  }

  /** The acceptors' own count of synchronous journal writes. */
  async syncs(): Promise<number> {
    let total = 0;
    for (const url of this.#urls) {
      const text = await (await fetch(`${url}/metrics`)).text();
      total += Number(/^baton_acceptor_syncs_total (\d+)/m.exec(text)?.[1] ?? 0);
    }
    return total;
  }
}

export function operationOn(cluster: Cluster): Operate {
  return async (register) => {
    const { outcome } = await cluster.change<number>(register, (value) => (value ?? 0) + 1);
    return outcome === 'committed';
  };
}
