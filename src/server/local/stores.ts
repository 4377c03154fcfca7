/**
 * The acceptors of a local cluster that are stores on servers which somebody else runs. They come as URLs, with or without a
 * password. The cluster file gets everything but the password, which goes into a file that only its owner reads.
 */

import { join, resolve } from 'node:path';
import {
  CasPaxosError,
  readStoreUrl,
  STORE_SCHEMES,
  withLocalFiles,
  withPassword,
} from '../../caspaxos/index.ts';
import type { AcceptorConfig, ClusterConfig } from '../config/cluster-config.ts';
import { Secret } from '../config/secrets.ts';
import { wrongPassword, wrongUrl } from '../config/values.ts';
import { writeWhole } from './directory.ts';
import { LocalClusterError } from './errors.ts';

export interface GivenStore {
  /** Without credentials: which store it is. */
  readonly place: string;
  /** All but the password. */
  readonly url: string;
  readonly password?: Secret;
}

/** Throws OPTIONS_INVALID, and quotes nothing: a URL that cannot be read may be a password in the wrong place. */
export function readStores(urls: readonly string[]): readonly GivenStore[] {
  const stores = urls.map(readStore);
  const places = stores.map(({ place }) => place);
  const repeated = places.find((place, at) => places.indexOf(place) !== at);
  if (repeated !== undefined) throw invalid(`The same store is given twice: ${repeated}.`);
  return stores;
}

function readStore(text: string): GivenStore {
  try {
    const read = readStoreUrl(text);
    if (read === undefined)
      throw invalid(`A store is given as a URL with one of these schemes: ${STORE_SCHEMES.join(', ')}.`);
    const url = withLocalFiles(withPassword(text, undefined), (path) => resolve(path));
    const wrong = wrongUrl(url) ?? (read.password === undefined ? undefined : wrongPassword(read.password));
    if (wrong !== undefined) throw invalid(wrong);
    const { place, password } = read;
    return { place, url, ...(password !== undefined && { password: new Secret(password) }) };
  } catch (error) {
    throw error instanceof CasPaxosError ? invalid(error.message) : error;
  }
}

function invalid(sentence: string): LocalClusterError {
  return new LocalClusterError('OPTIONS_INVALID', sentence);
}

export function storesOf({ acceptors }: ClusterConfig): readonly AcceptorConfig[] {
  return acceptors.filter(({ store }) => store !== undefined);
}

/** The same cluster with these stores in place of the ones it has: the same ones, perhaps with another user or password. */
export function withStores(
  config: ClusterConfig,
  given: readonly GivenStore[],
  directory: string,
): ClusterConfig {
  const kept = storesOf(config);
  const services = config.acceptors.filter(({ store }) => store === undefined);
  const stores = given.map(({ place, url, password }, index): AcceptorConfig => {
    const known = kept.find((one) => one.url === place);
    const name = known?.name ?? `s${index + 1}`;
    const source = password ? passwordFile(directory, name) : known?.store?.password;
    return { name, url: place, store: { url, ...(source && { password: source }) } };
  });
  return { ...config, acceptors: [...services, ...stores] };
}

function passwordFile(directory: string, name: string) {
  const at = { line: 1, column: 1 };
  return { at, kind: 'file', file: join(directory, `${name}.password`) } as const;
}

/** Writes down the passwords that came with the URLs. */
export async function keepPasswords(config: ClusterConfig, given: readonly GivenStore[]): Promise<void> {
  for (const { place, password } of given) {
    const source = storesOf(config).find(({ url }) => url === place)?.store?.password;
    if (password !== undefined && source?.kind === 'file')
      await writeWhole(source.file, `${password.reveal()}\n`);
  }
}

/** Whoever runs its server can break it; orders of this cluster cannot. */
export function refuseStore(config: ClusterConfig, target: string, action: string): void {
  const store = storesOf(config).find(({ name }) => name === target);
  if (store === undefined) return;
  throw new LocalClusterError(
    'NAME_UNKNOWN',
    `${target} is a store, ${store.url}: its server is not a process of this cluster, so this command cannot ${action} it.`,
  );
}
