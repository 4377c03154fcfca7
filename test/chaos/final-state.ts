/**
 * What is left when all is healed. First from outside: every region is asked for all documents until all give the same, and what
 * each tells then is on record as reads; every node lists its lost writes. Then all processes are killed at once, and
 * the copies are read from the disks: documents and logs.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { NODE_HOST } from 'baton/caspaxos';
import type { CopyRecord, LogRow, Position, UndoneWrite } from 'baton/check';
import { decodeScanAnswer, encodeScan, METHODS } from 'baton/client';
import { type Entry, nodeJson, NodeStore, type PartitionStore, type Version } from 'baton/engine';
import { type PartitionSetPlace, partitionSetsOf, type PlacedNode } from 'baton/server';
import { type Connection, dial } from 'baton/transport';
import type { Ground } from './ground.ts';
import { plain, type Recorder } from './record.ts';

const SCAN_MS = 10_000;
const LOOK_MS = 200;
const MOST_DOCUMENTS = 1000;
const MOST_BYTES = 4 * 1024 * 1024;

export interface Copy extends CopyRecord {
  readonly base: number;
  readonly rows: readonly LogRow[];
}

export interface FinalSet {
  readonly undone: readonly UndoneWrite[];
  readonly copies: readonly Copy[];
  /** Of the copy that reaches back furthest. */
  readonly log: readonly LogRow[];
}

export type Documents = ReadonlyMap<string, readonly string[]>;

interface Scanned {
  readonly region: string;
  readonly start: number;
  readonly end: number;
  readonly position: Position;
  readonly versions: readonly Version[];
}

/** Until all regions tell the same of every partition-set; undefined, or which one they do not agree on. */
export async function converge(
  ground: Ground,
  recorder: Recorder,
  documents: Documents,
  withinMs: number,
): Promise<string | undefined> {
  const until = performance.now() + withinMs;
  const links = new Map<string, Connection>();
  try {
    for (const [partitionSet, ids] of documents) {
      for (;;) {
        const scans = await scanAll(ground, links, partitionSet).catch((error: unknown) => String(error));
        const differing = typeof scans === 'string' ? scans : difference(scans);
        if (typeof scans !== 'string' && differing === undefined) {
          for (const scanned of scans) recordScan(recorder, partitionSet, ids, scanned);
          break;
        }
        if (performance.now() > until) return `${partitionSet}: ${differing}`;
        await sleep(LOOK_MS);
      }
    }
    return undefined;
  } finally {
    for (const link of links.values()) link.destroy();
  }
}

async function scanAll(
  ground: Ground,
  links: Map<string, Connection>,
  partitionSet: string,
): Promise<readonly Scanned[]> {
  const place = partitionSetsOf(ground.cluster.config).find(({ name }) => name === partitionSet)!;
  return Promise.all(ground.nodes.map(async (node) => scan(await linkTo(ground, links, node), node, place)));
}

async function linkTo(ground: Ground, links: Map<string, Connection>, node: PlacedNode): Promise<Connection> {
  const known = links.get(node.name);
  if (known !== undefined) return known;
  const link = await dial({
    host: NODE_HOST,
    address: node.address,
    self: {
      role: 'client',
      cluster: ground.cluster.config.cluster,
      node: 'chaos',
      region: 'client',
      incarnation: 1,
    },
    tls: ground.tls,
    token: ground.cluster.clientToken,
  });
  links.set(node.name, link);
  return link;
}

async function scan(link: Connection, { region }: PlacedNode, place: PartitionSetPlace): Promise<Scanned> {
  const { name: partitionSet, from, to } = place;
  const start = performance.now();
  const payload = encodeScan({
    partitionSet,
    timeoutMs: SCAN_MS,
    from,
    to,
    level: 'Eventual',
    limit: MOST_DOCUMENTS,
    maxBytes: MOST_BYTES,
  });
  const answer = decodeScanAnswer(await link.call(METHODS.scan, payload, { timeoutMs: SCAN_MS }));
  if (answer.outcome !== 'done') throw new Error(`${region} refuses a scan: ${answer.code}`);
  const { versions, position } = answer;
  return { region, start, end: performance.now(), position: plain(position), versions };
}

