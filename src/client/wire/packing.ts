/**
 * A message as bytes: a small header, packed, and bodies behind it that are not looked into. Bodies are sent from where they
 * lie and are views of what was received, so that a document is copied by the network only.
 *
 *   header bytes u32 | header (msgpack) | bodies
 *
 * A header is an array. Its last element is the list of the bodies' lengths.
 */
import { pack, unpack } from 'msgpackr';
import { isPlainData, type PackedLimits } from '../../protocol/index.ts';
import { RpcError } from '../../transport/index.ts';

const GATHERED_BYTES = 512 * 1024;
/** Documents are bodies; what a header holds is small, but for the steps of patches. */
const MAX_HEADER_BYTES = 4 * 1024 * 1024;
/** A document is 128 deep at most, and the steps of a patch stand in three lists. */
const LIMITS: PackedLimits = { depth: 200, values: 2 ** 20 };

export interface Unpacked {
  readonly header: readonly unknown[];
  readonly bodies: readonly Buffer[];
}

export function packed(header: readonly unknown[], bodies: readonly Uint8Array[] = []): Uint8Array[] {
  const text = pack([...header, bodies.map(({ length }) => length)]);
  const bytes = bodies.reduce((sum, { length }) => sum + length, 0);
  // Copying a little is cheaper than handing many pieces to the system.
  const isGathered = bytes <= GATHERED_BYTES;
  const head = Buffer.allocUnsafe(4 + text.length + (isGathered ? bytes : 0));
  head.writeUInt32LE(text.length, 0);
  head.set(text, 4);
  if (!isGathered) return [head, ...bodies];
  let at = 4 + text.length;
  for (const body of bodies) {
    head.set(body, at);
    at += body.length;
  }
  return [head];
}

/** Throws MALFORMED: it may come from anybody. */
export function unpacked(payload: Buffer): Unpacked {
  if (payload.length < 4) throw malformed();
  const end = 4 + payload.readUInt32LE(0);
  if (end > payload.length) throw malformed();
  const header = parsed(payload.subarray(4, end));
  const lengths = header.at(-1);
  if (!Array.isArray(lengths)) throw malformed();
  let at = end;
  const bodies = lengths.map((given: unknown) => {
    const length = given as number;
    if (!Number.isSafeInteger(length) || length < 0 || at + length > payload.length) throw malformed();
    const body = payload.subarray(at, at + length);
    at += length;
    return body;
  });
  if (at !== payload.length) throw malformed();
  return { header: header.slice(0, -1), bodies };
}

function parsed(bytes: Buffer): readonly unknown[] {
  if (bytes.length > MAX_HEADER_BYTES || !isPlainData(bytes, LIMITS)) throw malformed();
  let header: unknown;
  try {
    header = unpack(bytes);
  } catch {
    throw malformed();
  }
  if (!Array.isArray(header)) throw malformed();
  return header;
}

export function malformed(): RpcError {
  return new RpcError('MALFORMED', 'The message cannot be understood.');
}
