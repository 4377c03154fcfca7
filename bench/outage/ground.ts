/** The cluster of a run: three regions, seven acceptors, and what is done to them. */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { LocalCluster, nodesOf } from 'baton/server';
import { CUT_KINDS, HOME, type OutagePlan, REGIONS } from './plan.ts';
import type { Watched } from './usage.ts';

export interface Updates {
  readonly ms: number;
  readonly count: number;
}

export interface HistoryRow {
  readonly partitionSet: string;
  readonly atMs: number;
  readonly what: string;
  readonly region: string | null;
  readonly gcn: number;
}

interface HistoryAnswer {
  readonly history: readonly {
    readonly partitionSet: string;
    readonly at: string;
    readonly what: string;
    readonly region: string | null;
    readonly to: number;
  }[];
  readonly next?: number;
}

const [, SECOND] = REGIONS;
/** In the simulator the second region dies that long after the first. */
const CASCADE_MS = 20_000;
const PAGE = 1000;
const LOOK_MS = 250;

export class OutageGround {
  readonly cluster: LocalCluster;
  readonly #plan: OutagePlan;

  private constructor(cluster: LocalCluster, plan: OutagePlan) {
    this.cluster = cluster;
    this.#plan = plan;
  }

  static async start(plan: OutagePlan): Promise<OutageGround> {
    const cluster = await LocalCluster.start({
      directory: mkdtempSync(join(tmpdir(), 'baton-outage-')),
      isTemporary: true,
      portBase: 'free',
      regions: [...REGIONS],
      nodesPerRegion: plan.nodesPerRegion,
      partitionSets: plan.partitionSets,
      acceptors: plan.acceptors,
      profile: plan.profile,
      consistency: plan.consistency,
      minimumDurability: 1,
      ...(CUT_KINDS.includes(plan.kind) && { namespaces: true }),
    });
    return new OutageGround(cluster, plan);
  }

  get endpoints(): readonly string[] {
    return nodesOf(this.cluster.config).map(({ address: { host, port } }) => `${host}:${port}`);
  }

  get watched(): readonly Watched[] {
    const { acceptors } = this.cluster.config;
    const token = this.cluster.acceptorToken;
    return this.cluster.processes.map(({ name, identity }) => {
      const url = acceptors.find((acceptor) => acceptor.name === name)?.url;
      const metrics = url === undefined ? undefined : { url: `${url}/metrics`, token };
      return { name, pid: identity?.pid, ...(metrics && { metrics }) };
    });
  }

  /** Until so many partition-sets are written at home; says how many are. */
  async untilHome(patienceMs: number, onLook: (home: number) => void): Promise<number> {
    const until = performance.now() + patienceMs;
    for (;;) {
      const home = await this.#writtenIn(HOME);
      onLook(home);
      if (home >= this.#plan.partitionSets || performance.now() > until) return home;
      await sleep(LOOK_MS * 4);
    }
  }

  /** How many partition-sets are written at home. */
  homeNow(): Promise<number> {
    return this.#writtenIn(HOME);
  }

  /** The outage begins. Resolves when it has. */
  async strike(): Promise<void> {
    const { cluster } = this;
    const acceptors = cluster.config.acceptors.map(({ name }) => name);
    const minority = Math.floor((acceptors.length - 1) / 2);
    switch (this.#plan.kind) {
      case 'region':
        await cluster.kill([HOME, acceptors[0]!]);
        return;
      case 'cascade':
        await cluster.kill([HOME, acceptors[0]!]);
        await sleep(this.#plan.profile === 'paper' ? CASCADE_MS : 2000);
        await cluster.kill([SECOND, acceptors[1]!]);
        return;
      case 'node':
      case 'partitions':
        await cluster.kill(`${HOME}-1`);
        return;
      case 'acceptors-minority':
        await cluster.kill(acceptors.slice(0, minority));
        return;
      case 'acceptors-majority':
        await cluster.kill(acceptors.slice(0, minority + 1));
        return;
      case 'partition':
        await cluster.cut(HOME);
        return;
      case 'one-way':
        await cluster.cut(HOME, { direction: 'out' });
        return;
      case 'no-acceptors':
        await cluster.cut(HOME, { from: 'acceptors' });
        return;
      case 'no-regions':
        await cluster.cut(HOME, { from: 'regions' });
        return;
    }
  }

  /** The power is back. Resolves when the processes are there again; that they can write takes longer. */
  async heal(): Promise<void> {
    await this.cluster.heal();
  }

  /** How many partition-sets the region's nodes know the state of; 0 while none answers. */
  async knownAt(region: string): Promise<number> {
    return this.#sum(region, /^baton_failover_phases\{[^}]*\} (\S+)/gm);
  }

  /** How long the state updates of all regions took so far, and how many there were. */
  async updates(): Promise<Updates> {
    const totals = async (pattern: RegExp): Promise<number> => {
      const sums = await Promise.all(REGIONS.map((region) => this.#sum(region, pattern)));
      return sums.reduce((sum, one) => sum + one, 0);
    };
    const seconds = await totals(/^baton_agent_update_seconds_sum (\S+)/gm);
    return { ms: seconds * 1000, count: await totals(/^baton_agent_update_seconds_count (\S+)/gm) };
  }

  /** What happened since, in order, each change once. */
  async historySince(fromMs: number): Promise<readonly HistoryRow[]> {
    const rows = new Map<string, HistoryRow>();
    for (const { http } of nodesOf(this.cluster.config)) {
      if (http === undefined) continue;
      let before = '';
      for (;;) {
        const url = `http://${http.host}:${http.port}/v1/history?limit=${PAGE}${before}`;
        const response = await fetch(url, {
          headers: { authorization: `Bearer ${this.cluster.operatorToken}` },
          signal: AbortSignal.timeout(10_000),
        }).catch(() => undefined);
        if (response?.ok !== true) break;
        const { history, next } = (await response.json()) as HistoryAnswer;
        const recent = history.filter(({ at }) => Date.parse(at) >= fromMs);
        for (const { partitionSet, at, what, region, to } of recent)
          rows.set(`${partitionSet} ${to} ${what} ${at}`, {
            partitionSet,
            atMs: Date.parse(at),
            what,
            region,
            gcn: to,
          });
        if (next === undefined || recent.length === 0) break;
        before = `&before=${next}`;
      }
    }
    return [...rows.values()].sort((a, b) => a.atMs - b.atMs);
  }

  async #writtenIn(region: string): Promise<number> {
    return this.#sum(region, /^baton_agent_may_write (\S+)/gm);
  }

  async #sum(region: string, pattern: RegExp): Promise<number> {
    const nodes = nodesOf(this.cluster.config).filter((node) => node.region === region);
    const counts = await Promise.all(
      nodes.map(async ({ http }) => {
        if (http === undefined) return 0;
        const url = `http://${http.host}:${http.port}/metrics`;
        const text = await fetch(url, { signal: AbortSignal.timeout(5000) })
          .then((response) => response.text())
          .catch(() => '');
        return [...text.matchAll(pattern)].reduce((sum, [, value]) => sum + Number(value), 0);
      }),
    );
    return counts.reduce((sum, count) => sum + count, 0);
  }
}
