/** Random writes, syncs, crashes and restarts of a partition store, compared after each step with a model that forgets nothing. */
import {
  comparePositions,
  type DocumentKey,
  type Entry,
  glanceAt,
  keyText,
  type PartitionStore,
  type Position,
  type Version,
} from 'baton/engine';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { entryOf, put, remove } from './partition-entries.ts';
import { ALL, type OpenNode, type StoreUnderTest, synced } from './partition-store.ts';

const IDS = ['a', 'b', 'c', 'd', 'é', '\u{1f600}'];
const RUNS = 60;

/** Everything that was ever appended and not undone, and what follows from it by looking at all of it. */
interface Model {
  readonly entries: readonly Entry[];
  readonly base: number;
  readonly undone: ReadonlyMap<string, number>;
  readonly fence: number;
}

const NEW: Model = { entries: [], base: 1, undone: new Map(), fence: 0 };

function newestIn({ entries }: Model, text: string): Entry | undefined {
  return entries.findLast(({ changes }) => changes.some((change) => keyText(change) === text));
}

function bodyIn(entry: Entry | undefined, text: string): string | undefined {
  const body = entry?.changes.find((change) => keyText(change) === text)?.body;
  return body && `${entry.epoch}/${entry.lsn} ${Buffer.from(body).toString()}`;
}

function tailOf({ entries }: Model): Position {
  const { epoch, lsn } = entries.at(-1) ?? { epoch: 0, lsn: 0 };
  return { epoch, lsn };
}

/** What can be seen of it, as text. */
function seenInModel(model: Model): object {
  const texts = IDS.map((id) => keyText(put(id)));
  const documents = texts.map((text) => bodyIn(newestIn(model, text), text));
  return {
    tail: tailOf(model),
    base: model.base,
    fence: model.fence,
    documents,
    scan: documents.filter((each) => each !== undefined).sort(),
    log: model.entries.filter(({ lsn }) => lsn >= model.base).map(nameOf),
    operations: model.entries.filter(({ lsn }) => lsn >= model.base).map(({ operation }) => operation),
    expired: texts
      .filter((text) => newestIn(model, text)?.changes.find((change) => keyText(change) === text)?.ttl === 0)
      .sort(),
    undone: [...model.undone].map(([name, at]) => `${name} ${at}`).sort(),
  };
}

function seenInStore(store: PartitionStore, operations: readonly string[]): object {
  const text = (version: Version | undefined): string | undefined =>
    version?.body && `${version.epoch}/${version.lsn} ${Buffer.from(version.body).toString()}`;
  const scanned = store.scan(ALL);
  const bytes = scanned.map((version) => Buffer.from(keyText(version)));
  expect(bytes.every((each, at) => at === 0 || Buffer.compare(bytes[at - 1]!, each) < 0)).toBe(true);
  for (const id of IDS) expectGlance(store, put(id));
  return {
    tail: store.tail,
    base: store.base,
    fence: store.notes.fence,
    documents: IDS.map((id) => text(store.newest(put(id)))),
    scan: scanned.map((version) => text(version)!).sort(),
    log: store.entriesAfter(store.base - 1, 1e9).map(nameOf),
    operations: operations.filter((id) => store.operation(id)?.operation === id),
    expired: store.expired(Number.MAX_SAFE_INTEGER, 100).map(keyText).sort(),
    undone: [...store.undone()].map(({ entry, undoneAt }) => `${nameOf(entry)} ${undoneAt}`).sort(),
  };
}

/** It says of the newest version what that says of itself. */
function expectGlance(store: PartitionStore, key: DocumentKey): void {
  const version = store.newest(key);
  const expected = version && glanceAt(version);
  expect(store.glance(key)).toEqual(expected && expect.objectContaining(expected));
}

function nameOf({ epoch, lsn }: Position): string {
  return `${epoch}/${lsn}`;
}

type Step =
  | {
      readonly type: 'append';
      readonly ids: readonly number[];
      readonly kinds: readonly number[];
      readonly raise: boolean;
    }
  | { readonly type: 'truncate' | 'trim'; readonly share: number }
  | { readonly type: 'note' | 'sync' | 'turn' | 'restart' | 'crash' };

const small = fc.integer({ min: 0, max: 5 });
const appends: fc.Arbitrary<Step> = fc.record({
  type: fc.constant('append' as const),
  ids: fc.uniqueArray(small, { maxLength: 3 }),
  kinds: fc.array(fc.integer({ min: 0, max: 9 }), { minLength: 3, maxLength: 3 }),
  raise: fc.boolean(),
});
const cuts: fc.Arbitrary<Step> = fc.record({
  type: fc.constantFrom('truncate' as const, 'trim' as const),
  share: fc.double({ min: 0, max: 1, noNaN: true }),
});
const others: fc.Arbitrary<Step> = fc.record({
  type: fc.constantFrom('note' as const, 'sync' as const, 'sync' as const, 'turn' as const),
});
const ends: fc.Arbitrary<Step> = fc.record({
  type: fc.constantFrom('restart' as const, 'crash' as const, 'crash' as const),
});
const steps = fc.array(
  fc.oneof(
    { weight: 8, arbitrary: appends },
    { weight: 3, arbitrary: cuts },
    { weight: 7, arbitrary: others },
    { weight: 2, arbitrary: ends },
  ),
  { minLength: 40, maxLength: 120, size: 'max' },
);

