/** The parts of an acceptor's URL that are no secret, for those who explain it. Whether it is right is its store's matter. */
import { printableUrl } from '../../caspaxos/index.ts';

export interface Place {
  /** Without credentials. */
  readonly url: string;
  /** Without its colon. */
  readonly scheme: string;
  /** Without ports; empty for what is on this machine by its nature. */
  readonly hosts: readonly string[];
  readonly path: readonly string[];
  readonly options: ReadonlyMap<string, string>;
}

/** Throws a `CasPaxosError` for a URL that cannot be opened. */
export function placeOf(given: string): Place {
  const url = printableUrl(given);
  const scheme = url.slice(0, url.indexOf(':'));
  const parts = /^[^:]+:\/\/([^/?]*)([^?]*)(?:\?(.*))?$/s.exec(url);
  if (parts === null)
    return { url, scheme, hosts: [], path: [url.slice(scheme.length + 1)], options: new Map() };
  const [, hosts = '', path = '', query = ''] = parts;
  return {
    url,
    scheme,
    hosts: hosts.split(',').map((host) => host.replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1')),
    path: path
      .split('/')
      .filter((segment) => segment !== '')
      .map((segment) => decodeURIComponent(segment)),
    options: new Map(new URLSearchParams(query)),
  };
}

export function isLoopbackHost(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(?:\.\d{1,3}){3}$/.test(host);
}

/** What stands between the scheme and the `@`: never to be printed. */
export function secretsIn(given: string): readonly string[] {
  const credentials = /^[^:]+:\/\/([^/?#]*)@/.exec(given)?.[1];
  const password = credentials?.slice(credentials.indexOf(':') + 1);
  if (credentials === undefined || password === undefined || password === '' || !credentials.includes(':'))
    return [];
  const decoded = decodable(password);
  return decoded === password ? [password] : [password, decoded];
}

function decodable(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** A last guard: what a server or a client package says is passed on, and must not tell what it was told. */
export function withoutSecrets(text: string, secrets: readonly string[]): string {
  return secrets.reduce((rest, secret) => rest.replaceAll(secret, '***'), text);
}
