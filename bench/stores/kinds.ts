/** The stores that can be measured, by the scheme of their URLs: who is behind it, and what to know about the figures. */
import { type Lack, lackOf } from '../support/programs.ts';
import { postgresIdentity } from '../support/servers.ts';
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
}

export const KINDS = {
  memory: {
    about: 'a map in this process: what the library costs by itself. Not durable',
    start: () => startNothing('memory'),
  },
  lmdb: {
    about: 'in this process; a request is a transaction with one sync',
    start: () => startNothing('lmdb'),
  },
  http: {
    about: "Baton's acceptor service: one sync for each batch",
    start: startService,
  },
  postgres: {
    about: 'synchronous commits; otherwise as initdb sets it',
    program: 'postgres',
    start: startPostgres,
  },
  redis: {
    about: 'appendfsync always',
    program: 'redis-server',
    start: startRedis,
  },
  etcd: {
    about: 'one member, over its JSON gateway',
    program: 'etcd',
    start: startEtcd,
  },
  'azure-blob': {
    about: 'Azurite, an emulator that does not sync: its requests are those of the service, its speed is not',
    program: 'azurite',
    start: startAzurite,
  },
  dynamodb: {
    about:
      'dynalite, an emulator that does not sync: its requests are those of the service, its speed is not',
    program: 'dynalite',
    start: startDynalite,
  },
  cosmos: {
    about: "Baton's own gateway and an account of one region at Strong, three processes",
    start: async () => (await import('./gateway.ts')).startGateway(),
  },
} as const satisfies Readonly<Record<string, StoreKind>>;

export type StoreName = keyof typeof KINDS;

/** What is lacking here to start it. */
export function lackOfStore({ program }: StoreKind): Lack | undefined {
  if (program === undefined) return undefined;
  return lackOf([program], program === 'postgres' ? postgresIdentity() : undefined);
}