function difference(scans: readonly Scanned[]): string | undefined {
  const told = scans.map(({ region, position, versions }) => {
    const documents = versions.map(
      (version) => `${version.id}@${version.epoch}:${version.lsn}=${valueOf(version)}`,
    );
    return { region, text: `${position.lsn} ${documents.join(' ')}` };
  });
  const other = told.find(({ text }) => text !== told[0]!.text);
  if (other === undefined) return undefined;
  return `${told[0]!.region} tells ${told[0]!.text}, ${other.region} tells ${other.text}`;
}

function recordScan(
  recorder: Recorder,
  partitionSet: string,
  ids: readonly string[],
  scanned: Scanned,
): void {
  const { region, start, end, position, versions } = scanned;
  const batch = recorder.nextId();
  const common = {
    kind: 'read',
    outcome: 'ok',
    level: 'Eventual',
    client: 'auditor',
    session: 'auditor',
    region,
    start,
    end,
    snapshot: position,
    batch,
  } as const;
  const found = new Map(versions.map((version) => [version.id, version]));
  for (const id of ids) {
    const version = found.get(id);
    found.delete(id);
    const value = version && valueOf(version);
    recorder.read(partitionSet, { ...common, key: id, value, version: version && plain(version) });
  }
  for (const id of found.keys())
    recorder.wrong(`${region} has a document ${id} in ${partitionSet} that nobody wrote.`);
}

/** As the nodes list them to operators. */
export async function lostWrites(ground: Ground): Promise<ReadonlyMap<string, readonly UndoneWrite[]>> {
  const lists = new Map<string, UndoneWrite[]>();
  for (const partitionSet of ground.partitionSets) {
    const rows = lists.get(partitionSet) ?? [];
    lists.set(partitionSet, rows);
    for (const node of ground.nodes) {
      for (const { epoch, lsn, closed, documents } of await ground.lostWrites(node, partitionSet)) {
        const common = { epoch, lsn, region: node.region, closed: closed !== undefined };
        if (documents.length === 0) rows.push(common);
        for (const { id, body } of documents) rows.push({ ...common, key: id, value: body?.value });
      }
    }
  }
  return lists;
}

/** From the disks; nobody may have them open. By partition-set. */
export async function readCopies(ground: Ground): Promise<ReadonlyMap<string, readonly Copy[]>> {
  const copies = new Map<string, Copy[]>(ground.partitionSets.map((name) => [name, []]));
  const places = partitionSetsOf(ground.cluster.config);
  for (const { data, region } of ground.nodes) {
    const store = await NodeStore.open({ directory: data });
    try {
      for (const place of places)
        copies.get(place.name)!.push(copyIn(region, store.partition(place.name), place));
    } finally {
      await store.abandon();
    }
  }
  return copies;
}

function copyIn(region: string, store: PartitionStore, { from, to }: PartitionSetPlace): Copy {
  const entries = store.entriesAfter(store.base - 1, Infinity);
  const documents = store
    .scan({ from, to, limit: Infinity })
    .map((version) => [version.id, { ...plain(version), value: valueOf(version)! }] as const);
  return {
    region,
    base: store.base,
    log: entries.map(plain),
    rows: entries.flatMap(rowsOf),
    documents: new Map(documents),
  };
}

export function finalSetOf(copies: readonly Copy[], undone: readonly UndoneWrite[]): FinalSet {
  const [best] = copies.toSorted((a, b) => a.base - b.base || b.log.length - a.log.length);
  return { undone, copies, log: best?.rows ?? [] };
}

function rowsOf({ epoch, lsn, operation, changes }: Entry): readonly LogRow[] {
  if (changes.length === 0) return [{ epoch, lsn }];
  return changes.map((change) => ({ epoch, lsn, key: change.id, value: valueOf(change), operation }));
}

function valueOf({ body }: Pick<Version, 'body'>): string | undefined {
  return body === undefined ? undefined : (nodeJson.parse(body) as { readonly value: string }).value;
}
