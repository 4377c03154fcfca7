/**
 * The stores on other people's servers, and their URLs for those who only handle them: a configuration reads one before
 * anybody dials it, and keeps its password apart until the store is opened.
 */
import { AZURE_BLOB_FORM, AzureBlobStore } from './azure-blob.ts';
import { COSMOS_FORM, CosmosStore } from './cosmos.ts';
import { DYNAMODB_FORM, DynamoDbStore } from './dynamodb.ts';
import { ETCD_FORM, EtcdStore } from './etcd.ts';
import { POSTGRES_FORM, PostgresStore } from './postgres.ts';
import { REDIS_FORM, RedisStore } from './redis.ts';
import type { AcceptorStore, StoreOptions } from './store.ts';
import { LOCAL_OPTIONS, StoreUrl, type StoreUrlForm } from './store-url.ts';

interface RemoteStore {
  readonly form: StoreUrlForm;
  readonly Store: new (url: string, options: StoreOptions) => AcceptorStore;
}

/** The client of each is loaded when it is first used. */
export const REMOTE_STORES: readonly RemoteStore[] = [
  { form: POSTGRES_FORM, Store: PostgresStore },
  { form: REDIS_FORM, Store: RedisStore },
  { form: ETCD_FORM, Store: EtcdStore },
  { form: AZURE_BLOB_FORM, Store: AzureBlobStore },
  { form: DYNAMODB_FORM, Store: DynamoDbStore },
  { form: COSMOS_FORM, Store: CosmosStore },
];

/** Of them, without their colons. */
export const STORE_SCHEMES: readonly string[] = REMOTE_STORES.map(({ form }) => form.scheme);

/** Undefined: it has none of their schemes. Throws URL_INVALID on one that cannot be opened. */
export function readStoreUrl(url: string): StoreUrl | undefined {
  const scheme = url.slice(0, url.indexOf(':'));
  const store = REMOTE_STORES.find(({ form }) => form.scheme === scheme);
  return store && new StoreUrl(url, store.form);
}

/** The same URL with this password, or with none. Its user stays. */
export function withPassword(url: string, password: string | undefined): string {
  const [, scheme = '', credentials, rest = ''] = /^([^/]*\/\/)(?:([^/?#@]*)@)?(.*)$/s.exec(url) ?? [];
  const user = credentials?.split(':', 1)[0] ?? '';
  const secret = password === undefined ? '' : `:${encodeURIComponent(password)}`;
  return `${scheme}${user}${secret}${user === '' && secret === '' ? '' : '@'}${rest}`;
}

/** The same URL with each of the local files that it names changed: a file means another one in another directory. */
export function withLocalFiles(url: string, change: (path: string) => string): string {
  const question = url.indexOf('?');
  if (question === -1) return url;
  const pairs = url.slice(question + 1).split('&');
  const changed = pairs.map((pair) => {
    const equals = pair.indexOf('=');
    if (equals === -1 || !LOCAL_OPTIONS.includes(pair.slice(0, equals))) return pair;
    const path = change(decodeURIComponent(pair.slice(equals + 1)));
    return `${pair.slice(0, equals)}=${encodeURIComponent(path).replaceAll('%2F', '/')}`;
  });
  return `${url.slice(0, question)}?${changed.join('&')}`;
}
