/** The small texts of a cluster file: names, addresses, URLs, paths of keys. Each reader gives the value or what is wrong with it. */
import { isIP } from 'node:net';
import { CasPaxosError, readStoreUrl, STORE_SCHEMES, type StoreUrl } from '../../caspaxos/index.ts';
import type { Address } from '../../transport/index.ts';
import { quoted } from './problems.ts';

export { formatAddress, isLoopback } from '../../transport/index.ts';

export type Read<T> = { readonly value: T } | { readonly wrong: string };

/** Names become DNS labels and names of files: both allow this, on every system. */
const NAME = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/;
export const LONGEST_NAME = 63;

export function wrongName(text: string): string | undefined {
  if (text.length > LONGEST_NAME) return `${quoted(text)} is longer than ${LONGEST_NAME} characters.`;
  if (NAME.test(text)) return undefined;
  return `${quoted(text)} is not a name; use lower-case letters, digits and hyphens, with a letter or a digit at both ends.`;
}

export function readAddress(text: string): Read<Address> {
  const match = /^(?:\[(?<ipv6>[^\]]*)\]|(?<host>[^:[\]]*))(?::(?<port>[^:]*))?$/s.exec(text);
  if (match === null)
    return {
      wrong: `${quoted(text)} is not an address; write it as host:port, with an IPv6 host in brackets.`,
    };
  const { ipv6, host = ipv6 ?? '', port } = match.groups!;
  if (port === undefined) return { wrong: `${quoted(text)} has no port; write it as host:port.` };
  if (host === '') return { wrong: `${quoted(text)} has no host; write it as host:port.` };
  if (ipv6 === undefined ? !isHost(host) : isIP(ipv6) !== 6)
    return { wrong: `${quoted(text)} has a host that is neither a name nor an IP address.` };
  const number = /^\d{1,5}$/.test(port) ? Number(port) : 0;
  if (number < 1 || number > 65_535) return { wrong: `${quoted(text)} needs a port from 1 to 65535.` };
  return { value: { host: host.toLowerCase(), port: number } };
}

export function isHost(host: string): boolean {
  if (isIP(host) !== 0) return true;
  if (/^[\d.]+$/.test(host) || host.length > 253) return false;
  return host.split('.').every((label) => /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/i.test(label));
}

/** Every address of a machine: good to listen on, nothing that others can dial. */
export function isWildcard(host: string): boolean {
  return host === '0.0.0.0' || /^[0:]+$/.test(host);
}

export type AcceptorUrl =
  | { readonly kind: 'service'; readonly secure: boolean; readonly address: Address; readonly url: string }
  | { readonly kind: 'lmdb' | 'memory'; readonly rest: string }
  | { readonly kind: 'store'; readonly scheme: string; readonly store: StoreUrl };

const SCHEMES = ['http', 'https', 'lmdb', 'memory', ...STORE_SCHEMES];

export function readAcceptorUrl(text: string): Read<AcceptorUrl> {
  const [, scheme = '', rest = ''] = /^([a-z][a-z0-9+.-]*):(.*)$/s.exec(text) ?? [];
  if (!SCHEMES.includes(scheme)) {
    const schemes = `${SCHEMES.slice(0, -1).join(', ')} and ${SCHEMES.at(-1)}`;
    return {
      wrong: `${shownUrl(text)} is not an acceptor URL, such as http://127.0.0.1:4001; the schemes are ${schemes}.`,
    };
  }
  if (STORE_SCHEMES.includes(scheme)) return readStore(scheme, text);
  if (scheme === 'lmdb' || scheme === 'memory') {
    if (/^[^\p{C}]+$/u.test(rest)) return { value: { kind: scheme, rest } };
    return { wrong: `${quoted(text)} needs the form ${scheme}:${scheme === 'lmdb' ? 'PATH' : 'NAME'}.` };
  }
  if (!rest.startsWith('//') || !URL.canParse(text))
    return { wrong: `${shownUrl(text)} needs the form ${scheme}://HOST:PORT.` };
  const { hostname, port, username, password, pathname, search, hash, origin } = new URL(text);
  if (username !== '' || password !== '')
    return { wrong: 'The URL has credentials in it; put the token under tokens.acceptor.' };
  if (pathname !== '/' || search !== '' || hash !== '')
    return { wrong: `${shownUrl(text)} has more than a host and a port.` };
  const host = hostname.replace(/^\[|\]$/g, '');
  if (!isHost(host))
    return { wrong: `${shownUrl(text)} has a host that is neither a name nor an IP address.` };
  if (port === '0') return { wrong: `${shownUrl(text)} needs a port from 1 to 65535.` };
  const secure = scheme === 'https';
  const address = { host, port: port === '' ? (secure ? 443 : 80) : Number(port) };
  return { value: { kind: 'service', secure, address, url: origin } };
}

