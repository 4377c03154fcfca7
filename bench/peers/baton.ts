/**
 * Ours, at Strong: three regions with a node each, three acceptors, one of which stands with each region and dies with it.
 * Writes are brought home after every run, because a region that dies again and again is trusted later each time.
 */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BatonClient } from 'baton/client';
import { PROFILES } from 'baton/failover';
import { LocalCluster, type Profile } from 'baton/server';
import { countLost } from '../failover/lost.ts';
import { type View, viewsOf, wish } from '../support/views.ts';
import type { Peer, PeerClient, PeerKind } from './peer.ts';
import { until } from './waiting.ts';

const REGIONS = ['west', 'east', 'north'] as const;
const [HOME, NEXT] = REGIONS;
const TRY_MS = 5000;
const WHOLE_MS = 300_000;
const QUIET_LOOKS = 3;

type Timed = keyof typeof PROFILES;

export const baton: PeerKind = {
  name: 'baton',
  settings: { paper: describe('paper'), fast: describe('fast') },
  lacks: () => undefined,
  create: (settings) => new Baton(settings as Timed),
};

function describe(profile: Timed): string {
  const { intervalMs, leaseMs, settleMs } = PROFILES[profile];
  return `three regions at Strong, three acceptors; heartbeat ${intervalMs} ms, writer lease ${leaseMs} ms, settle time ${settleMs} ms`;
}

class Baton implements Peer {
  readonly #profile: Profile;
  #started: LocalCluster | undefined;

  constructor(profile: Profile) {
    this.#profile = profile;
  }

  async start(): Promise<void> {
    this.#started = await LocalCluster.start({
      directory: mkdtempSync(join(tmpdir(), 'baton-bench-peers-baton-')),
      isTemporary: true,
      portBase: 'free',
      regions: [...REGIONS],
      partitionSets: 1,
      acceptors: REGIONS.length,
      profile: this.#profile,
      consistency: 'Strong',
    });
  }

  /** Everybody in the lease set, and writes at home. */
  async whole(): Promise<void> {
    let quiet = 0;
    const asked = new Set<number>();
    await until('waiting for all regions of Baton', WHOLE_MS, async () => {
      const view = await this.#view();
      const isWhole =
        view?.phase === 'Steady' && view.leaseSet.length === REGIONS.length && view.local.canWrite;
      if (isWhole && view.writeRegion !== HOME && !asked.has(view.gcn)) {
        asked.add(view.gcn);
        await this.#wish(view.partitionSet, HOME);
      }
      quiet = isWhole && view.writeRegion === HOME ? quiet + 1 : 0;
      return quiet >= QUIET_LOOKS;
    });
  }

  async client(): Promise<PeerClient> {
    const { connectOptions } = this.#cluster;
    const client = await BatonClient.connect({ ...connectOptions, cacheDirectory: false });
    return new OurClient(client);
  }

  async leader(): Promise<string | undefined> {
    const view = await this.#view();
    return view?.local.canWrite === true ? view.local.region : undefined;
  }

  async kill(member: string): Promise<void> {
    await this.#cluster.kill([member, this.#acceptorOf(member)!]);
  }

  async switchover(): Promise<void> {
    await this.#wish((await this.#view())!.partitionSet, NEXT);
  }

  async blind(): Promise<void> {
    await this.#cluster.kill(this.#cluster.config.acceptors.slice(1).map(({ name }) => name));
  }

  async heal(except = ''): Promise<void> {
    const acceptors = this.#cluster.config.acceptors.map(({ name }) => name);
    const wanted = [...acceptors, ...REGIONS].filter(
      (name) => name !== this.#acceptorOf(except) && name !== except,
    );
    await this.#cluster.heal(wanted);
  }

  async stop(): Promise<void> {
    await this.#started?.killAll();
  }

  #acceptorOf(region: string): string | undefined {
    return this.#cluster.config.acceptors[REGIONS.findIndex((one) => one === region)]?.name;
  }

  get #cluster(): LocalCluster {
    if (this.#started === undefined) throw new Error('the cluster was not started');
    return this.#started;
  }

  async #view(): Promise<View | undefined> {
    const [view] = (await viewsOf(this.#cluster)).values();
    return view;
  }

  /** What `baton switchover` posts. */
  #wish(partitionSet: string, target: string): Promise<void> {
    return wish(this.#cluster, partitionSet, { kind: 'switchover', target });
  }
}

/** The client tries other regions by itself; the name of a write makes a second try of ours the same write. */
class OurClient implements PeerClient {
  readonly #client: BatonClient;

  constructor(client: BatonClient) {
    this.#client = client;
  }

  async write(id: string, signal: AbortSignal): Promise<void> {
    for (;;) {
      try {
        await this.#container.create({ id }, { operationId: id, timeoutMs: TRY_MS, signal });
        return;
      } catch (error) {
        if (signal.aborted) throw error;
      }
    }
  }

  countMissing(ids: readonly string[]): Promise<number> {
    return countLost(this.#container, ids);
  }

  async close(): Promise<void> {
    await this.#client.close();
  }

  get #container() {
    return this.#client.container('items');
  }
}
