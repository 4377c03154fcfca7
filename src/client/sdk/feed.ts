/**
 * The change feed of a container as an async iterator. Each partition-set has a place in its log that means the same in every region
 * (`FeedCursor`), so a failover, here or of the reader, neither leaves out a change nor shows one twice. Nodes hold a request
 * until there is something new; each partition-set has one under way, and at most one page that waits to be shown.
 *
 * A batch is one entry of the log. Its changes are shown one by one, and the cursor moves on with the last of them.
 */
import { setMaxListeners } from 'node:events';
import { type Entry, etagOf, type FeedPosition, parsePartitionKey, versionIn } from '../../engine/index.ts';
import { FeedCursor } from '../core/index.ts';
import type { NodeFeedAnswer } from '../wire/scan-wire.ts';
import { documentIn, type Stored } from './documents.ts';
import { BatonError } from './errors.ts';
import type { Executor } from './executor.ts';
import { isPositive } from './options.ts';
import { feedRequest, scanRequest } from './requests.ts';
import type { ContainerPlace, PlacedRange } from './topology.ts';

export interface ChangesOptions {
  /** `beginning`, `now`, or the `cursor` of a change, to go on behind it. */
  readonly from?: 'beginning' | 'now' | (string & {}) | undefined;
  /** Ends the iterator, without an error. */
  readonly signal?: AbortSignal | undefined;
  /** How long no region may answer before the iterator fails; go on from the last cursor then. */
  readonly timeoutMs?: number | undefined;
  /** How long nodes hold a request while there is nothing new. */
  readonly holdMs?: number | undefined;
}

export interface Change<T> {
  readonly type: 'written' | 'deleted';
  readonly id: string;
  readonly partitionKey: readonly (string | number | boolean | null | undefined)[];
  /** Of this version; with `_lsn`. None of a deletion. */
  readonly document: (Stored<T> & { readonly _lsn: number }) | undefined;
  readonly etag: string;
  /** Milliseconds since 1970 on the writer's clock. */
  readonly at: number;
  /** Give it to `changes` to go on behind this one. */
  readonly cursor: string;
}

const PAGE_BYTES = 256 * 1024;
const HOLD_MS = 500;
/** Requests under way at once; with more partition-sets than that, they take turns and nothing is held for long. */
const AT_ONCE = 64;
const HOLD_IN_TURNS_MS = 20;

type Page = Extract<NodeFeedAnswer, { readonly outcome: 'done' }>;

interface Fetched {
  readonly range: PlacedRange;
  readonly page: Page | undefined;
  readonly error: unknown;
}

export async function* readChanges<T>(
  executor: Executor,
  name: string,
  options: ChangesOptions,
): AsyncGenerator<Change<T>, void, undefined> {
  const stop = new AbortController();
  // One request for each partition-set listens to it.
  setMaxListeners(0, stop.signal);
  const onAbort = (): void => stop.abort();
  options.signal?.addEventListener('abort', onAbort, { once: true });
  if (options.signal?.aborted === true) stop.abort();
  const reader = new FeedReader(executor, options, stop.signal);
  try {
    yield* reader.read<T>(name);
  } catch (error) {
    if (options.signal?.aborted !== true) throw error;
  } finally {
    stop.abort();
    options.signal?.removeEventListener('abort', onAbort);
    await reader.idle();
  }
}

class FeedReader {
  readonly #executor: Executor;
  readonly #options: ChangesOptions;
  readonly #signal: AbortSignal;
  readonly #underWay = new Map<string, Promise<Fetched>>();

  constructor(executor: Executor, options: ChangesOptions, signal: AbortSignal) {
    this.#executor = executor;
    this.#options = options;
    this.#signal = signal;
  }

