/**
 * One run at one consistency level: a cluster, clients, faults one after another, healing, and the verdict. First there is chaos, in which
 * only the bounds in time are looked at; then all is healed and quiet, everything is read, and the checkers judge what
 * the clients were told.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ConsistencyLevel, FeedRecord, RunRecord } from 'baton/check';
import { BatonClient } from 'baton/client';
import { Random } from 'baton/sim';
import { type Abilities, acceptorsIn, Faults } from './faults.ts';
import { feedRecordOf, FeedFollower } from './feed-follower.ts';
import { converge, finalSetOf, type FinalSet, lostWrites, readCopies } from './final-state.ts';
import { allowedMs, type FaultWindow, longestGap, StallMeter } from './gaps.ts';
import { Ground, REGIONS } from './ground.ts';
import { Prober } from './prober.ts';
import { Recorder } from './record.ts';
import { type Fault, formatFault, leastFaults, scheduleOf } from './schedule.ts';
import { Stores, type StoresOptions } from './stores.ts';
import { ChaosClient } from './workload.ts';

export interface CampaignOptions {
  readonly seed: number;
  readonly consistency: ConsistencyLevel;
  /** Of faults; starting and healing come on top. */
  readonly seconds: number;
  readonly partitionSets: number;
  readonly clients: number;
  readonly abilities: Abilities;
  /** Whether a gap beyond its bound is a trouble: on a machine that is busy with other things it tells nothing. */
  readonly holdsBounds: boolean;
  /** For runs that must fail. */
  readonly storeDefects?: StoresOptions;
  readonly progress: (line: string) => void;
}

export interface DoneFault extends FaultWindow {
  readonly fault: Fault;
  readonly targets: readonly string[];
  /** Whether the store that was to be away was missed by every node. */
  readonly isStoreMissed: boolean;
  readonly gapMs: number;
  readonly allowedMs: number;
}

/** All that a run left behind for whoever judges it. */
export interface Evidence {
  readonly options: CampaignOptions;
  readonly recorder: Recorder;
  readonly faults: readonly DoneFault[];
  /** By cause; each change of the write region of each partition-set counts. */
  readonly failovers: ReadonlyMap<string, number>;
  /** What went wrong besides what the checkers find: late, stuck, ended. */
  readonly troubles: readonly string[];
  readonly sets: readonly SetEvidence[];
  readonly directory: string;
  /** Removes the data. */
  discard(): void;
}

export interface SetEvidence {
  readonly partitionSet: string;
  readonly record: RunRecord;
  readonly feed: FeedRecord;
  readonly final: FinalSet;
}

const DOCUMENTS = 6;
const THINK_MS = 60;
const WARM_MS = 1500;
/** Of them so many write large documents, so often. */
const FLOODING = 2;
const FLOOD_EVERY_MS = 8000;
/** How long healing may take, on a machine that is busy with other things. What is promised is much less; it is here to end a run. */
const PATIENCE_MS = 120_000;

export async function runCampaign(options: CampaignOptions): Promise<Evidence> {
  const { consistency, partitionSets, abilities, storeDefects, progress } = options;
  progress(
    `${consistency}: starting three regions, ${acceptorsIn(abilities)}, ${partitionSets} partition-sets`,
  );
  const stores = abilities.stores.length > 0 ? await Stores.start(abilities.stores, storeDefects) : undefined;
  try {
    const ground = await Ground.start({ consistency, partitionSets, namespaces: abilities.canCut, stores });
    return await new Run(ground, options).whole();
  } finally {
    await stores?.close();
  }
}

class Run {
  readonly #ground: Ground;
  readonly #options: CampaignOptions;
  readonly #recorder: Recorder;
  readonly #documents: ReadonlyMap<string, readonly string[]>;
  readonly #troubles: string[] = [];
  readonly #changes = new Map<string, string>();
  readonly #faults: DoneFault[] = [];
  readonly #stalls = new StallMeter();
  readonly #clients: BatonClient[] = [];
  #isOver = false;
  #isStuck = false;

  constructor(ground: Ground, options: CampaignOptions) {
    this.#ground = ground;
    this.#options = options;
    this.#recorder = new Recorder(options.consistency, ground.partitionSets);
    this.#documents = ground.documents(DOCUMENTS);
  }

  async whole(): Promise<Evidence> {
    try {
      return await this.#play();
    } finally {
      await this.#end();
    }
  }