class Run {
  readonly #stores: StoreUnderTest;
  readonly #place: string;
  #node: OpenNode;
  #store: PartitionStore;
  /** Since the last sync, the oldest first: a crash leaves one of them. */
  #models: Model[] = [NEW];
  #epoch = 1;
  #count = 0;

  private constructor(stores: StoreUnderTest, place: string, node: OpenNode) {
    this.#stores = stores;
    this.#place = place;
    this.#node = node;
    this.#store = node.partition('p');
  }

  static async start(stores: StoreUnderTest, place: string): Promise<Run> {
    return new Run(stores, place, await stores.open(place));
  }

  get #model(): Model {
    return this.#models.at(-1)!;
  }

  async take(step: Step): Promise<void> {
    switch (step.type) {
      case 'append':
        this.#append(step);
        break;
      case 'truncate':
        this.#truncate(step.share);
        break;
      case 'trim':
        this.#trim(step.share);
        break;
      case 'note':
        this.#store.note({ fence: this.#model.fence + 1 });
        this.#models.push({ ...this.#model, fence: this.#model.fence + 1 });
        break;
      case 'sync':
        await synced(this.#store);
        this.#models = [this.#model];
        break;
      case 'turn':
        await new Promise((resolve) => setImmediate(resolve));
        break;
      case 'restart':
        await this.#node.close();
        this.#models = [this.#model];
        await this.#open();
        break;
      case 'crash':
        await this.#crash();
        break;
    }
    this.check();
  }

  check(): void {
    const operations = this.#model.entries.map(({ operation }) => operation!);
    const seen = seenInStore(this.#store, operations);
    const expected = seenInModel(this.#model);
    // Comparing as text is much faster; when it differs, the difference is to be seen.
    if (JSON.stringify(seen) !== JSON.stringify(expected)) expect(seen).toEqual(expected);
  }

  async end(): Promise<void> {
    await this.#node.close();
  }

  #append({ ids, kinds, raise }: Step & { readonly type: 'append' }): void {
    if (raise) this.#epoch += 1;
    const lsn = Math.max(tailOf(this.#model).lsn + 1, this.#model.base);
    const changes = ids.map((index, at) => {
      const id = IDS[index]!;
      const before = newestIn(this.#model, keyText(put(id)));
      const isThere = bodyIn(before, keyText(put(id))) !== undefined;
      const kind = kinds[at]!;
      // Whoever writes may take a deletion for a version or for nothing.
      const previous = isThere || kind % 2 === 0 ? (before?.lsn ?? 0) : 0;
      if (kind < 3 && isThere) return remove(id, previous);
      return put(id, (this.#count += 1), { previous, ...(kind > 7 && { ttl: 0 }) });
    });
    const entry = entryOf(this.#epoch, lsn, changes, { operation: `o${(this.#count += 1)}` });
    this.#store.append([entry]);
    this.#models.push({ ...this.#model, entries: [...this.#model.entries, entry] });
  }

  #truncate(share: number): void {
    const model = this.#model;
    const { lsn: tail } = tailOf(model);
    const lsn = model.base - 1 + Math.floor(share * (tail - model.base + 2));
    const at = (this.#count += 1);
    this.#store.truncate(lsn, at);
    const undone = new Map(model.undone);
    for (const entry of model.entries) if (entry.lsn > lsn) undone.set(nameOf(entry), at);
    this.#models.push({ ...model, entries: model.entries.filter((entry) => entry.lsn <= lsn), undone });
    // What was undone never comes back under the same epoch.
    this.#epoch += 1;
  }

  #trim(share: number): void {
    const model = this.#model;
    const { lsn: tail } = tailOf(model);
    if (tail < model.base) return;
    const lsn = model.base + Math.floor(share * (tail - model.base + 0.999));
    this.#store.trim(lsn);
    this.#models.push({ ...model, base: lsn + 1 });
  }

  async #open(): Promise<void> {
    this.#node = await this.#stores.open(this.#place);
    this.#store = this.#node.partition('p');
  }

  async #crash(): Promise<void> {
    await this.#node.crash();
    await this.#open();
    const operations = this.#model.entries.map(({ operation }) => operation!);
    const fits = this.#models.findLast((model) => {
      const same = comparePositions(tailOf(model), this.#store.tail) === 0 && model.base === this.#store.base;
      return (
        same &&
        model.fence === this.#store.notes.fence &&
        model.undone.size === [...this.#store.undone()].length
      );
    });
    expect(fits, `what a crash left (${operations.length} entries) was never so`).toBeDefined();
    this.#models = [fits!];
  }
}

export function partitionStoreProperty(name: string, stores: StoreUnderTest, newPlace: () => string): void {
  test(`partition store ${name}: random writes, crashes and restarts against a model`, async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (all) => {
        const run = await Run.start(stores, newPlace());
        try {
          for (const step of all) await run.take(step);
        } finally {
          await run.end();
        }
      }),
      { numRuns: RUNS, seed: 20, endOnFailure: false },
    );
  });
}
