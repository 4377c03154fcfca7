/** How databases, containers, ranges and offers look to clients, with the properties that the system adds. */
import { formatRid } from '../../engine/index.ts';
import {
  type Catalog,
  type ContainerEntry,
  type DatabaseEntry,
  databaseOf,
  placesOf,
  ridOf,
} from '../catalog/index.ts';

export function etagOf({ version }: { readonly version: number }): string {
  return `"${version.toString(16).padStart(8, '0')}"`;
}

/** The version that an `If-Match` asks for; undefined: any. What is no etag of ours matches nothing. */
export function versionIn(ifMatch: string | undefined): number | undefined {
  if (ifMatch === undefined || ifMatch.trim() === '*') return undefined;
  const digits = /^(?:W\/)?"?([\da-f]{1,13})"?$/i.exec(ifMatch.trim())?.[1];
  return digits === undefined ? -1 : Number.parseInt(digits, 16);
}

function secondsOf(ms: number): number {
  return Math.floor(ms / 1000);
}

export function databaseView(database: DatabaseEntry): object {
  const rid = ridOf(database);
  return {
    id: database.id,
    _rid: rid,
    _self: `dbs/${rid}/`,
    _etag: etagOf(database),
    _colls: 'colls/',
    _users: 'users/',
    _ts: secondsOf(database.at),
  };
}

export function containerSelf(database: DatabaseEntry, container: ContainerEntry): string {
  return `dbs/${ridOf(database)}/colls/${ridOf(database, container)}/`;
}

const INDEXED_ALL = {
  indexingMode: 'consistent',
  automatic: true,
  includedPaths: [{ path: '/*' }],
  excludedPaths: [{ path: '/"_etag"/?' }],
};

export function containerView(database: DatabaseEntry, container: ContainerEntry): object {
  const { id, partitionKey, defaultTtl, extra, at } = container;
  return {
    id,
    indexingPolicy: INDEXED_ALL,
    ...extra,
    partitionKey: { paths: partitionKey, kind: partitionKey.length > 1 ? 'MultiHash' : 'Hash', version: 2 },
    ...(defaultTtl !== undefined && { defaultTtl }),
    _rid: ridOf(database, container),
    _ts: secondsOf(at),
    _self: containerSelf(database, container),
    _etag: etagOf(container),
    _docs: 'docs/',
    _sprocs: 'sprocs/',
    _triggers: 'triggers/',
    _udfs: 'udfs/',
    _conflicts: 'conflicts/',
  };
}

/** Ranges of a container are as they were made, for ever. */
export function rangesEtagOf({ firstRange, partitionSets }: ContainerEntry): string {
  return `"${firstRange}-${partitionSets}"`;
}

export function rangeViews(catalog: Catalog, container: ContainerEntry): readonly object[] {
  const database = databaseOf(catalog, container);
  const own = placesOf({ ...catalog, containers: [container] }, 1);
  return own.map(({ rangeId, from, to }, index) => {
    const rid = rangeRid(database, container, index);
    return {
      _rid: rid,
      id: rangeId,
      _etag: rangesEtagOf(container),
      minInclusive: from,
      maxExclusive: to,
      ridPrefix: index,
      _self: `${containerSelf(database, container)}pkranges/${rid}/`,
      throughputFraction: 1 / own.length,
      status: 'online',
      parents: [],
      _ts: secondsOf(container.at),
    };
  });
}

/** Like an item's, with the mark of a range in its last four bits. */
function rangeRid(database: DatabaseEntry, container: ContainerEntry, index: number): string {
  const bytes = new Uint8Array(16);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, database.number);
  view.setUint32(4, (container.number | 0x8000_0000) >>> 0);
  view.setUint32(8, index + 2, true);
  view.setUint8(15, 0x50);
  return formatRid(bytes);
}

export function offerIdOf({ number }: ContainerEntry): string {
  const bytes = new Uint8Array(4);
  new DataView(bytes.buffer).setUint32(0, number);
  return formatRid(bytes);
}

export function offerView(catalog: Catalog, container: ContainerEntry): object {
  const database = databaseOf(catalog, container);
  const id = offerIdOf(container);
  return {
    resource: containerSelf(database, container),
    offerType: 'Invalid',
    offerVersion: 'V2',
    offerResourceId: ridOf(database, container),
    content: { offerThroughput: container.throughput, offerIsRUPerMinuteThroughputEnabled: false },
    id,
    _rid: id,
    _self: `offers/${id}/`,
    _etag: etagOf(container),
    _ts: secondsOf(container.at),
  };
}
