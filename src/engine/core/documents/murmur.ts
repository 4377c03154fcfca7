/**
 * MurmurHash3, x64, 128 bits, seed 0: the published algorithm, with each 64-bit number as two 32-bit halves, because every
 * write runs it and a BigInt would cost more than the rest of the write. The last block is filled up with zeros: mixing a
 * zero word changes nothing, so the tail needs no cases of its own.
 *
 * The state is one scratch array of the module: a hash is finished before anybody else can begin one.
 */

/** The hash as it stands after `murmur128`: high and low half of the first word, then of the second. */
export const hash = new Int32Array(4);

const C1_HIGH = 0x87c37b91 | 0;
const C1_LOW = 0x114253d5 | 0;
const C2_HIGH = 0x4cf5ad43 | 0;
const C2_LOW = 0x2745937f | 0;

/** Hashes the first `length` bytes. The array must have room for them to be filled up to a multiple of 16. */
export function murmur128(bytes: Uint8Array, length: number): void {
  const end = (length + 15) & ~15;
  bytes.fill(0, length, end);
  hash.fill(0);
  for (let at = 0; at < end; at += 16) mix(bytes, at, at + 16 <= length);
  let [aHigh, aLow, bHigh, bLow] = [hash[0]!, hash[1]! ^ length, hash[2]!, hash[3]! ^ length];
  aLow = (aLow + bLow) | 0;
  aHigh = (aHigh + bHigh + carry(aLow, bLow)) | 0;
  bLow = (bLow + aLow) | 0;
  bHigh = (bHigh + aHigh + carry(bLow, aLow)) | 0;
  finish(0, aHigh, aLow);
  finish(2, bHigh, bLow);
  add(0, 2);
  add(2, 0);
}

function mix(bytes: Uint8Array, at: number, whole: boolean): void {
  let low = word(bytes, at);
  let high = word(bytes, at + 4);
  high = timesHigh(high, low, C1_HIGH, C1_LOW);
  low = Math.imul(low, C1_LOW);
  let turned = (high << 31) | (low >>> 1);
  low = (low << 31) | (high >>> 1);
  high = timesHigh(turned, low, C2_HIGH, C2_LOW);
  low = Math.imul(low, C2_LOW);
  hash[0]! ^= high;
  hash[1]! ^= low;
  if (whole) spread(0, 27, 2, 0x52dce729);

  low = word(bytes, at + 8);
  high = word(bytes, at + 12);
  high = timesHigh(high, low, C2_HIGH, C2_LOW);
  low = Math.imul(low, C2_LOW);
  turned = (low << 1) | (high >>> 31);
  low = (high << 1) | (low >>> 31);
  high = timesHigh(turned, low, C1_HIGH, C1_LOW);
  low = Math.imul(low, C1_LOW);
  hash[2]! ^= high;
  hash[3]! ^= low;
  if (whole) spread(2, 31, 0, 0x38495ab5);
}

/** Turns a word of the hash to the left, adds the other one, then times five plus a constant. */
function spread(at: number, bits: number, other: number, plus: number): void {
  const high = hash[at]!;
  const low = hash[at + 1]!;
  hash[at] = (high << bits) | (low >>> (32 - bits));
  hash[at + 1] = (low << bits) | (high >>> (32 - bits));
  add(at, other);
  times5(at, plus);
}

function times5(at: number, plus: number): void {
  const high = hash[at]!;
  const low = hash[at + 1]!;
  const sum = (Math.imul(low, 5) + plus) | 0;
  hash[at] = timesHigh(high, low, 0, 5) + carry(sum, plus);
  hash[at + 1] = sum;
}

function add(at: number, other: number): void {
  const low = (hash[at + 1]! + hash[other + 1]!) | 0;
  hash[at] = hash[at]! + hash[other]! + carry(low, hash[other + 1]!);
  hash[at + 1] = low;
}

function finish(at: number, startHigh: number, startLow: number): void {
  let low = startLow ^ (startHigh >>> 1);
  let high = timesHigh(startHigh, low, 0xff51afd7 | 0, 0xed558ccd | 0);
  low = Math.imul(low, 0xed558ccd | 0) ^ (high >>> 1);
  high = timesHigh(high, low, 0xc4ceb9fe | 0, 0x1a85ec53 | 0);
  low = Math.imul(low, 0x1a85ec53 | 0) ^ (high >>> 1);
  hash[at] = high;
  hash[at + 1] = low;
}

/** Of a sum of two low halves, given the sum and either of them. */
function carry(sum: number, part: number): number {
  return sum >>> 0 < part >>> 0 ? 1 : 0;
}

/** The high half of the low 64 bits of a product; the low half is `Math.imul` of the low halves. */
function timesHigh(aHigh: number, aLow: number, bHigh: number, bLow: number): number {
  const a0 = aLow & 0xffff;
  const a1 = aLow >>> 16;
  const b0 = bLow & 0xffff;
  const b1 = bLow >>> 16;
  const middle = a1 * b0 + ((a0 * b0) >>> 16);
  const carried = a0 * b1 + (middle & 0xffff);
  // `middle` and `carried` stay below 2^32, so the shifts see all of them.
  const overflow = Math.imul(a1, b1) + (middle >>> 16) + (carried >>> 16);
  return (overflow + Math.imul(aHigh, bLow) + Math.imul(aLow, bHigh)) | 0;
}

function word(bytes: Uint8Array, at: number): number {
  return bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24);
}
