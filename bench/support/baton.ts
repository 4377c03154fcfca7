/** This library over acceptor services. */
import { type Cluster, openCluster } from 'baton/caspaxos';
import { startAcceptor, temporaryDirectory } from './processes.ts';

const SERVERS = 3;

export class BatonCluster {
  readonly #urls: string[] = [];
  readonly #clusters: Cluster[] = [];

  async start(): Promise<void> {
    for (let index = 0; index < SERVERS; index += 1) {
      const { url } = await startAcceptor(temporaryDirectory('acceptor'));
      this.#urls.push(url);
    }
  }

  async proposer(
    id: number,
    rounds: 1 | 2,
  ): Promise<{ cluster: Cluster; operate: (register: string) => Promise<boolean> }> {
    const cluster = await openCluster({
      acceptors: this.#urls,
      proposer: `bench-${id}`,
      oneRoundTrip: rounds === 1,
      timeoutMs: 20_000,
    });
    this.#clusters.push(cluster);
    const operate = async (register: string): Promise<boolean> => {
      const { outcome } = await cluster.change<number>(register, (value) => (value ?? 0) + 1);
      return outcome === 'committed';
    };
    return { cluster, operate };
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
