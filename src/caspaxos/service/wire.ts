/**
 * What the acceptor service and its client say to each other. The client opens `GET /v1/stream` with
 * `Upgrade: baton-acceptor/1` and a bearer token; after the 101 both sides send frames of MessagePack:
 *
 *   client:  [id, call, argument]
 *   server:  [id, sequence, result]           the acceptor's durable sequence number stands in every answer (rule 8)
 *            [id, sequence, null, code, message]
 *
 * Calls may be answered in any order. The first frame is the server's: [0, sequence, {id, set, life}]. The client's first call is
 * `cluster`, as soon as it knows to which it belongs: whatever it asks of registers after that is refused by an acceptor of another cluster.
 *
 * A client that has seen the acceptor further on than this greeting says so: `retire`, with the id, the sequence and the set that it has seen. An
 * acceptor that told less of itself on that stream is an old copy of what it was, and refuses everything from then on, for good; the
 * greeting names the code and the sentence, when they are on its disk. One that told no less refuses to be retired.
 */
export const STREAM_PATH = '/v1/stream';
export const STREAM_PROTOCOL = 'baton-acceptor/1';

/** The reason of a 403 for who showed no certificate; others are OpenSSL's codes. */
export const NO_CERTIFICATE = 'NO_CERTIFICATE';

export const DEFAULT_MAX_REQUEST_BYTES = 4 * 1024 * 1024;
/** A server answers a batch with values, so an answer may be larger than any request. */
export const MAX_ANSWER_BYTES = 64 * 1024 * 1024;

export type CallName = 'handle' | 'describe' | 'reserve' | 'install' | 'list' | 'cluster' | 'retire';

/** How an acceptor of an earlier version refuses a call that it does not know, as PROTOCOL_MISMATCH. */
export function noSuchCall(name: string): string {
  return `There is no call ${name}.`;
}

/** What a client has seen of an acceptor, and what the acceptor tells in the greeting. */
export interface Standing {
  readonly sequence: number;
  readonly set: number;
}

export type CallFrame = readonly [id: number, call: CallName, argument: unknown];

export type AnswerFrame = readonly [
  id: number,
  sequence: number,
  result: unknown,
  code?: string,
  message?: string,
];
