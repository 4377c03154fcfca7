/** The cluster that faults are done to, and what can be seen of it from outside. */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { LocalCluster } from 'baton/server';
import { type View, viewsOf, wish } from '../support/views.ts';

export const REGIONS = ['west', 'east', 'north'] as const;
export const HOME = REGIONS[0];
const ACCEPTORS = 5;
const PATIENCE_MS = 90_000;
const LOOK_MS = 50;

export class Ground {
  readonly #cluster: LocalCluster;

  private constructor(cluster: LocalCluster) {
    this.#cluster = cluster;
  }

  static async start(partitionSets: number): Promise<Ground> {
    const cluster = await LocalCluster.start({
      directory: mkdtempSync(join(tmpdir(), 'baton-failover-')),
      isTemporary: true,
      portBase: 'free',
      regions: [...REGIONS],
      partitionSets,
      acceptors: ACCEPTORS,
      profile: 'fast',
      consistency: 'Strong',
    });
    return new Ground(cluster);
  }

  get cluster(): LocalCluster {
    return this.#cluster;
  }

  /** Addresses of nodes, that of the region first. */
  endpointsFrom(region: string): string[] {
    const { regions } = this.#cluster.config;
    const ordered = [...regions].sort((a, b) => Number(b.name === region) - Number(a.name === region));
    return ordered.flatMap(({ nodes }) => nodes.map(({ address: { host, port } }) => `${host}:${port}`));
  }

  views(): Promise<Map<string, View>> {
    return viewsOf(this.#cluster);
  }

  /** Until every partition-set is written at home, with every region in its lease set: as it is when nothing is wrong. */
  async calm(): Promise<void> {
    const until = performance.now() + PATIENCE_MS;
    let quiet = 0;
    while (quiet < 3) {
      const views = [...(await this.views()).values()];
      if (performance.now() > until)
        throw new Error(`The cluster did not come to rest: ${JSON.stringify(views.slice(0, 2))}`);
      const isCalm =
        views.length === this.#count &&
        views.every(
          ({ phase, writeRegion, leaseSet, local }) =>
            phase === 'Steady' &&
            writeRegion === HOME &&
            leaseSet.length === REGIONS.length &&
            local.region === HOME &&
            local.canWrite,
        );
      quiet = isCalm ? quiet + 1 : 0;
      await sleep(LOOK_MS * 4);
    }
  }

  /**
   * Orders writes home as an operator would. Left alone they go home by themselves, but a region that has died again and
   * again has to be there for longer every time before it is trusted: ten runs would take an hour.
   */
  async bringHome(): Promise<void> {
    const until = performance.now() + PATIENCE_MS;
    const asked = new Set<string>();
    for (;;) {
      const away = [...(await this.views()).values()].filter(({ writeRegion }) => writeRegion !== HOME);
      if (away.length === 0) return;
      if (performance.now() > until)
        throw new Error(`${away[0]!.partitionSet} was not moved back to ${HOME}.`);
      for (const { partitionSet, phase, leaseSet, gcn } of away) {
        const key = `${partitionSet} ${gcn}`;
        if (phase !== 'Steady' || !leaseSet.includes(HOME) || asked.has(key)) continue;
        asked.add(key);
        await this.wish(partitionSet, { kind: 'switchover', target: HOME });
      }
      await sleep(LOOK_MS);
    }
  }

  wish(partitionSet: string, intent: object): Promise<void> {
    return wish(this.#cluster, partitionSet, intent);
  }

  async writesIn(partitionSet: string, region: string): Promise<void> {
    const until = performance.now() + PATIENCE_MS;
    for (;;) {
      const view = (await this.views()).get(partitionSet);
      if (view?.writeRegion === region && view.phase === 'Steady' && view.local.canWrite) return;
      if (performance.now() > until) throw new Error(`${partitionSet} has no writer in ${region}.`);
      await sleep(LOOK_MS);
    }
  }

  get #count(): number {
    return this.#cluster.config.containers.reduce((sum, { partitionSets }) => sum + partitionSets, 0);
  }
}
