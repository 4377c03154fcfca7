/**
 * The TXT record of an account (paper 5.1): where its regions answer, in order of priority. It is written when the account
 * is made and when regions or priorities change, and never in a failover: which region writes is not in it.
 *
 *   v=baton1; account=demo; serial=7; consistency=Strong; region=west 127.0.0.1:4101,127.0.0.1:4111; region=east ...
 *
 * The text is fields `key=value`, with semicolons between them. The version comes first; the regions stand in order of
 * priority, and the addresses of a region in the order of its nodes. The serial rises with every change.
 *
 * How it may grow. Within `baton1` (or `baton1.3`: the part after the dot says how new the writer was, and is for people)
 * a newer writer may add fields, and further words after the addresses of a region. An older reader keeps the fields it
 * does not know, passes over the words, and reads a consistency level it does not know as none: it then asks a node.
 * Anything that an older reader would misread needs `baton2`, which it refuses.
 *
 * The text is plain ASCII: other characters in the name of a region are percent-encoded. DNS carries it in strings of at
 * most 255 bytes, which are joined without anything between them.
 */
import { CONSISTENCY_LEVELS, type Consistency } from '../../failover/index.ts';
import { parseAddress } from './address.ts';
import { DiscoveryError } from './errors.ts';

export interface RegionEndpoints {
  readonly region: string;
  /** As `parseAddress` reads them, in the order of the region's nodes. */
  readonly addresses: readonly string[];
}

export interface AccountRecord {
  /** One label of a DNS name, in lower case. */
  readonly account: string;
  readonly serial: number;
  /** Absent if the record does not say, or names a level that is newer than this reader. */
  readonly consistency?: Consistency;
  /** In order of priority. */
  readonly regions: readonly RegionEndpoints[];
  /** Fields of newer writers, as they stand: `key=value`. */
  readonly extensions?: readonly string[];
}

export const RECORD_LIMITS = {
  /** Of the text. An answer of DNS holds four times as much. */
  bytes: 16_384,
  regions: 64,
  addressesOfRegion: 256,
  fields: 128,
  regionName: 64,
} as const;

const VERSION = 'baton1';
const OURS = /^v=baton(?<major>\d{1,6})(?:\.\d{1,6})?\s*(?:;|$)/;
const FIELD = /^(?<key>[a-z][a-z0-9-]{0,31})=(?<value>[ -:<-~]*)$/;
const ACCOUNT = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
const SERIAL = /^\d{1,16}$/;
const KNOWN_KEYS: ReadonlySet<string> = new Set(['v', 'account', 'serial', 'consistency', 'region']);
const STRING_BYTES = 255;

export function isAccountName(name: string): boolean {
  return ACCOUNT.test(name);
}

export type ParsedRecord =
  | { readonly kind: 'record'; readonly record: AccountRecord; readonly text: string }
  /** Somebody else's TXT record, as many share a name. */
  | { readonly kind: 'foreign' }
  | { readonly kind: 'newer'; readonly version: string }
  | { readonly kind: 'invalid'; readonly reason: string };

/** Throws ACCOUNT_RECORD_INVALID for what no reader would take. */
export function encodeAccountRecord(record: AccountRecord): string {
  const { account, serial, consistency, regions, extensions = [] } = record;
  const fields = [
    `v=${VERSION}`,
    `account=${checked(account, isAccountName(account), 'the account')}`,
    `serial=${serial}`,
    ...(consistency === undefined ? [] : [`consistency=${consistency}`]),
    ...regions.map(regionField),
    ...extensions.map((field) => checked(field, isExtension(field), 'a further field')),
  ];
  const parsed = parseAccountRecord(fields.join('; '));
  if (parsed.kind === 'record') return parsed.text;
  throw new DiscoveryError('ACCOUNT_RECORD_INVALID', parsed.kind === 'invalid' ? parsed.reason : parsed.kind);
}

function regionField({ region, addresses }: RegionEndpoints): string {
  checked(region, region.isWellFormed(), 'the name of a region');
  for (const address of addresses) checked(address, parseAddress(address) !== undefined, 'an address');
  return `region=${encodeURIComponent(region)} ${addresses.join(',')}`;
}

function checked(text: string, isGood: boolean, what: string): string {
  if (isGood) return text;
  throw new DiscoveryError(
    'ACCOUNT_RECORD_INVALID',
    `"${text.slice(0, 100)}" cannot be ${what} in a record.`,
  );
}

function isExtension(field: string): boolean {
  const key = FIELD.exec(field)?.groups?.['key'];
  return key !== undefined && !KNOWN_KEYS.has(key) && field.trim() === field;
}

