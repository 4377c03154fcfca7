/**
 * Who reads the change feed of the container from its beginning, across all faults. An iterator that ends with an error is
 * continued from the last cursor; when what was read is undone, which below Strong may be, the reader begins anew.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { BEFORE_ALL, type FeedRecord, type Position, positionOrder } from 'baton/check';
import { type BatonClient, BatonError, type Change } from 'baton/client';
import { positionIn, type Recorder, type SetRecord } from './record.ts';
import type { Item } from './workload.ts';

const AGAIN_MS = 200;
const TIMEOUT_MS = 20_000;

export class FeedFollower {
  readonly #client: BatonClient;
  readonly #recorder: Recorder;
  /** The partition-set of each document. */
  readonly #setOf: ReadonlyMap<string, string>;
  readonly #stop = new AbortController();
  #cursor: string | undefined;

  constructor(client: BatonClient, recorder: Recorder, setOf: ReadonlyMap<string, string>) {
    this.#client = client;
    this.#recorder = recorder;
    this.#setOf = setOf;
    this.#beginAnew();
  }

  async run(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      try {
        const from = this.#cursor ?? 'beginning';
        const container = this.#client.container<Item>('items');
        for await (const change of container.changes({ from, signal, timeoutMs: TIMEOUT_MS }))
          this.#take(change);
      } catch (error) {
        this.#failed(error);
        await sleep(AGAIN_MS);
        this.#goOn();
      }
    }
  }

  stop(): void {
    this.#stop.abort();
  }

  /** Whether it was given, of each partition-set, all up to there. */
  async reached(ends: ReadonlyMap<string, Position>, withinMs: number): Promise<boolean> {
    const until = performance.now() + withinMs;
    const isThere = (): boolean =>
      [...ends].every(
        ([name, end]) => positionOrder(this.#positionOf(this.#recorder.sets.get(name)!), end) >= 0,
      );
    while (!isThere()) {
      if (performance.now() > until) return false;
      await sleep(AGAIN_MS);
    }
    return true;
  }

  #take({ id, etag, document, cursor }: Change<Item>): void {
    const set = this.#recorder.sets.get(this.#setOf.get(id) ?? '');
    const position = positionIn(etag);
    if (set === undefined || position === undefined) {
      this.#recorder.wrong(`The feed shows ${id} at ${etag}, which nobody wrote.`);
      return;
    }
    set.stretches.at(-1)!.changes.push({ ...position, key: id, value: document?.value });
    this.#cursor = cursor;
    this.#recorder.count('feed: changes');
  }

  #failed(error: unknown): void {
    const recorder = this.#recorder;
    if (!(error instanceof BatonError)) {
      recorder.wrong(`The feed met an error that is none of the SDK's: ${String((error as Error).stack)}`);
      return;
    }
    recorder.count(`feed: ${error.code}`);
    if (error.code !== 'FEED_UNDONE') return;
    if (recorder.level === 'Strong' || recorder.level === 'BoundedStaleness')
      recorder.wrong('The feed was told that what it had shown was undone.');
    this.#beginAnew();
  }

  #beginAnew(): void {
    this.#cursor = undefined;
    for (const set of this.#recorder.sets.values()) set.stretches = [{ from: BEFORE_ALL, changes: [] }];
  }

  /** The next stretch of each begins where it is. */
  #goOn(): void {
    for (const set of this.#recorder.sets.values())
      if (set.stretches.at(-1)!.changes.length > 0)
        set.stretches.push({ from: this.#positionOf(set), changes: [] });
  }

  #positionOf({ stretches }: SetRecord): Position {
    const { from, changes } = stretches.at(-1)!;
    const last = changes.at(-1);
    return last === undefined ? from : { epoch: last.epoch, lsn: last.lsn };
  }
}

export function feedRecordOf({ partitionSet, stretches }: SetRecord, caughtUp: boolean): FeedRecord {
  return {
    reader: `of ${partitionSet}`,
    mode: 'all',
    stretches: stretches.map(({ from, changes }) => ({ region: 'any', from, changes })),
    caughtUp,
  };
}
