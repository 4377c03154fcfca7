/** What nodes remember, each in its own files: changes of write regions, and lost writes. Told by several, it is shown once. */
import type { Places } from './places.ts';
import type { Complaint, LostWriteAt, NodePages, OperatedCluster, Page } from './cluster.ts';
import { historyAnswer, type HistoryRecord, type LostWriteRecord, lostWritesAnswer } from './shapes.ts';

export interface History {
  /** The oldest first. */
  readonly changes: readonly HistoryRecord[];
  readonly hasMore: boolean;
}

/** The last changes. `names` absent: of all partition-sets. */
export async function readHistory(
  cluster: OperatedCluster,
  names: readonly string[] | undefined,
  limit: number,
): Promise<History> {
  const only = onlyOf<HistoryRecord>(names);
  const read = await cluster.read(names, {
    path: '/v1/history',
    cursor: 'before',
    limit,
    shape: historyAnswer,
    count: ({ history }) => only(history).length,
  });
  const all = read.flatMap(({ pages }) => pages.flatMap(({ history }) => only(history)));
  const changes = [...new Map(all.map((change) => [JSON.stringify(change), change])).values()].sort(byTime);
  return {
    changes: changes.slice(-limit),
    hasMore: changes.length > limit || read.some(({ failure, hasMore }) => hasMore && failure === undefined),
  };
}

/** By the clocks of those who made the changes; within a partition-set the GCN decides. */
function byTime(a: HistoryRecord, b: HistoryRecord): number {
  if (a.partitionSet === b.partitionSet && a.to !== b.to) return a.to - b.to;
  return a.at < b.at ? -1 : a.at > b.at ? 1 : a.from - b.from;
}

/** The same write may have been undone in several regions. */
export interface Lost {
  readonly id: string;
  readonly copies: readonly LostWriteAt[];
}

export interface LostWrites {
  /** In the order of the cluster's partition-sets, then of their logs. */
  readonly lost: readonly Lost[];
  readonly hasMore: boolean;
  /** Nodes that did not tell what they keep, or not all. */
  readonly silent: readonly Complaint[];
}

export interface LostWriteQuery {
  readonly names?: readonly string[];
  readonly isOpen: boolean;
  readonly limit?: number;
}

export async function readLostWrites(
  cluster: OperatedCluster,
  { names, isOpen, limit = Infinity }: LostWriteQuery,
): Promise<LostWrites> {
  const only = onlyOf<{ readonly partitionSet: string }>(names);
  const reading = cluster.read(names, {
    path: '/v1/lost-writes',
    query: isOpen ? { open: '1' } : {},
    cursor: 'after',
    limit,
    shape: lostWritesAnswer,
    count: ({ lostWrites }) => only(lostWrites).length,
  });
  const [read, places] = await Promise.all([reading, cluster.places()]);
  const copies = copiesIn(read).filter((one) => only([one]).length > 0);
  const lost = together(places, copies);
  return {
    lost: lost.slice(0, limit),
    hasMore: lost.length > limit || read.some(({ failure, hasMore }) => hasMore && failure === undefined),
    silent: silentIn(read),
  };
}

const ID = /^(?<partitionSet>.+)\/(?<epoch>\d{1,15})\/(?<lsn>\d{1,15})$/;

/** Undefined: no node that answers keeps it. */
export async function readLostWrite(cluster: OperatedCluster, id: string): Promise<Lost | undefined> {
  const { partitionSet = '', epoch, lsn = '0' } = ID.exec(id)?.groups ?? {};
  const places = await cluster.places();
  if (!places.all.has(partitionSet) || Number(lsn) === 0) return undefined;
  const read = await cluster.read([partitionSet], {
    path: '/v1/lost-writes',
    cursor: 'after',
    start: `${partitionSet}/${epoch}/${Number(lsn) - 1}`,
    limit: 1,
    shape: lostWritesAnswer,
    count: () => 1,
  });
  return together(places, copiesIn(read)).find((one) => one.id === id);
}

interface LostWritePage extends Page {
  readonly lostWrites: readonly LostWriteRecord[];
}

function copiesIn(read: readonly NodePages<LostWritePage>[]): readonly LostWriteAt[] {
  return read.flatMap(({ node: { name: node, region }, pages }) =>
    pages.flatMap(({ lostWrites }) => lostWrites.map((one) => ({ ...one, node, region }))),
  );
}

function together({ all: sets }: Places, copies: readonly LostWriteAt[]): readonly Lost[] {
  const all = new Map<string, LostWriteAt[]>();
  for (const one of copies) {
    const id = `${one.partitionSet}/${one.epoch}/${one.lsn}`;
    const known = all.get(id);
    if (known === undefined) all.set(id, [one]);
    else known.push(one);
  }
  const places = new Map([...sets.keys()].map((name, at) => [name, at]));
  const placeOf = ({ copies: [first] }: Lost): number => places.get(first!.partitionSet) ?? places.size;
  return [...all]
    .map(([id, some]): Lost => ({ id, copies: some }))
    .sort(
      (a, b) =>
        placeOf(a) - placeOf(b) ||
        a.copies[0]!.epoch - b.copies[0]!.epoch ||
        a.copies[0]!.lsn - b.copies[0]!.lsn,
    );
}

function silentIn(read: readonly NodePages<Page>[]): readonly Complaint[] {
  return read.flatMap(({ node: { name }, failure }) => (failure === undefined ? [] : [{ name, ...failure }]));
}

function onlyOf<T extends { readonly partitionSet: string }>(
  names: readonly string[] | undefined,
): (all: readonly T[]) => readonly T[] {
  if (names === undefined) return (all) => all;
  const wanted = new Set(names);
  return (all) => all.filter(({ partitionSet }) => wanted.has(partitionSet));
}
