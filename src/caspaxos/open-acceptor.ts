/** From an acceptor's URL to the acceptor: the schemes that are built in, in one table. */
import type { Acceptor } from './acceptors.ts';
import { CasPaxosError } from './errors.ts';
import { ServiceAcceptor, type ServiceClientOptions } from './service/client.ts';
import { AZURE_BLOB_FORM, AzureBlobStore } from './stores/azure-blob.ts';
import { COSMOS_FORM, CosmosStore } from './stores/cosmos.ts';
import { DYNAMODB_FORM, DynamoDbStore } from './stores/dynamodb.ts';
import { ETCD_FORM, EtcdStore } from './stores/etcd.ts';
import { LmdbStore } from './stores/lmdb.ts';
import { MemoryStore } from './stores/memory.ts';
import { POSTGRES_FORM, PostgresStore } from './stores/postgres.ts';
import { REDIS_FORM, RedisStore } from './stores/redis.ts';
import { StoreAcceptor } from './stores/store-acceptor.ts';
import type { AcceptorStore, StoreOptions } from './stores/store.ts';
import { StoreUrl, type StoreUrlForm } from './stores/store-url.ts';

interface Scheme {
  open(url: string, options: ServiceClientOptions): Acceptor;
  /** The URL without credentials. Throws on one that cannot be opened. */
  place(url: string): string;
}

const service: Scheme = { open: openService, place: (url) => parseUrl(url).origin };

const SCHEMES: Readonly<Record<string, Scheme>> = {
  'memory:': local('memory:NAME', (name) => new MemoryStore(name)),
  'lmdb:': local('lmdb:PATH', (path) => new LmdbStore(path)),
  'http:': service,
  'https:': service,
  'postgres:': remote(POSTGRES_FORM, PostgresStore),
  'redis:': remote(REDIS_FORM, RedisStore),
  'etcd:': remote(ETCD_FORM, EtcdStore),
  'azure-blob:': remote(AZURE_BLOB_FORM, AzureBlobStore),
  'dynamodb:': remote(DYNAMODB_FORM, DynamoDbStore),
  'cosmos:': remote(COSMOS_FORM, CosmosStore),
};

export function openAcceptor(url: string, options: ServiceClientOptions): Acceptor {
  return schemeOf(url).open(url, options);
}

/** The URL without credentials, as configurations and logs show it. Throws on one that cannot be opened. */
export function printableUrl(url: string): string {
  return schemeOf(url).place(url);
}

function local(form: string, open: (path: string) => AcceptorStore): Scheme {
  return {
    open: (url) => new StoreAcceptor(open(pathOf(url, form))),
    place: (url) => url,
  };
}

/**
 * Other people's servers. The client of each is loaded when it is first used. Whom to trust for them their URL says, or the
 * system: the cluster's own authority signs nobody else's certificates.
 */
function remote(
  form: StoreUrlForm,
  Store: new (url: string, options: StoreOptions) => AcceptorStore,
): Scheme {
  return {
    open: (url, { timeoutMs }) => new StoreAcceptor(new Store(url, { timeoutMs })),
    place: (url) => new StoreUrl(url, form).place,
  };
}

function schemeOf(url: string): Scheme {
  const scheme = /^[a-z][a-z0-9+.-]*:/.exec(url)?.[0];
  if (scheme === undefined) {
    const shown = url.includes('@') ? 'This' : `"${url}"`;
    throw new CasPaxosError('URL_INVALID', `${shown} is not an acceptor URL, such as http://127.0.0.1:7400.`);
  }
  const known = SCHEMES[scheme];
  if (known !== undefined) return known;
  const all = Object.keys(SCHEMES).join(' ');
  throw new CasPaxosError(
    'SCHEME_UNKNOWN',
    `There is no acceptor store for ${scheme} URLs; there are ${all}.`,
  );
}

function pathOf(url: string, form: string): string {
  const path = url.slice(url.indexOf(':') + 1);
  if (path === '') throw new CasPaxosError('URL_INVALID', `"${url}" needs the form ${form}.`);
  return path;
}

function parseUrl(url: string): URL {
  try {
    return new URL(url);
  } catch {
    throw new CasPaxosError(
      'URL_INVALID',
      'An acceptor URL with http or https needs the form http://HOST:PORT.',
    );
  }
}

/** The token may stand in the URL as its password; it is taken out before anybody prints it. */
function openService(url: string, options: ServiceClientOptions): Acceptor {
  const target = parseUrl(url);
  const token = target.password === '' ? options.token : decodeURIComponent(target.password);
  return new ServiceAcceptor(target, { ...options, token });
}
