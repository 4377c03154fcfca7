/** How a node is, once a second: what it does, what it takes of its machine, and how far away the others are. */
import { connect } from 'node:net';
import type { Registry } from 'prom-client';
import type { Address } from '../../../transport/index.ts';

export interface Rates {
  readonly writesPerSecond: number;
  readonly readsPerSecond: number;
  readonly cpu: number;
  readonly rssBytes: number;
}

/** When it was last asked is what the next answer counts from. The first has nothing to count from. */
export class RateMeter {
  readonly #metrics: Registry;
  readonly #now: () => number;
  readonly #cpuMicros: () => number;
  #last:
    | { readonly at: number; readonly cpu: number; readonly writes: number; readonly reads: number }
    | undefined;

  constructor(metrics: Registry, { now = () => performance.now(), cpuMicros = cpuOfProcess } = {}) {
    this.#metrics = metrics;
    this.#now = now;
    this.#cpuMicros = cpuMicros;
  }

  async read(): Promise<Rates> {
    const counted = (await this.#metrics.getSingleMetric('baton_engine_requests_total')?.get())?.values ?? [];
    const done = (kind: string): number =>
      counted
        .filter(({ labels }) => labels['kind'] === kind && labels['outcome'] === 'done')
        .reduce((sum, { value }) => sum + value, 0);
    const last = this.#last;
    const now = { at: this.#now(), cpu: this.#cpuMicros(), writes: done('write'), reads: done('read') };
    this.#last = now;
    const seconds = last === undefined ? 0 : (now.at - last.at) / 1000;
    const per = (count: number): number => (seconds > 0 ? Math.max(0, count) / seconds : 0);
    return {
      writesPerSecond: rounded(per(now.writes - (last?.writes ?? 0))),
      readsPerSecond: rounded(per(now.reads - (last?.reads ?? 0))),
      cpu: rounded(per(now.cpu - (last?.cpu ?? 0)) / 1e6),
      rssBytes: process.memoryUsage.rss(),
    };
  }
}

function cpuOfProcess(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}

function rounded(value: number): number {
  return Math.round(value * 1000) / 1000;
}

/** The way to each acceptor and back: how long it takes to connect to it. Asked about now and then, and only while somebody looks. */
export class ConnectTimes {
  readonly #everyMs: number;
  readonly #known = new Map<string, { askedAt: number; rttMs: number | null }>();

  constructor(everyMs = 5000) {
    this.#everyMs = everyMs;
  }

  /** The last that is known; null: it could not be reached, or is no process of its own. */
  get(url: string): number | null {
    const known = this.#known.get(url) ?? { askedAt: -Infinity, rttMs: null };
    this.#known.set(url, known);
    if (performance.now() - known.askedAt >= this.#everyMs) void this.#ask(url, known);
    return known.rttMs;
  }

  async #ask(url: string, known: { askedAt: number; rttMs: number | null }): Promise<void> {
    known.askedAt = performance.now();
    const address = addressIn(url);
    if (address !== undefined) known.rttMs = await connectMs(address, this.#everyMs);
  }
}

function addressIn(url: string): Address | undefined {
  if (!/^https?:\/\//.test(url)) return undefined;
  const { protocol, hostname, port } = new URL(url);
  const usual = protocol === 'https:' ? 443 : 80;
  return { host: hostname.replace(/^\[(.*)\]$/, '$1'), port: port === '' ? usual : Number(port) };
}

function connectMs({ host, port }: Address, withinMs: number): Promise<number | null> {
  return new Promise((resolve) => {
    const startedAt = performance.now();
    const socket = connect({ host, port, timeout: withinMs });
    const end = (rttMs: number | null): void => {
      socket.destroy();
      resolve(rttMs);
    };
    socket.once('connect', () => end(rounded(performance.now() - startedAt)));
    socket.once('timeout', () => end(null));
    socket.once('error', () => end(null));
  });
}
