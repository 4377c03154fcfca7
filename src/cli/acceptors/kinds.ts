/**
 * The kinds of acceptors there are, for those who choose one: what *one* acceptor is, where its documents lie, what the library
 * looks at by itself when it connects, what it cannot see and its owner must see to, and how it is paid for.
 */
import type { Place } from './place.ts';

export interface Kind {
  readonly name: string;
  readonly where: (place: Place) => string;
  /** Looked at on every connection, and every few seconds; a store that falls short is refused. */
  readonly verified: readonly string[];
  /** What nobody but its owner can see to. */
  readonly seeTo: readonly string[];
  /** True of every acceptor of this kind. */
  readonly warnings: readonly string[];
  /** What the store's own bill counts when a batch is written. */
  readonly bills: 'nothing' | 'batches' | 'documents';
}

const SERVICE: Kind = {
  name: 'acceptor service',
  where: () => 'the directory that `baton acceptor --data` names',
  verified: [
    'it is an acceptor service, of a version that this one understands',
    'its identity, and that its memory does not go back',
  ],
  seeTo: ['a disk that keeps what it was told to sync', 'never restore its directory from a backup'],
  warnings: [],
  bills: 'nothing',
};

export const KINDS: Readonly<Record<string, Kind>> = {
  http: SERVICE,
  https: SERVICE,
  lmdb: {
    name: 'LMDB file',
    where: ({ path }) => `the directory ${path[0] ?? ''}`,
    verified: [],
    seeTo: ['a local disk: no network file system', 'never restore it from a backup'],
    warnings: ['only processes of this machine can use it'],
    bills: 'nothing',
  },
  memory: {
    name: 'memory',
    where: () => "this process' memory",
    verified: [],
    seeTo: [],
    warnings: ['it is not durable: it forgets everything when its process ends, and is for tests alone'],
    bills: 'nothing',
  },
  postgres: {
    name: 'PostgreSQL',
    where: (place) => `the table ${tableOf(place)} of the database ${place.path[0] ?? '(the default)'}`,
    verified: [
      'fsync and full_page_writes are on, zero_damaged_pages is off; every write asks for synchronous_commit itself',
      'its table is logged',
      'it is no standby',
    ],
    seeTo: [
      'no automatic failover to an asynchronous replica: a promoted one has forgotten promises',
      'never restore its table from a dump',
    ],
    warnings: [],
    bills: 'nothing',
  },
  redis: {
    name: 'Redis',
    where: (place) => `the key {${prefixOf(place)}}:documents of database ${place.path[0] ?? '0'}`,
    verified: [
      'Redis 7 or newer, or Valkey',
      'appendonly yes, appendfsync always (with every answer, too)',
      'no eviction (maxmemory-policy noeviction)',
      'it is no replica',
    ],
    seeTo: [
      'a server of its own, reached by its own name: no Sentinel, no replica that is promoted',
      'never restore its append-only file from a backup',
    ],
    warnings: [],
    bills: 'nothing',
  },
  etcd: {
    name: 'etcd',
    where: (place) => `keys that begin with ${place.options.get('prefix') ?? 'baton/'}`,
    verified: [
      'as far as its /metrics tell: no version that loses what it answered, and that it syncs its log (no --unsafe-no-fsync)',
    ],
    seeTo: [
      'auto-compaction, for every write keeps the one before: --auto-compaction-mode=periodic --auto-compaction-retention=1h',
      'defragmentation now and then, and --quota-backend-bytes with room to spare',
      'never `etcdctl snapshot restore` under the same address',
    ],
    warnings: [],
    bills: 'nothing',
  },
  'azure-blob': {
    name: 'Azure Blob Storage',
    where: (place) => `blobs of the container ${place.path.at(-1) ?? 'baton'}`,
    verified: [],
    seeTo: [
      'locally or zone-redundant storage (LRS, ZRS); never fail a geo-redundant account (GRS) over to its copy',
      'no lifecycle rule, and no point-in-time restore, on the container',
      'soft delete and versioning off: every write would keep the one before',
    ],
    warnings: [],
    bills: 'documents',
  },
  dynamodb: {
    name: 'Amazon DynamoDB',
    where: (place) => `the table ${place.path[0] ?? 'baton'} in ${place.hosts[0] ?? 'its region'}`,
    verified: ['the table has the keys that are needed, and is no global table'],
    seeTo: [
      'no time-to-live on the table; never restore it under the same name',
      'on-demand capacity, or enough of it: a throttled write is a failed one',
    ],
    warnings: [],
    bills: 'documents',
  },
  cosmos: {
    name: 'Azure Cosmos DB',
    where: (place) => `the container ${place.path.join('/') || 'baton'}`,
    verified: [
      "the account's consistency is Strong, and it is written in one region",
      'the container has the partition key that is needed, and nothing in it expires',
    ],
    seeTo: [
      'an account of a single region: one acceptor, with no failover of its own',
      'never restore the container under the same name',
    ],
    warnings: [],
    bills: 'documents',
  },
};

export function tableOf({ options }: Place): string {
  return options.get('table') ?? 'baton';
}

export function prefixOf({ options }: Place): string {
  return options.get('prefix') ?? 'baton';
}
