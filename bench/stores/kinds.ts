/** The stores that can be measured, by the scheme of their URLs: who is behind it, and what to know about the figures. */
import {
  type AcceptorStore,
  AzureBlobStore,
  CosmosStore,
  DynamoDbStore,
  EtcdStore,
  LmdbStore,
  MemoryStore,
  PostgresStore,
  RedisStore,
  type StoreOptions,
} from 'baton/caspaxos';
import { findProgram } from '../../test/support/programs.ts';
import {
  type Place,
  startAzurite,
  startDynalite,
  startEtcd,
  startNothing,
  startPostgres,
  startRedis,
  startService,
} from './servers.ts';

export interface StoreKind {
  /** For the legend. */
  readonly about: string;
  /** Of `scripts/programs.mjs`. */
  readonly program?: string;
  start(): Promise<Place>;
  /** Undefined: the acceptor is no store but a service. */
  readonly open?: (url: string, options: StoreOptions) => AcceptorStore;
}

export const KINDS: Readonly<Record<string, StoreKind>> = {
  memory: {
    about: 'a map in this process: what the library costs by itself. Not durable',
    start: () => startNothing('memory'),
    open: (url) => new MemoryStore(pathOf(url)),
  },
  lmdb: {
    about: 'in this process; a request is a transaction with one sync',
    start: () => startNothing('lmdb'),
    open: (url) => new LmdbStore(pathOf(url)),
  },
  http: {
    about: "Baton's acceptor service: one sync for each batch",
    start: startService,
  },
  postgres: {
    about: 'synchronous commits; otherwise as initdb sets it',
    program: 'postgres',
    start: startPostgres,
    open: (url, options) => new PostgresStore(url, options),
  },
  redis: {
    about: 'appendfsync always',
    program: 'redis-server',
    start: startRedis,
    open: (url, options) => new RedisStore(url, options),
  },
  etcd: {
    about: 'one member, over its JSON gateway',
    program: 'etcd',
    start: startEtcd,
    open: (url, options) => new EtcdStore(url, options),
  },
  'azure-blob': {
    about: 'Azurite, an emulator that does not sync: its requests are those of the service, its speed is not',
    program: 'azurite',
    start: startAzurite,
    open: (url, options) => new AzureBlobStore(url, options),
  },
  dynamodb: {
    about:
      'dynalite, an emulator that does not sync: its requests are those of the service, its speed is not',
    program: 'dynalite',
    start: startDynalite,
    open: (url, options) => new DynamoDbStore(url, options),
  },
  cosmos: {
    about: "Baton's own gateway and an account of one region at Strong, three processes",
    start: async () => (await import('./gateway.ts')).startGateway(),
    open: (url, options) => new CosmosStore(url, options),
  },
};

/** What is lacking here to start it. */
export function lacks({ program }: StoreKind): string | undefined {
  if (program === undefined) return undefined;
  const found = findProgram(program);
  return found.path === undefined ? `${program}: ${found.why}. ${found.how}` : undefined;
}

function pathOf(url: string): string {
  return url.slice(url.indexOf(':') + 1);
}
