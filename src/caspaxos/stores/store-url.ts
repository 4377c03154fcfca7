/**
 * The URLs of stores: `scheme://user:password@host:port,host:port/path?option=value`.
 *
 * Everything but the credentials and the names of local files is the store's *place*, which members of a set tell each other;
 * its spelling is normalised, because a place is compared. Credentials are held here and nowhere else, and no error quotes
 * a URL that has any.
 */
import { readFileSync } from 'node:fs';
import type { ConnectionOptions } from 'node:tls';
import { asCasPaxosError, CasPaxosError } from '../errors.ts';

export interface StoreUrlForm {
  /** Without its colon. */
  readonly scheme: string;
  /** As an error shows it: `postgres://USER:PASSWORD@HOST:PORT/DATABASE?table=NAME`. */
  readonly form: string;
  /** For hosts without a port; undefined: hosts have none. */
  readonly defaultPort?: number;
  readonly severalHosts?: boolean;
  /** Options that say where the documents are, beside `tls`. */
  readonly options: readonly string[];
}

export interface StoreHost {
  readonly host: string;
  readonly port: number;
}

/** Options that name files of this machine: no part of the place. */
export const LOCAL_OPTIONS: readonly string[] = ['ca', 'cert', 'key'];

export class StoreUrl {
  /** The place: never holds credentials. */
  readonly place: string;
  readonly hosts: readonly StoreHost[];
  /** Decoded segments. */
  readonly path: readonly string[];
  readonly user: string | undefined;
  readonly #password: string | undefined;
  readonly #options: ReadonlyMap<string, string>;

  constructor(text: string, form: StoreUrlForm) {
    const parts = /^([a-z][a-z0-9+.-]*):\/\/(?:([^/?#@]*)@)?([^/?#@]*)((?:\/[^?#@]*)?)(?:\?([^#@]*))?$/s.exec(
      text,
    );
    // It may be the end of a password with a slash in it: nothing before it may be taken for a host.
    if (/^[^/]*:\/\/[^/?#]*[/?#].*@/s.test(text))
      throw new CasPaxosError(
        'URL_INVALID',
        'The URL has an @ after its host; write it as %40, and a / before it as %2F.',
      );
    if (parts === null || parts[1] !== form.scheme) throw invalid(form);
    const [, , credentials, hosts = '', path = '', query = ''] = parts;
    const colon = credentials?.indexOf(':') ?? -1;
    const user = colon === -1 ? credentials : credentials!.slice(0, colon);
    this.user = user === undefined || user === '' ? undefined : decode(user, form);
    this.#password = colon === -1 ? undefined : decode(credentials!.slice(colon + 1), form);
    this.hosts = hosts.split(',').map((host) => readHost(host, form));
    if (this.hosts.length > 1 && form.severalHosts !== true) throw invalid(form);
    this.path = path
      .split('/')
      .slice(1)
      .filter((segment) => segment !== '')
      .map((segment) => decode(segment, form));
    this.#options = readOptions(query, form);
    this.place = this.#placeOf(form);
  }

  /** The password: for the store's client only. */
  get password(): string | undefined {
    return this.#password;
  }

  option(name: string): string | undefined {
    return this.#options.get(name);
  }

  /**
   * How to secure the connection; undefined: not at all. Plain connections are for this machine, and for those who ask for
   * them with `tls=off`.
   */
  get tls(): ConnectionOptions | undefined {
    if (!this.isSecure) return undefined;
    const file = (name: string): string | undefined => {
      const path = this.#options.get(name);
      return path === undefined ? undefined : readLocal(this.place, name, path);
    };
    const [ca, cert, key] = LOCAL_OPTIONS.map(file);
    return { ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) };
  }

  get isSecure(): boolean {
    const tls = this.#options.get('tls');
    return tls === undefined ? !this.hosts.every(({ host }) => isLoopback(host)) : tls === 'on';
  }

  toJSON(): string {
    return this.place;
  }

  #placeOf(form: StoreUrlForm): string {
    const hosts = this.hosts.map(({ host, port }) =>
      form.defaultPort === undefined ? host : `${host.includes(':') ? `[${host}]` : host}:${port}`,
    );
    const path = this.path.map((segment) => `/${encodeURIComponent(segment)}`).join('');
    const named = [...form.options, 'tls'].flatMap((name) => {
      const value = this.#options.get(name);
      return value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`];
    });
    return `${form.scheme}://${hosts.join(',')}${path}${named.length === 0 ? '' : `?${named.join('&')}`}`;
  }
}

function readHost(text: string, form: StoreUrlForm): StoreHost {
  const [, ipv6, name, port] = /^(?:\[([0-9a-fA-F:.]+)\]|([A-Za-z0-9._-]+))(?::(\d{1,5}))?$/.exec(text) ?? [];
  const host = (ipv6 ?? name)?.toLowerCase();
  if (host === undefined || (port !== undefined && form.defaultPort === undefined)) throw invalid(form);
  const number = port === undefined ? (form.defaultPort ?? 0) : Number(port);
  if (number > 65_535 || (port !== undefined && number === 0)) throw invalid(form);
  return { host, port: number };
}

function readOptions(query: string, form: StoreUrlForm): ReadonlyMap<string, string> {
  const known = [...form.options, 'tls', ...LOCAL_OPTIONS];
  const options = new Map<string, string>();
  for (const pair of query.split('&').filter((text) => text !== '')) {
    const equals = pair.indexOf('=');
    const name = equals === -1 ? pair : pair.slice(0, equals);
    const value = equals === -1 ? '' : decode(pair.slice(equals + 1), form);
    if (!known.includes(name) || options.has(name) || value === '') {
      const message = `A ${form.scheme} URL has each option at most once, with a value; the options are ${known.join(', ')}.`;
      throw new CasPaxosError('URL_INVALID', message);
    }
    options.set(name, value);
  }
  if (!['on', 'off', undefined].includes(options.get('tls')))
    throw new CasPaxosError('URL_INVALID', `In a ${form.scheme} URL, tls is on or off.`);
  if (options.get('tls') === 'off' && LOCAL_OPTIONS.some((name) => options.has(name)))
    throw new CasPaxosError('URL_INVALID', `In a ${form.scheme} URL, certificates do not go with tls=off.`);
  return options;
}

function readLocal(place: string, what: string, path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw asCasPaxosError(error, 'URL_INVALID', `The ${what} file of ${place} cannot be read`);
  }
}

export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(?:\.\d{1,3}){3}$/.test(host);
}

function decode(text: string, form: StoreUrlForm): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw invalid(form);
  }
}

function invalid({ scheme, form }: StoreUrlForm): CasPaxosError {
  return new CasPaxosError('URL_INVALID', `An acceptor URL with ${scheme} needs the form ${form}.`);
}
