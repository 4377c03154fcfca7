/**
 * A DNS query as it comes from the network. Header and question are read here, byte by byte: the question goes back into
 * the answer exactly as it came, in its own mixture of upper and lower case (by which resolvers tell an answer from a
 * forgery) and whatever bytes its labels hold. Counts are looked at before anything is made for them. The rest, of which
 * only EDNS matters, is left to dns-packet.
 */
import { type Answer, decode } from 'dns-packet';

/** No client needs more for a question; what is longer is refused unread. */
export const LARGEST_QUERY = 1232;

const HEADER = 12;
const LONGEST_NAME = 255;
const LONGEST_LABEL = 63;
const MOST_ADDITIONALS = 4;

export const RCODES = {
  NOERROR: 0,
  FORMERR: 1,
  SERVFAIL: 2,
  NXDOMAIN: 3,
  NOTIMP: 4,
  REFUSED: 5,
  BADVERS: 16,
} as const;
export type Rcode = keyof typeof RCODES;

/** What goes back into the header of any answer. */
export interface Head {
  readonly id: number;
  readonly opcode: number;
  readonly isRecursionDesired: boolean;
}

export interface Question {
  /** In lower case; a dot inside a label is not a boundary, which is why they are not one text. */
  readonly labels: readonly string[];
  /** As it was asked, if it is all ASCII. */
  readonly name: string;
  readonly type: number;
  readonly class: number;
  readonly bytes: Buffer;
}

export interface Edns {
  readonly version: number;
  readonly udpPayloadSize: number;
  readonly isDnssecWanted: boolean;
}

export type ReadQuery =
  /** An answer, or too short to be answered. */
  | { readonly kind: 'ignored' }
  | { readonly kind: 'refused'; readonly head: Head; readonly rcode: Rcode }
  | {
      readonly kind: 'query';
      readonly head: Head;
      readonly question: Question;
      readonly edns: Edns | undefined;
    };

export function readQuery(message: Buffer): ReadQuery {
  if (message.length < 4) return { kind: 'ignored' };
  const flags = message.readUInt16BE(2);
  if ((flags & 0x80_00) !== 0) return { kind: 'ignored' };
  const head: Head = {
    id: message.readUInt16BE(0),
    opcode: (flags >> 11) & 0xf,
    isRecursionDesired: (flags & 0x01_00) !== 0,
  };
  if (head.opcode !== 0) return { kind: 'refused', head, rcode: 'NOTIMP' };
  const malformed: ReadQuery = { kind: 'refused', head, rcode: 'FORMERR' };
  if (message.length < HEADER || message.length > LARGEST_QUERY || !hasCountsOfQuery(message))
    return malformed;
  const question = readQuestion(message);
  const edns = question === undefined ? 'malformed' : readEdns(message);
  if (question === undefined || edns === 'malformed') return malformed;
  return { kind: 'query', head, question, edns };
}

function hasCountsOfQuery(message: Buffer): boolean {
  return (
    message.readUInt16BE(4) === 1 &&
    message.readUInt16BE(6) === 0 &&
    message.readUInt16BE(8) === 0 &&
    message.readUInt16BE(10) <= MOST_ADDITIONALS
  );
}

function readQuestion(message: Buffer): Question | undefined {
  const labels: string[] = [];
  let at = HEADER;
  for (;;) {
    const length = message[at];
    if (length === undefined || length > LONGEST_LABEL) return undefined;
    const label = message.toString('latin1', at + 1, at + 1 + length);
    at += 1 + length;
    if (at - HEADER > LONGEST_NAME) return undefined;
    if (length === 0) break;
    labels.push(label);
  }
  if (at + 4 > message.length) return undefined;
  return {
    labels: labels.map((label) => label.toLowerCase()),
    name: labels.join('.'),
    type: message.readUInt16BE(at),
    class: message.readUInt16BE(at + 2),
    bytes: message.subarray(HEADER, at + 4),
  };
}

function readEdns(message: Buffer): Edns | undefined | 'malformed' {
  let additionals: readonly Answer[] | undefined;
  try {
    ({ additionals } = decode(message));
  } catch {
    return 'malformed';
  }
  if (decode.bytes !== message.length) return 'malformed';
  const found = (additionals ?? []).filter((record) => record.type === 'OPT');
  const [opt] = found;
  if (opt === undefined) return undefined;
  if (found.length > 1 || opt.name !== '.') return 'malformed';
  return {
    version: opt.ednsVersion,
    udpPayloadSize: opt.udpPayloadSize,
    isDnssecWanted: opt.flag_do,
  };
}
