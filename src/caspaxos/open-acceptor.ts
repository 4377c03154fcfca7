/** From an acceptor's URL to the acceptor: the schemes that are built in, in one table. */
import type { Acceptor } from './acceptors.ts';
import { CasPaxosError } from './errors.ts';
import { ServiceAcceptor, type ServiceClientOptions } from './service/client.ts';
import { LmdbStore } from './stores/lmdb.ts';
import { MemoryStore } from './stores/memory.ts';
import { StoreAcceptor } from './stores/store-acceptor.ts';

type Opener = (url: string, options: ServiceClientOptions) => Acceptor;

const SCHEMES: Readonly<Record<string, Opener>> = {
  'memory:': (url) => new StoreAcceptor(new MemoryStore(pathOf(url, 'memory:NAME'))),
  'lmdb:': (url) => new StoreAcceptor(new LmdbStore(pathOf(url, 'lmdb:PATH'))),
  'http:': openService,
  'https:': openService,
};

export function openAcceptor(url: string, options: ServiceClientOptions): Acceptor {
  return openerOf(url)(url, options);
}

/** The URL without credentials, as configurations and logs show it. Throws on one that cannot be opened. */
export function printableUrl(url: string): string {
  return openerOf(url) === openService ? parseUrl(url).origin : url;
}

function openerOf(url: string): Opener {
  const scheme = /^[a-z][a-z0-9+.-]*:/.exec(url)?.[0];
  if (scheme === undefined) {
    throw new CasPaxosError('URL_INVALID', `"${url}" is not an acceptor URL, such as http://127.0.0.1:7400.`);
  }
  const opener = SCHEMES[scheme];
  if (opener !== undefined) return opener;
  const known = Object.keys(SCHEMES).join(' ');
  throw new CasPaxosError(
    'SCHEME_UNKNOWN',
    `There is no acceptor store for ${scheme} URLs; there are ${known}.`,
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
