/**
 * The built-in load: a client that writes in every partition-set in turn, at a steady pace, and reads some of it back, so that
 * whoever breaks the cluster sees what that costs. It is modest: a few documents that it writes again and again, a few writes under
 * way in each partition-set at most, and what could not be sent in its time is left out, not made up for.
 */
import { BatonClient, type ConnectOptions, routeOf } from '../../client/index.ts';
import { epkOf } from '../../engine/index.ts';
import type { ClusterConfig } from '../config/cluster-config.ts';
import { type PartitionSetPlace, partitionSetsOf } from '../config/layout.ts';
import { LoadFigures, type LoadState } from './load-figures.ts';

export const DEFAULT_PER_SECOND = 200;
const TICK_MS = 20;
/** After a pause of its own process it goes on as if nothing had been due meanwhile. */
const MOST_DUE_S = 0.25;
const MOST_IN_A_SET = 4;
/** One read for so many writes. */
const WRITES_TO_A_READ = 4;
const CONNECT_MS = 2000;
const CONNECT_AGAIN_MS = 500;
const GIVE_UP_MS = 10_000;

/** A document that is in a certain partition-set. */
export interface LoadTarget {
  readonly partitionSet: string;
  readonly key: string;
}

export interface LoadClient {
  /** Reject when the cluster did not do it. */
  write(key: string, count: number): Promise<unknown>;
  read(key: string): Promise<unknown>;
  close(): Promise<void>;
}

export interface LoadOptions {
  readonly targets: readonly LoadTarget[];
  readonly connect: () => Promise<LoadClient>;
}

interface Run {
  client: LoadClient | undefined;
  timer: NodeJS.Timeout | undefined;
  /** Settles when a connection is there, or is not wanted any more. */
  connecting: Promise<void>;
  isOver: boolean;
  lastTick: number;
  due: number;
}

export class Load {
  readonly #options: LoadOptions;
  #figures = new LoadFigures();
  #perSecond = DEFAULT_PER_SECOND;
  #run: Run | undefined;
  #count = 0;

  constructor(options: LoadOptions) {
    this.#options = options;
  }

  get state(): LoadState {
    const { acknowledged, failed } = this.#figures;
    const isOn = this.#run !== undefined;
    const worstGapMs = isOn ? this.#figures.worstGapMs(performance.now()) : 0;
    return { on: isOn, perSecond: this.#perSecond, acknowledged, failed, worstGapMs };
  }

  /** Counts from nothing; one that is on already goes on at the other pace. */
  start(perSecond: number = DEFAULT_PER_SECOND): void {
    this.#perSecond = perSecond;
    if (this.#run !== undefined) return;
    this.#figures = new LoadFigures();
    const run: Run = {
      client: undefined,
      timer: undefined,
      connecting: Promise.resolve(),
      isOver: false,
      lastTick: performance.now(),
      due: 0,
    };
    this.#run = run;
    run.connecting = this.#connect(run);
  }

  /** What is under way counts no more. */
  async stop(): Promise<void> {
    const run = this.#run;
    if (run === undefined) return;
    this.#run = undefined;
    run.isOver = true;
    clearTimeout(run.timer);
    await run.connecting;
    await run.client?.close();
  }

  async #connect(run: Run): Promise<void> {
    while (!run.isOver && run.client === undefined) {
      try {
        run.client = await this.#options.connect();
      } catch {
        await new Promise((resolve) => setTimeout(resolve, CONNECT_AGAIN_MS));
      }
    }
    run.lastTick = performance.now();
    if (!run.isOver) this.#tick(run);
  }

  #tick(run: Run): void {
    const now = performance.now();
    const most = Math.max(1, this.#perSecond * MOST_DUE_S);
    run.due = Math.min(most, run.due + ((now - run.lastTick) / 1000) * this.#perSecond);
    run.lastTick = now;
    for (; run.due >= 1; run.due -= 1) this.#next(run);
    run.timer = setTimeout(() => this.#tick(run), TICK_MS);
  }

  #next(run: Run): void {
    const { targets } = this.#options;
    const count = this.#count++;
    const target = targets[count % targets.length]!;
    if (this.#figures.underWayIn(target.partitionSet) >= MOST_IN_A_SET) return;
    void this.#write(run, target, count);
  }

  async #write(run: Run, { partitionSet, key }: LoadTarget, count: number): Promise<void> {
    const figures = this.#figures;
    const client = run.client!;
    figures.sent(partitionSet, performance.now());
    try {
      await client.write(key, count);
      if (!run.isOver) figures.acknowledge(partitionSet, performance.now());
    } catch {
      if (!run.isOver) figures.fail(partitionSet);
      return;
    }
    if (!this.#isReadAfter(count) || run.isOver) return;
    try {
      await client.read(key);
    } catch {
      if (!run.isOver) figures.failed += 1;
    }
  }

  /** In each round in other partition-sets. */
  #isReadAfter(count: number): boolean {
    const round = Math.floor(count / this.#options.targets.length);
    return (count + round) % WRITES_TO_A_READ === 0;
  }
}

/** For the first container of a cluster, which `baton up` calls "items". */
export function loadOn(config: ClusterConfig, options: Omit<ConnectOptions, 'timeoutMs'>): Load {
  const [container] = config.containers;
  const { name, partitionKey } = container!;
  const places = partitionSetsOf(config).filter((place) => place.container === name);
  return new Load({
    targets: targetsIn(places, partitionKey.length),
    connect: async () => clientOf(await BatonClient.connect({ ...options, timeoutMs: CONNECT_MS }), config),
  });
}

/** One document for each partition-set: the first whose key falls into it. */
export function targetsIn(places: readonly PartitionSetPlace[], paths: number): readonly LoadTarget[] {
  const ranges = places.map(({ name, from, to }) => ({ partitionSet: name, min: from, max: to }));
  const found = new Map<string, string>();
  for (let number = 0; found.size < ranges.length; number += 1) {
    const key = `load-${number}`;
    const range = routeOf(epkOf(Array.from({ length: paths }, () => key)), ranges);
    if (range !== undefined && !found.has(range.partitionSet)) found.set(range.partitionSet, key);
  }
  return ranges.map(({ partitionSet }) => ({ partitionSet, key: found.get(partitionSet)! }));
}

function clientOf(client: BatonClient, { containers }: ClusterConfig): LoadClient {
  const { name, partitionKey: paths } = containers[0]!;
  const items = client.container(name);
  const optionsFor = (key: string) => ({ partitionKey: paths.map(() => key), timeoutMs: GIVE_UP_MS });
  return {
    write: (key, count) => items.upsert(documentOf(key, count, paths), optionsFor(key)),
    read: (key) => items.find(key, optionsFor(key)),
    close: () => client.close(),
  };
}

/** With the key wherever the container looks for it. */
export function documentOf(key: string, count: number, paths: readonly string[]): Record<string, unknown> {
  const document: Record<string, unknown> = { count };
  for (const path of paths) {
    const steps = path.split('/').slice(1);
    let at = document;
    for (const step of steps.slice(0, -1)) at = (at[step] ??= {}) as Record<string, unknown>;
    at[steps.at(-1)!] = key;
  }
  return { ...document, id: key };
}
