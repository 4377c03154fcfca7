/**
 * The effective partition key: where a document lies in the space of all keys. The client computes the same one to find
 * the partition-set of a document, so this is part of the API (hash version 2). A value is written as a byte for its type
 * and its bytes, hashed to 128 bits, and the two highest bits are cleared, so that every key sorts before "FF".
 *
 * The parts of a hierarchical key are hashed one by one and their keys stand one after the other: documents that share
 * the first parts lie side by side.
 */
import { hash, murmur128 } from './murmur.ts';
import type { PartitionKey, PartitionKeyPart } from './request.ts';
import { writeUtf8 } from './utf8.ts';

/** From `min` on, up to but without `max`. Keys compare as text. */
export interface EpkRange {
  readonly min: string;
  readonly max: string;
}

const TYPE = { undefined: 0x00, null: 0x01, false: 0x02, true: 0x03, number: 0x05, string: 0x08 } as const;
const END_OF_STRING = 0xff;
const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0').toUpperCase());

let scratch = new Uint8Array(4096);
let view = new DataView(scratch.buffer);

/** 32 upper-case hexadecimal digits for each part. */
export function epkOf(key: PartitionKey): string {
  let text = '';
  for (const part of key) {
    const length = writePart(part);
    murmur128(scratch, length);
    text += hex(hash[2]! & 0x3fff_ffff) + hex(hash[3]!) + hex(hash[0]!) + hex(hash[1]!);
  }
  return text;
}

/** `parts` contiguous ranges, from "" to "FF", that hold equal shares of the hashes. */
export function epkRanges(parts: number): EpkRange[] {
  const bounds = Array.from({ length: parts + 1 }, (_, index) => {
    if (index === 0) return '';
    if (index === parts) return 'FF';
    const bound = ((1n << 126n) * BigInt(index)) / BigInt(parts);
    return bound.toString(16).padStart(32, '0').toUpperCase();
  });
  return bounds.slice(1).map((max, index) => ({ min: bounds[index]!, max }));
}

export function rangeContains({ min, max }: EpkRange, epk: string): boolean {
  return min <= epk && epk < max;
}

/** Writes one part into the scratch bytes, and says how many they are. */
function writePart(part: PartitionKeyPart): number {
  switch (typeof part) {
    case 'string':
      return writeString(part);
    case 'number':
      scratch[0] = TYPE.number;
      view.setFloat64(1, part, true);
      return 9;
    case 'boolean':
      scratch[0] = part ? TYPE.true : TYPE.false;
      return 1;
    default:
      scratch[0] = part === null ? TYPE.null : TYPE.undefined;
      return 1;
  }
}

function writeString(text: string): number {
  const room = text.length * 3 + 32;
  if (room > scratch.length) {
    scratch = new Uint8Array(room);
    view = new DataView(scratch.buffer);
  }
  scratch[0] = TYPE.string;
  const end = writeUtf8(text, scratch, 1);
  scratch[end] = END_OF_STRING;
  return end + 1;
}

function hex(word: number): string {
  return HEX[word >>> 24]! + HEX[(word >>> 16) & 0xff]! + HEX[(word >>> 8) & 0xff]! + HEX[word & 0xff]!;
}