export function parseAccountRecord(text: string): ParsedRecord {
  const major = OURS.exec(text)?.groups?.['major'];
  if (major === undefined) return { kind: 'foreign' };
  if (`baton${Number(major)}` !== VERSION) return { kind: 'newer', version: `baton${major}` };
  try {
    return { kind: 'record', record: readFields(text), text };
  } catch (error) {
    if (error instanceof Flaw) return { kind: 'invalid', reason: error.message };
    throw error;
  }
}

/** Why a text is no record: never leaves this file. */
class Flaw extends Error {}

function demand(condition: boolean, reason: string): asserts condition {
  if (!condition) throw new Flaw(reason);
}

function readFields(text: string): AccountRecord {
  demand(text.length <= RECORD_LIMITS.bytes, `A record may have ${RECORD_LIMITS.bytes} bytes.`);
  const fields = text.split(';').map((field) => field.trim());
  demand(fields.length <= RECORD_LIMITS.fields, `A record may have ${RECORD_LIMITS.fields} fields.`);
  const single = new Map<string, string>();
  const regions: RegionEndpoints[] = [];
  const extensions: string[] = [];
  for (const field of fields) {
    if (field === '') continue;
    const { key, value } = FIELD.exec(field)?.groups ?? {};
    demand(
      key !== undefined && value !== undefined,
      `"${field.slice(0, 100)}" is not of the form key=value.`,
    );
    if (key === 'region') regions.push(readRegion(value));
    else if (!KNOWN_KEYS.has(key)) extensions.push(field);
    else {
      demand(!single.has(key), `The field ${key} stands there twice.`);
      single.set(key, value);
    }
  }
  demand(regions.length > 0, 'A record needs at least one region.');
  demand(regions.length <= RECORD_LIMITS.regions, `A record may have ${RECORD_LIMITS.regions} regions.`);
  const names = new Set(regions.map(({ region }) => region));
  demand(names.size === regions.length, 'A region stands there twice.');
  const level = CONSISTENCY_LEVELS.find((known) => known === single.get('consistency'));
  return {
    account: readAccount(single.get('account')),
    serial: readSerial(single.get('serial')),
    ...(level !== undefined && { consistency: level }),
    regions,
    ...(extensions.length > 0 && { extensions }),
  };
}

function readAccount(text: string | undefined): string {
  demand(
    text !== undefined && isAccountName(text),
    'The account must be a label of a DNS name in lower case.',
  );
  return text;
}

function readSerial(text: string | undefined): number {
  demand(text !== undefined && SERIAL.test(text), 'The serial must be a whole number.');
  const serial = Number(text);
  demand(Number.isSafeInteger(serial), 'The serial is too large.');
  return serial;
}

function readRegion(value: string): RegionEndpoints {
  const [word = '', list = ''] = value.split(/ +/);
  const region = decoded(word);
  demand(
    region !== undefined && region !== '' && region.length <= RECORD_LIMITS.regionName,
    `The name of a region has 1 to ${RECORD_LIMITS.regionName} characters.`,
  );
  const addresses = list.split(',');
  demand(
    addresses.length <= RECORD_LIMITS.addressesOfRegion,
    `A region may have ${RECORD_LIMITS.addressesOfRegion} addresses.`,
  );
  for (const address of addresses)
    demand(parseAddress(address) !== undefined, `"${address.slice(0, 100)}" is not of the form HOST:PORT.`);
  return { region, addresses };
}

function decoded(word: string): string | undefined {
  try {
    return decodeURIComponent(word);
  } catch {
    return undefined;
  }
}

/** The strings that carry a text in a TXT record. */
export function splitText(text: string): readonly string[] {
  const strings: string[] = [];
  for (let at = 0; at < text.length; at += STRING_BYTES) strings.push(text.slice(at, at + STRING_BYTES));
  return strings;
}

/**
 * The record of the account among all TXT records of a name. If there are several, while one replaces another, the one
 * with the highest serial; if there is none, what is nearest to one, for the message.
 */
export function findAccountRecord(
  txt: readonly (readonly string[])[],
  account: string,
): Exclude<ParsedRecord, { kind: 'foreign' }> | undefined {
  let best: Exclude<ParsedRecord, { kind: 'foreign' }> | undefined;
  for (const strings of txt) {
    const parsed = parseAccountRecord(strings.join(''));
    if (parsed.kind === 'foreign') continue;
    if (parsed.kind !== 'record') best ??= parsed;
    else if (parsed.record.account !== account)
      best ??= { kind: 'invalid', reason: `It is the record of another account, ${parsed.record.account}.` };
    else if (best?.kind !== 'record' || best.record.serial < parsed.record.serial) best = parsed;
  }
  return best;
}
