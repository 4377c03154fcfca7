/**
 * Resource ids. A container's is eight bytes, its database's are the first four of them, and an item's are the container's
 * and eight more. Clients keep those of items apart by this id alone, also across partition-sets, where the same LSNs
 * occur again; so an item's eight bytes are a hash of its key and of the LSN that created it. An item that is deleted and
 * created again has a new one. The last four bits are zero: that is how clients tell an item from other resources.
 *
 * The text is base64 with `-` for `/`, because it stands in paths.
 */
import { keyText, type Version } from '../model.ts';
import { hash, murmur128 } from './murmur.ts';
import { writeUtf8 } from './utf8.ts';
import { createdLsnOf } from './versions.ts';

/** What a container's items are called. */
export interface ItemNames {
  ridOf(version: Version): string;
  /** The path of the item with this id. */
  selfOf(rid: string): string;
}

const DATABASE_BYTES = 4;
const CONTAINER_BYTES = 8;
const ITEM_BYTES = 16;

/** The id must be a container's. */
export function itemNames(containerRid: string): ItemNames {
  const container = parseRid(containerRid);
  if (container?.length !== CONTAINER_BYTES) throw new Error(`Not the id of a container: ${containerRid}.`);
  const prefix = `dbs/${formatRid(container.subarray(0, DATABASE_BYTES))}/colls/${containerRid}/docs/`;
  const bytes = new Uint8Array(ITEM_BYTES);
  bytes.set(container);
  const view = new DataView(bytes.buffer);
  return {
    ridOf: (version) => {
      hashItem(version);
      view.setInt32(CONTAINER_BYTES, hash[1]!, true);
      view.setInt32(CONTAINER_BYTES + 4, hash[0]! & 0x0fff_ffff, true);
      return formatRid(bytes);
    },
    selfOf: (rid) => `${prefix}${rid}/`,
  };
}

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+-';

export function formatRid(bytes: Uint8Array): string {
  let text = '';
  for (let at = 0; at < bytes.length; at += 3) {
    const [first, second, third] = [bytes[at]!, bytes[at + 1], bytes[at + 2]];
    text += ALPHABET[first >> 2]! + ALPHABET[((first & 3) << 4) | ((second ?? 0) >> 4)]!;
    text += second === undefined ? '=' : ALPHABET[((second & 15) << 2) | ((third ?? 0) >> 6)]!;
    text += third === undefined ? '=' : ALPHABET[third & 63]!;
  }
  return text;
}

/** `undefined`: it is not such a text. */
export function parseRid(text: string): Uint8Array | undefined {
  const digits = text.replace(/={1,2}$/, '');
  const bytes = new Uint8Array(Math.floor((digits.length * 3) / 4));
  let [bits, held, end] = [0, 0, 0];
  for (const digit of digits) {
    const value = ALPHABET.indexOf(digit);
    if (value < 0) return undefined;
    bits = ((bits << 6) | value) & 0xffff;
    held += 6;
    if (held < 8) continue;
    held -= 8;
    bytes[end++] = bits >> held;
  }
  return formatRid(bytes) === text ? bytes : undefined;
}

let scratch = new Uint8Array(4096);

function hashItem(version: Version): void {
  const text = `${createdLsnOf(version)} ${keyText(version)}`;
  const room = text.length * 3 + 16;
  if (room > scratch.length) scratch = new Uint8Array(room);
  const length = writeUtf8(text, scratch, 0);
  murmur128(scratch, length);
}
