/**
 * What a run leaves behind, for the checkers: the calls of the writers, what a reader of the change feed was given, and the
 * copies on the disks of all regions after everything was killed.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { type ChangeFeedPullModelIterator, ChangeFeedStartFrom, type Container } from '@azure/cosmos';
import {
  BEFORE_ALL,
  checkRun,
  type ConsistencyFinding,
  type FeedRecord,
  type FeedStretch,
  type LogRow,
  type Position,
} from 'baton/check';
import { epkOf, nodeJson, NodeStore, type PartitionStore, type Version } from 'baton/engine';
import { type PartitionSetPlace, partitionSetsOf } from 'baton/server';
import { plain, positionIn, type Recorder } from '../chaos/record.ts';
import type { Recording } from '../chaos/recording.ts';
import type { Doors } from './doors.ts';

const AGAIN_MS = 100;

/** Which partition-set owns a document of the container. */
export function setOf(places: readonly PartitionSetPlace[], id: string): string {
  const epk = epkOf([id]);
  return places.find(({ from, to }) => epk >= from && epk < to)!.name;
}

/** By partition-set: some ids that it owns. */
export function documentsOf(
  places: readonly PartitionSetPlace[],
  perSet: number,
): ReadonlyMap<string, readonly string[]> {
  const found = new Map(places.map(({ name }): [string, string[]] => [name, []]));
  for (let number = 0; [...found.values()].some(({ length }) => length < perSet); number += 1) {
    const ids = found.get(setOf(places, `d${number}`))!;
    if (ids.length < perSet) ids.push(`d${number}`);
  }
  return found;
}

interface Item {
  readonly id: string;
  readonly value: string;
}

/** Reads the change feed of all ranges from the beginning; when the client gives up, it goes on where it was. */
export class FeedReader {
  readonly #container: Container;
  readonly #setOf: (id: string) => string;
  readonly #stretches = new Map<string, FeedStretch & { changes: (Position & Item & { key: string })[] }>();
  #continuation: string | undefined;
  #isOver = false;
  troubles = 0;

  constructor(container: Container, owner: (id: string) => string) {
    this.#container = container;
    this.#setOf = owner;
  }

  /** Until it is told to end and there is nothing more. */
  async run(): Promise<void> {
    for (;;) {
      try {
        const iterator = this.#iterator();
        if (await this.#follow(iterator)) return;
      } catch {
        this.troubles += 1;
        await sleep(AGAIN_MS);
      }
    }
  }

  end(): void {
    this.#isOver = true;
  }

  recordOf(partitionSet: string): FeedRecord {
    const stretch = this.#stretches.get(partitionSet);
    return {
      reader: `of ${partitionSet}`,
      mode: 'latest',
      stretches: stretch === undefined ? [] : [stretch],
      caughtUp: true,
    };
  }

  #iterator(): ChangeFeedPullModelIterator<Item> {
    const changeFeedStartFrom =
      this.#continuation === undefined
        ? ChangeFeedStartFrom.Beginning()
        : ChangeFeedStartFrom.Continuation(this.#continuation);
    return this.#container.items.getChangeFeedIterator<Item>({ changeFeedStartFrom, maxItemCount: 50 });
  }

  async #follow(iterator: ChangeFeedPullModelIterator<Item>): Promise<boolean> {
    for (;;) {
      const isLast = this.#isOver;
      const answer = await iterator.readNext();
      for (const { id, value, _etag } of answer.result ?? []) {
        const position = positionIn(_etag)!;
        this.#stretchOf(this.#setOf(id)).changes.push({ ...position, key: id, id, value });
      }
      this.#continuation = answer.continuationToken;
      if (answer.statusCode !== 304) continue;
      if (isLast) return true;
      await sleep(AGAIN_MS);
    }
  }

  #stretchOf(partitionSet: string) {
    const known = this.#stretches.get(partitionSet);
    if (known !== undefined) return known;
    const stretch = { region: 'any', from: BEFORE_ALL, changes: [] };
    this.#stretches.set(partitionSet, stretch);
    return stretch;
  }
}

interface Copy {
  readonly region: string;
  readonly base: number;
  readonly log: readonly Position[];
  readonly rows: readonly LogRow[];
  readonly documents: ReadonlyMap<string, Position & { readonly value: string }>;
}

/** Everything is killed at once; then the disks are read. By partition-set. Writers name their writes by their values. */
export async function recordingsOf(
  doors: Doors,
  recorder: Recorder,
  feed: FeedReader,
): Promise<ReadonlyMap<string, Recording>> {
  await Promise.all(doors.cluster.processes.map(({ name }) => doors.cluster.kill(name)));
  const places = partitionSetsOf(doors.cluster.config);
  const copies = new Map<string, Copy[]>(places.map(({ name }) => [name, []]));
  for (const { data, region } of doors.nodes) {
    const store = await NodeStore.open({ directory: data });
    for (const place of places)
      copies.get(place.name)!.push(copyIn(region, store.partition(place.name), place));
    await store.abandon();
  }
  return new Map(
    places.map(({ name }) => {
      const ofSet = copies.get(name)!;
      const [best] = ofSet.toSorted((a, b) => a.base - b.base || b.log.length - a.log.length);
      const { operations } = recorder.sets.get(name)!;
      const record = { operations, log: best!.rows, undone: [] };
      return [name, { level: recorder.level, record, feed: feed.recordOf(name), copies: ofSet }];
    }),
  );
}

export function judge({ record, feed, copies }: Recording): ConsistencyFinding[] {
  return checkRun(record, { feeds: [feed], copies });
}

function copyIn(region: string, store: PartitionStore, { from, to }: PartitionSetPlace): Copy {
  const entries = store.entriesAfter(store.base - 1, Infinity);
  const versions = store.scan({ from, to, limit: Infinity });
  return {
    region,
    base: store.base,
    log: entries.map(plain),
    rows: entries.flatMap(({ epoch, lsn, changes }): LogRow[] => {
      if (changes.length === 0) return [{ epoch, lsn }];
      return changes.map((change) => {
        const value = valueOf(change);
        return { epoch, lsn, key: change.id, value, operation: value };
      });
    }),
    documents: new Map(
      versions.map((version) => [version.id, { ...plain(version), value: valueOf(version)! }]),
    ),
  };
}

function valueOf({ body }: Pick<Version, 'body'>): string | undefined {
  return body === undefined ? undefined : (nodeJson.parse(body) as Item).value;
}

/** The documents that a client was told it had written, and that are not there. */
export function missing(recorder: Recorder, there: ReadonlySet<string>): readonly string[] {
  return [...recorder.sets.values()].flatMap(({ operations }) =>
    operations.flatMap((one) =>
      one.kind === 'write' && one.outcome === 'ok' && one.condition === 'absent' && !there.has(one.key)
        ? [one.key]
        : [],
    ),
  );
}