  async #play(): Promise<Evidence> {
    await this.#demandCalm('at the start');
    const setOf = new Map(
      [...this.#documents].flatMap(([name, ids]) => ids.map((id) => [id, name] as const)),
    );
    const feed = new FeedFollower(await this.#connect(2), this.#recorder, setOf);
    const following = feed.run();
    const working = await this.#work();
    await sleep(WARM_MS);
    await this.#chaos();
    this.#isOver = true;
    await Promise.all(working);
    const isHealed = await this.#heal();
    const quietFrom = isHealed ? await this.#converged() : undefined;
    const undone = await lostWrites(this.#ground).catch((error: unknown) => {
      this.#troubles.push(`The lost writes could not be listed: ${String(error)}`);
      return new Map<string, never[]>();
    });
    const caughtUp = quietFrom !== undefined && (await this.#feedEnds(feed));
    feed.stop();
    await following;
    await this.#end();
    const copies = await readCopies(this.#ground);
    const sets = [...this.#recorder.sets.values()].map((set): SetEvidence => {
      const final = finalSetOf(copies.get(set.partitionSet)!, undone.get(set.partitionSet) ?? []);
      const { partitionSet, operations } = set;
      const record: RunRecord = { operations, log: final.log, undone: final.undone, quietFrom };
      const judged = quietFrom === undefined ? { ...final, copies: [] } : final;
      return { partitionSet, record, feed: feedRecordOf(set, caughtUp), final: judged };
    });
    return this.#evidence(sets);
  }

  /** Whatever happened: nothing is left running. */
  async #end(): Promise<void> {
    this.#isOver = true;
    this.#stalls.stop();
    await Promise.all(this.#clients.splice(0).map((client) => client.close()));
    await this.#ground.cluster.killAll();
  }

  #evidence(sets: readonly SetEvidence[]): Evidence {
    const failovers = new Map<string, number>();
    for (const cause of this.#changes.values()) failovers.set(cause, (failovers.get(cause) ?? 0) + 1);
    const { directory } = this.#ground.cluster;
    return {
      options: this.#options,
      recorder: this.#recorder,
      faults: this.#faults,
      failovers,
      sets,
      directory,
      troubles: [...this.#troubles, ...this.#ground.lost],
      discard: () => rmSync(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 }),
    };
  }

  async #work(): Promise<readonly Promise<void>[]> {
    const { seed, clients } = this.#options;
    const isOver = (): boolean => this.#isOver;
    const probes = new Map([...this.#documents].map(([name, ids]) => [name, ids.at(-1)!]));
    const others = new Map([...this.#documents].map(([name, ids]) => [name, ids.slice(0, -1)]));
    const prober = new Prober(await this.#connect(0), this.#recorder, probes);
    const shared = await Promise.all(REGIONS.map((_, at) => this.#connect(at)));
    const made = Array.from({ length: clients }, (_, at) => {
      const random = new Random(seed, 100 + at);
      const client = shared[at % shared.length]!;
      const name = `client${at}`;
      return new ChaosClient({
        name,
        client,
        recorder: this.#recorder,
        random,
        documents: others,
        thinkMs: THINK_MS,
        ...(at < FLOODING && { floodEveryMs: FLOOD_EVERY_MS }),
      });
    });
    return [prober.run(isOver), ...made.map((client) => client.run(isOver))];
  }

  async #connect(region: number): Promise<BatonClient> {
    const client = await BatonClient.connect(this.#ground.connectOptions(REGIONS[region % REGIONS.length]!));
    this.#clients.push(client);
    return client;
  }

  async #chaos(): Promise<void> {
    const { seed, seconds, abilities, progress } = this.#options;
    const faults = new Faults(this.#ground, new Random(seed, 2), abilities.faketime);
    const until = performance.now() + seconds * 1000;
    for (const fault of scheduleOf(abilities.kinds, new Random(seed, 1), abilities.stores)) {
      const isEnough = performance.now() >= until && this.#faults.length >= leastFaults(seconds);
      if (isEnough || this.#isStuck) return;
      const targets = await faults.targetOf(fault);
      const name = `${formatFault(fault)} (${targets.join(', ')})`;
      this.#stalls.take();
      const from = performance.now();
      let isStoreMissed = false;
      try {
        isStoreMissed = await faults.takeStore(fault);
        const lacking = await this.#inflict(faults, fault, targets);
        if (lacking !== undefined) this.#getStuck(`after ${name}: ${lacking}`);
      } catch (error) {
        this.#getStuck(`in ${name}: ${String(error)}`);
      }
      this.#measure({ fault, targets, isStoreMissed }, from);
      const { gapMs, allowedMs: allowed } = this.#faults.at(-1)!;
      progress(`  ${name}: longest gap ${gapMs} ms, allowed ${allowed}`);
    }
  }

  /** Resolves when all is well again; or with what is not. */
  async #inflict(faults: Faults, fault: Fault, targets: readonly string[]): Promise<string | undefined> {
    const undo = await faults.begin(fault, targets);
    await sleep(fault.holdMs);
    // The first is the death of the region that writes: it lasts until the others have taken over, however busy the machine is.
    if (this.#faults.length === 0 && fault.kind === 'kill') await this.#ground.left(targets[0]!, PATIENCE_MS);
    await this.#remember();
    await faults.heal(undo);
    const lacking = await this.#ground.calm(PATIENCE_MS);
    await sleep(fault.calmMs);
    await this.#remember();
    return lacking;
  }

  #getStuck(what: string): void {
    this.#isStuck = true;
    this.#troubles.push(`stuck ${what}`);
  }

  #measure(what: Pick<DoneFault, 'fault' | 'targets' | 'isStoreMissed'>, from: number): void {
    const { fault, targets } = what;
    const stallMs = Math.round(this.#stalls.take());
    const window: FaultWindow = { kind: fault.kind, from, to: performance.now(), stallMs };
    const { ms, partitionSet } = longestGap(this.#recorder.sets.values(), window);
    const done = { ...window, ...what, gapMs: Math.round(ms), allowedMs: allowedMs(window) };
    this.#faults.push(done);
    if (this.#options.holdsBounds && ms > done.allowedMs)
      this.#troubles.push(
        `late: ${partitionSet} took no write for ${done.gapMs} ms after ${formatFault(fault)} of ${targets.join(', ')}; allowed are ${done.allowedMs} ms`,
      );
  }

  /** The nodes forget when they die, so they are asked often. */
  async #remember(): Promise<void> {
    for (const { partitionSet, entry } of await this.#ground.histories()) {
      const { what, why, to } = entry;
      if (what !== 'elected' && what !== 'switched') continue;
      this.#changes.set(`${partitionSet} ${to}`, what === 'switched' ? `planned, ${why}` : why);
    }
  }

  async #demandCalm(when: string): Promise<void> {
    const lacking = await this.#ground.calm(PATIENCE_MS);
    if (lacking !== undefined)
      throw new Error(`The cluster is not well ${when}: ${lacking} (logs: ${this.#logs})`);
  }

  async #heal(): Promise<boolean> {
    await this.#ground.heal();
    const lacking = await this.#ground.calm(PATIENCE_MS);
    if (lacking !== undefined) this.#troubles.push(`stuck at the end: ${lacking}`);
    return lacking === undefined;
  }

  /** The reads of `converge` that are on record are of after this moment; undefined if the copies do not become equal. */
  async #converged(): Promise<number | undefined> {
    const { documents, recorder } = { documents: this.#documents, recorder: this.#recorder };
    const trial = new Recorder(recorder.level, [...documents.keys()]);
    const differing = await converge(this.#ground, trial, documents, PATIENCE_MS);
    if (differing !== undefined) {
      this.#troubles.push(`The copies do not become equal: ${differing}`);
      return undefined;
    }
    const quietFrom = performance.now();
    const again = await converge(this.#ground, recorder, documents, PATIENCE_MS);
    if (again !== undefined) this.#troubles.push(`Copies that were equal do not stay so: ${again}`);
    return quietFrom;
  }

  async #feedEnds(feed: FeedFollower): Promise<boolean> {
    const ends = new Map(
      [...this.#recorder.sets.values()].flatMap(({ partitionSet, operations }) => {
        const newest = operations.flatMap(
          (one) => (one.client === 'auditor' && one.kind === 'read' && one.version) || [],
        );
        const [last] = newest.toSorted((a, b) => b.epoch - a.epoch || b.lsn - a.lsn);
        return last === undefined ? [] : [[partitionSet, last] as const];
      }),
    );
    const isThere = await feed.reached(ends, PATIENCE_MS);
    if (!isThere) this.#troubles.push('The change feed does not come to its end.');
    return isThere;
  }

  get #logs(): string {
    return join(this.#ground.cluster.directory, 'logs');
  }
}
