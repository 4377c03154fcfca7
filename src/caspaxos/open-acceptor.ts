/** From an acceptor's URL to the acceptor: the schemes that are built in, in one table. */
import type { Acceptor } from './acceptors.ts';
import { CasPaxosError } from './errors.ts';
import { ServiceAcceptor, type ServiceClientOptions } from './service/client.ts';
import { REMOTE_STORES } from './stores/forms.ts';
import { LmdbStore } from './stores/lmdb.ts';
import { MemoryStore } from './stores/memory.ts';
import { StoreAcceptor } from './stores/store-acceptor.ts';
import type { AcceptorStore, StoreOptions } from './stores/store.ts';
import { StoreUrl } from './stores/store-url.ts';

interface Scheme {
  /** Absent: it is an acceptor service, which runs the role itself. */
  readonly open?: (url: string, options: StoreOptions) => AcceptorStore;
  /** The URL without credentials. Throws on one that cannot be opened. */
  readonly place: (url: string) => string;
}

const service: Scheme = { place: (url) => parseUrl(url).origin };

const SCHEMES: Readonly<Record<string, Scheme>> = {
  'memory:': local('memory:NAME', (name) => new MemoryStore(name)),
  'lmdb:': local('lmdb:PATH', (path) => new LmdbStore(path)),
  'http:': service,
  'https:': service,
  ...Object.fromEntries(
    REMOTE_STORES.map(({ form, Store }): [string, Scheme] => [
      `${form.scheme}:`,
      {
        open: (url, options) => new Store(url, options),
        place: (url) => new StoreUrl(url, form).place,
      },
    ]),
  ),
};

/**
 * Whom to trust for a store its URL says, or the system: `options.ca`, a cluster's own authority, signs nobody else's
 * certificates.
 */
export function openAcceptor(url: string, options: ServiceClientOptions): Acceptor {
  const store = openStore(url, { timeoutMs: options.timeoutMs });
  return store === undefined ? openService(url, options) : new StoreAcceptor(store);
}

/** The bare store, for whoever measures or examines it. Undefined: behind the URL is an acceptor service. */
export function openStore(url: string, options: StoreOptions): AcceptorStore | undefined {
  return schemeOf(url).open?.(url, options);
}

export function isService(url: string): boolean {
  return schemeOf(url).open === undefined;
}

/** The URL without credentials, as configurations and logs show it. Throws on one that cannot be opened. */
export function printableUrl(url: string): string {
  return schemeOf(url).place(url);
}

function local(form: string, open: (path: string) => AcceptorStore): Scheme {
  return {
    open: (url) => open(pathOf(url, form)),
    place: (url) => url,
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
