/**
 * What the writer of the kill test does, step by step. A step follows from the seed, its number and what can be seen of the
 * partition, so whoever knows how many steps a store has taken knows everything that must be in it. The number of the last
 * step is in the notes (`gclsn`), and a step is written as one: after a kill the store is exactly what it was after some step.
 */
import type { Change, Entry, PartitionStore } from 'baton/engine';
import { type Choose, seededChoose } from 'baton/check';

export const PARTITIONS = ['one', 'two', 'three', 'four'];
/** Of its entries one in six has documents of up to 2 MB, so that a few of them together are more than a file of the journal. */
export const LARGE = 'four';
const LARGE_BYTES = 2_000_000;
export const IDS = Array.from({ length: 40 }, (_, index) => `document-${index}`);
const WRITTEN_AT = 1_700_000_000_000;

/** What a step looks at. */
export interface View {
  readonly tail: number;
  readonly base: number;
  /** Raised by everything that undoes; also in the notes, as `fence`. */
  readonly epoch: number;
  newestLsn(id: string): number;
}

export type Action =
  | { readonly type: 'append'; readonly entry: Entry }
  | { readonly type: 'truncate' | 'trim'; readonly lsn: number }
  | { readonly type: 'clear'; readonly base: number };

/** Undos in 400 steps. */
export const UNDOS = 10;

export function actionOf(seed: number, partition: string, step: number, view: View, undos = UNDOS): Action {
  const choose = seededChoose(seed * 31 + PARTITIONS.indexOf(partition) * 7919 + step * 104_729);
  const kind = choose(400);
  const length = view.tail - view.base + 1;
  if (kind === 0 && step > 500) return { type: 'clear', base: view.tail + 1 + choose(3) };
  if (kind < undos && length > 0)
    return { type: 'truncate', lsn: view.tail - choose(Math.min(length + 1, 6)) };
  if (kind < undos + 10 && length > 60) return { type: 'trim', lsn: view.tail - 20 - choose(20) };
  return { type: 'append', entry: entryOf(partition, choose, view) };
}

export function apply(store: PartitionStore, step: number, action: Action): void {
  if (action.type === 'append') store.append([action.entry]);
  else if (action.type === 'trim') store.trim(action.lsn);
  else if (action.type === 'clear') store.clear(action.base);
  else store.truncate(action.lsn, step);
  const isOver = action.type === 'truncate' || action.type === 'clear';
  store.note({ gclsn: step, ...(isOver && { fence: store.notes.fence + 1 }) });
}

export function viewOf(store: PartitionStore): View {
  return {
    tail: Math.max(store.tail.lsn, store.base - 1),
    base: store.base,
    epoch: store.notes.fence + 1,
    newestLsn: (id) => store.newest(keyOf(id))?.lsn ?? 0,
  };
}

export function keyOf(id: string): { readonly epk: string; readonly id: string } {
  const number = Number(id.slice(id.indexOf('-') + 1));
  return { epk: ((number * 7) % 40).toString(16).toUpperCase().padStart(32, '0'), id };
}

export function bodyOf(partition: string, epoch: number, lsn: number, id: string): Buffer {
  const text = JSON.stringify({ name: `${partition}/${epoch}/${lsn}/${id}` });
  const choose = seededChoose(lsn * 17 + epoch);
  if (partition === LARGE && choose(6) === 0) return Buffer.alloc(text.length + choose(LARGE_BYTES), text);
  const size = choose(20) === 0 ? 9000 : 50 + ((lsn * 37) % 1500);
  return Buffer.from(text.padEnd(size));
}

function entryOf(partition: string, choose: Choose, view: View): Entry {
  const { epoch } = view;
  const lsn = Math.max(view.tail + 1, view.base);
  const count = choose(4) === 0 ? 3 : 1;
  const first = choose(IDS.length);
  const changes = Array.from({ length: count }, (_, index): Change => {
    const id = IDS[(first + index * 11) % IDS.length]!;
    const previous = view.newestLsn(id);
    const kind = choose(10);
    return {
      ...keyOf(id),
      partitionKey: `["${id}"]`,
      createdLsn: 0,
      previous,
      ...(kind > 1 && { body: bodyOf(partition, epoch, lsn, id) }),
      ...(kind > 7 && { ttl: kind }),
    };
  });
  return {
    epoch,
    lsn,
    at: WRITTEN_AT + lsn,
    operation: `${partition}-${epoch}-${lsn}`,
    statuses: changes.map(() => 200),
    changes,
  };
}