  /** Resolves when nothing is under way any more. */
  async idle(): Promise<void> {
    await Promise.all(this.#underWay.values());
  }

  async *read<T>(name: string): AsyncGenerator<Change<T>, void, undefined> {
    const { timeoutMs, holdMs = HOLD_MS } = this.#options;
    if (!isPositive(timeoutMs) || !isPositive(holdMs))
      throw new BatonError('BAD_REQUEST', { message: 'timeoutMs and holdMs must be positive numbers.' });
    const container = await this.#executor.container(name, this.#executor.deadlineOf(timeoutMs));
    const ranges = new Map(container.ranges.map((range) => [range.partitionSet, range]));
    const cursor = await this.#cursor(container);
    const held = ranges.size <= AT_ONCE ? holdMs : Math.min(holdMs, HOLD_IN_TURNS_MS);
    while (!this.#signal.aborted) {
      while (this.#underWay.size < Math.min(ranges.size, AT_ONCE)) {
        const { partitionSet, after } = cursor.next();
        if (this.#underWay.has(partitionSet)) continue;
        const fetching = this.#fetch(container, ranges.get(partitionSet)!, after, held);
        this.#underWay.set(partitionSet, fetching);
      }
      const { range, page, error } = await Promise.race(this.#underWay.values());
      this.#underWay.delete(range.partitionSet);
      if (page === undefined) throw error;
      yield* shown<T>(cursor, container, range.partitionSet, page);
    }
  }

  async #cursor(container: ContainerPlace): Promise<FeedCursor> {
    const names = container.ranges.map(({ partitionSet }) => partitionSet);
    const { from = 'beginning' } = this.#options;
    if (from === 'beginning') return new FeedCursor(names);
    if (from !== 'now') {
      const cursor = FeedCursor.from(from, names);
      if (typeof cursor === 'string') throw new BatonError(cursor);
      return cursor;
    }
    const cursor = new FeedCursor(names);
    const places = await Promise.all(container.ranges.map((range) => this.#end(container, range)));
    for (const { partitionSet, position } of places) cursor.received(partitionSet, { entries: [], position });
    return cursor;
  }

  /** Never rejects: whoever waits for another one must not miss it. */
  async #fetch(
    container: ContainerPlace,
    range: PlacedRange,
    after: FeedPosition,
    waitMs: number,
  ): Promise<Fetched> {
    try {
      const { answer } = await this.#executor.execute(
        feedRequest({
          name: 'changes',
          container: container.name,
          rangeAt: () => range,
          after,
          maxBytes: PAGE_BYTES,
          waitMs,
          timeoutMs: this.#options.timeoutMs,
          signal: this.#signal,
        }),
      );
      return { range, page: answer, error: undefined };
    } catch (error) {
      return { range, page: undefined, error };
    }
  }

  /** How far a partition-set has got: a page of nothing says so. */
  async #end(
    container: ContainerPlace,
    range: PlacedRange,
  ): Promise<{ partitionSet: string; position: FeedPosition }> {
    const level = this.#executor.topology.map.account.consistency;
    const { partitionSet } = range;
    const { answer } = await this.#executor.execute(
      scanRequest({
        name: 'changes',
        container: container.name,
        rangeAt: () => range,
        page: { from: range.min, to: range.max, limit: 1, maxBytes: 1 },
        level,
        seenIn: () => undefined,
        timeoutMs: this.#options.timeoutMs,
        signal: this.#signal,
      }),
    );
    return { partitionSet, position: answer.position };
  }
}

function* shown<T>(
  cursor: FeedCursor,
  container: ContainerPlace,
  partitionSet: string,
  page: Page,
): Generator<Change<T>, void, undefined> {
  const received = cursor.received(partitionSet, page);
  if (!received.ok) throw new BatonError(received.code);
  for (const entry of received.entries) {
    const before = entry.changes.length > 1 ? cursor.token : undefined;
    cursor.shown(partitionSet, entry);
    const after = cursor.token;
    for (const [at, change] of entry.changes.entries()) {
      const isLast = at === entry.changes.length - 1;
      yield changeOf<T>(entry, change, container, isLast ? after : before!);
    }
  }
}

function changeOf<T>(
  entry: Entry,
  change: Entry['changes'][number],
  container: ContainerPlace,
  cursor: string,
): Change<T> {
  const version = versionIn(entry, change);
  const { id, partitionKey, body, at } = version;
  return {
    type: body === undefined ? 'deleted' : 'written',
    id,
    partitionKey: parsePartitionKey(partitionKey) ?? [],
    document:
      body === undefined
        ? undefined
        : (documentIn<T>({ ...version, body }, container, true) as Stored<T> & { readonly _lsn: number }),
    etag: etagOf(version),
    at,
    cursor,
  };
}
