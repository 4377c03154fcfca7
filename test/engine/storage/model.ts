/** What must be in a store after so many steps of the plan, and whether it is. */
import { expiresAt, type Entry, type PartitionStore } from 'baton/engine';
import { actionOf, bodyOf, IDS, keyOf, UNDOS, type View } from './plan.ts';

interface ModelVersion {
  readonly epoch: number;
  readonly lsn: number;
  readonly isDeleted: boolean;
  readonly expiresAt: number;
}

export class PartitionModel implements View {
  readonly #seed: number;
  readonly #partition: string;
  readonly #undos: number;
  readonly #versions = new Map<string, ModelVersion[]>(IDS.map((id) => [id, []]));
  #log: Entry[] = [];
  #undone: string[] = [];
  step = 0;
  tail = 0;
  base = 1;
  epoch = 1;

  constructor(seed: number, partition: string, undos = UNDOS) {
    this.#seed = seed;
    this.#partition = partition;
    this.#undos = undos;
  }

  newestLsn(id: string): number {
    const newest = this.#versions.get(id)!.at(-1);
    return newest === undefined || (newest.isDeleted && newest.lsn < this.base) ? 0 : newest.lsn;
  }

  advance(toStep: number): void {
    while (this.step < toStep) this.#take();
  }

  /** What is wrong with the store, if anything. */
  compare(store: PartitionStore): readonly string[] {
    const wrong: string[] = [];
    const same = (what: string, found: unknown, expected: unknown): void => {
      const [a, b] = [JSON.stringify(found), JSON.stringify(expected)];
      if (a !== b) wrong.push(`${this.#partition} step ${this.step}: ${what} is ${a}, not ${b}`);
    };
    same('tail', Math.max(store.tail.lsn, store.base - 1), this.tail);
    same('base', store.base, this.base);
    same('fence', store.notes.fence + 1, this.epoch);
    const living: string[] = [];
    for (const id of IDS) {
      const newest = this.#versions.get(id)!.at(-1);
      const found = store.newest(keyOf(id));
      same(`newest of ${id}`, found?.lsn ?? 0, this.newestLsn(id));
      if (newest === undefined || newest.isDeleted) continue;
      living.push(id);
      const body = bodyOf(this.#partition, newest.epoch, newest.lsn, id);
      if (!body.equals(found?.body ?? Buffer.alloc(0)))
        wrong.push(`${this.#partition}: the body of ${id} is wrong`);
    }
    const byKey = (a: string, b: string): number => (keyOf(a).epk + a < keyOf(b).epk + b ? -1 : 1);
    same(
      'scan',
      store.scan({ from: '', to: 'FF', limit: 1000 }).map(({ id }) => id),
      living.sort(byKey),
    );
    const expiring = living.filter((id) => this.#versions.get(id)!.at(-1)!.expiresAt < Infinity);
    same(
      'expiry',
      store
        .expired(1e15, 1000)
        .map(({ id }) => id)
        .sort(),
      expiring.sort(),
    );
    same('log', store.entriesAfter(store.base - 1, 1e9).map(nameOf), this.#log.map(nameOf));
    same(
      'operations',
      this.#log.map(({ operation }) => store.operation(operation!)?.lsn),
      this.#log.map(({ lsn }) => lsn),
    );
    same('undone', [...store.undone()].map(({ entry }) => nameOf(entry)).sort(), this.#undone.toSorted());
    return wrong;
  }

  #take(): void {
    this.step += 1;
    const action = actionOf(this.#seed, this.#partition, this.step, this, this.#undos);
    if (action.type === 'append') this.#append(action.entry);
    else if (action.type === 'clear') this.#clear(action.base);
    else if (action.type === 'truncate') this.#truncate(action.lsn);
    else {
      this.base = action.lsn + 1;
      this.#log = this.#log.filter(({ lsn }) => lsn >= this.base);
    }
  }

  #append(entry: Entry): void {
    this.#log.push(entry);
    this.tail = entry.lsn;
    for (const change of entry.changes) {
      const isDeleted = change.body === undefined;
      const version = {
        epoch: entry.epoch,
        lsn: entry.lsn,
        isDeleted,
        expiresAt: isDeleted ? Infinity : expiresAt({ ...entry, ...change }),
      };
      this.#versions.get(change.id)!.push(version);
    }
  }

  #truncate(lsn: number): void {
    this.#undone.push(...this.#log.filter((entry) => entry.lsn > lsn).map(nameOf));
    this.#log = this.#log.filter((entry) => entry.lsn <= lsn);
    for (const [id, versions] of this.#versions) {
      this.#versions.set(
        id,
        versions.filter((version) => version.lsn <= lsn),
      );
    }
    this.tail = lsn;
    this.epoch += 1;
  }

  #clear(base: number): void {
    for (const id of IDS) this.#versions.set(id, []);
    this.#log = [];
    this.base = base;
    this.tail = base - 1;
    this.epoch += 1;
  }
}

function nameOf({ epoch, lsn }: { readonly epoch: number; readonly lsn: number }): string {
  return `${epoch}/${lsn}`;
}
