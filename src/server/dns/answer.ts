/** From the bytes of a query to the bytes of its answer, without a socket in sight. Never throws, whatever the bytes are. */
import { type Answer, AUTHORITATIVE_ANSWER, encode, RECURSION_DESIRED, TRUNCATED_RESPONSE } from 'dns-packet';
import { type Edns, type Head, type Question, type Rcode, RCODES, readQuery } from './query.ts';
import type { Zone, ZoneAnswer } from './zone.ts';

/** Fits a packet that no network takes apart; nothing larger goes out over UDP, whatever the client says it takes. */
export const LARGEST_UDP_ANSWER = 1232;
const SMALLEST_UDP_ANSWER = 512;
const LARGEST_TCP_ANSWER = 65_535;
const HEADER = 12;

export type Transport = 'udp' | 'tcp';

export interface DnsAnswer {
  readonly bytes: Buffer;
  readonly rcode: Rcode;
  readonly isTruncated: boolean;
}

interface Reply extends ZoneAnswer {
  readonly head: Head;
  readonly question?: Question;
  readonly edns?: Edns | undefined;
}

/** Nothing for what must not be answered. */
export function answer(zone: Zone, message: Buffer, transport: Transport): DnsAnswer | undefined {
  const query = readQuery(message);
  if (query.kind === 'ignored') return undefined;
  const { head } = query;
  if (query.kind === 'refused') return whole({ head, ...empty(query.rcode) });
  const { question, edns } = query;
  if (edns !== undefined && edns.version !== 0) return whole({ head, question, edns, ...empty('BADVERS') });
  const reply = { head, question, edns, ...lookUp(zone, question) };
  const limit = limitOf(transport, edns);
  const full = encodeReply(reply, false);
  if (full.length <= limit) return { bytes: full, rcode: reply.rcode, isTruncated: false };
  const bytes = encodeReply({ ...reply, answers: [], authorities: [] }, true);
  return { bytes, rcode: reply.rcode, isTruncated: true };
}

function whole(reply: Reply): DnsAnswer {
  return { bytes: encodeReply(reply, false), rcode: reply.rcode, isTruncated: false };
}

function empty(rcode: Rcode): ZoneAnswer {
  return { rcode, isAuthoritative: false, answers: [], authorities: [] };
}

/** Records that cannot be had, or cannot be written down, are the server's failure, not the client's. */
function lookUp(zone: Zone, question: Question): ZoneAnswer {
  try {
    return zone.lookUp(question);
  } catch {
    return empty('SERVFAIL');
  }
}

function limitOf(transport: Transport, edns: Edns | undefined): number {
  if (transport === 'tcp') return LARGEST_TCP_ANSWER;
  return Math.min(LARGEST_UDP_ANSWER, Math.max(SMALLEST_UDP_ANSWER, edns?.udpPayloadSize ?? 0));
}

/** The question goes in as it came: dns-packet would spell it anew. It compresses no names, so nothing points past it. */
function encodeReply(reply: Reply, isTruncated: boolean): Buffer {
  const { head, question, edns, answers, authorities } = reply;
  const rcode = RCODES[reply.rcode];
  const packet = encode({
    type: 'response',
    id: head.id,
    flags:
      (head.opcode << 11) |
      (rcode & 0xf) |
      (reply.isAuthoritative ? AUTHORITATIVE_ANSWER : 0) |
      (isTruncated ? TRUNCATED_RESPONSE : 0) |
      (head.isRecursionDesired ? RECURSION_DESIRED : 0),
    answers,
    authorities,
    additionals: edns === undefined ? [] : [optOf(edns, rcode)],
  });
  if (question === undefined) return packet;
  packet.writeUInt16BE(1, 4);
  return Buffer.concat([packet.subarray(0, HEADER), question.bytes, packet.subarray(HEADER)]);
}

function optOf({ isDnssecWanted }: Edns, rcode: number): Answer {
  return {
    type: 'OPT',
    name: '.',
    udpPayloadSize: LARGEST_UDP_ANSWER,
    extendedRcode: rcode >> 4,
    ednsVersion: 0,
    flags: isDnssecWanted ? 0x80_00 : 0,
    flag_do: isDnssecWanted,
    options: [],
  };
}