/** Never quotes what was written. */
function readStore(scheme: string, text: string): Read<AcceptorUrl> {
  if (/[\p{Cc}\p{Cs}]/u.test(text))
    return { wrong: 'The URL has a character that no URL has; write it with a per cent sign.' };
  try {
    const store = readStoreUrl(text)!;
    if (store.password === undefined) return { value: { kind: 'store', scheme, store } };
    return { wrong: 'The URL has a password in it; put it under `password` of this acceptor.' };
  } catch (error) {
    if (error instanceof CasPaxosError) return { wrong: error.message };
    throw error;
  }
}

/** A URL may hold a password before its `@`. */
function shownUrl(text: string): string {
  return text.includes('@') ? 'This' : quoted(text);
}

export function wrongUrl(text: string): string | undefined {
  const read = readAcceptorUrl(text);
  return 'wrong' in read ? read.wrong : undefined;
}

export function wrongAddress(text: string): string | undefined {
  const read = readAddress(text);
  return 'wrong' in read ? read.wrong : undefined;
}

export const LONGEST_KEY_PATH = 255;

/** `/id`, `/address/city`, `/"a/b"`. */
export function wrongKeyPath(text: string): string | undefined {
  if (text.length <= LONGEST_KEY_PATH && /^(?:\/(?:"(?:[^"\\\p{C}]|\\["\\])+"|[^/"\p{C}]+))+$/u.test(text))
    return undefined;
  return `${quoted(text)} is not the path of a property, such as /id.`;
}

export function wrongZone(text: string): string | undefined {
  const labels = text.split('.');
  if (text.length <= 200 && labels.every((label) => label.length <= LONGEST_NAME && NAME.test(label)))
    return undefined;
  return `${quoted(text)} is not a DNS zone, such as baton.local.`;
}

export function wrongPath(text: string): string | undefined {
  if (text !== '' && text.length <= 4096 && !/\p{Cc}/u.test(text)) return undefined;
  return `${quoted(text)} is not a path.`;
}

export function wrongVariable(text: string): string | undefined {
  return /^[A-Za-z_][A-Za-z0-9_]{0,127}$/.test(text)
    ? undefined
    : 'This is not the name of an environment variable.';
}

/** What formatting writes in place of a token; as a token it would be known to everybody. */
export const REDACTED = '[redacted]';
export const LONGEST_TOKEN = 1024;

/** Shorter keys can be guessed. */
const SHORTEST_KEY_BYTES = 32;

/** Base64, as HTTP clients hold it. Never quotes what was written. */
export function wrongKey(text: string): string | undefined {
  if (text === '') return 'The key is empty.';
  if (text === REDACTED)
    return 'The key was taken out of this file; write it as {file: PATH} or {env: NAME}.';
  if (text.length > LONGEST_TOKEN) return `The key is longer than ${LONGEST_TOKEN} characters.`;
  const bytes = Buffer.from(text, 'base64');
  if (bytes.toString('base64') !== text)
    return 'The key is not base64; `openssl rand -base64 48` makes a good one.';
  if (bytes.length < SHORTEST_KEY_BYTES)
    return `The key has ${bytes.length} bytes; it needs ${SHORTEST_KEY_BYTES} or more.`;
  return undefined;
}

/** Never quotes what was written. */
export function wrongToken(text: string): string | undefined {
  if (text === '') return 'The token is empty.';
  if (text === REDACTED)
    return 'The token was taken out of this file; write it as {file: PATH} or {env: NAME}.';
  if (text.length > LONGEST_TOKEN) return `The token is longer than ${LONGEST_TOKEN} characters.`;
  if (!/^[\x21-\x7e]+$/.test(text))
    return 'The token has a character that cannot be sent; use printable ASCII without spaces.';
  return undefined;
}

/** Of a store: its keys and secrets too. Never quotes what was written. */
export function wrongPassword(text: string): string | undefined {
  if (text === '') return 'The password is empty.';
  if (text === REDACTED)
    return 'The password was taken out of this file; write it as {file: PATH} or {env: NAME}.';
  if (text.trim() !== text) return 'The password begins or ends with white space, which no file can hold.';
  if (text.length > LONGEST_TOKEN) return `The password is longer than ${LONGEST_TOKEN} characters.`;
  return /[\p{Cc}\p{Cs}]/u.test(text) ? 'The password has a character that cannot be sent.' : undefined;
}
