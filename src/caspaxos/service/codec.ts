/**
 * MessagePack for the acceptor service: what goes over its stream and what goes into its journal. A batch is one flat
 * array with a fixed number of fields for each message, which packs and unpacks several times faster than objects do.
 */
import { Packr } from 'msgpackr';
import {
  type Ballot,
  BALLOT_ZERO,
  compareBallots,
  isBallot,
  isPlainData,
  type PackedLimits,
} from '../../protocol/index.ts';
import { asCasPaxosError } from '../errors.ts';
import { QUERY, type RegisterRecord, type RegisterReply, type RegisterRequest } from '../core/index.ts';

const packr = new Packr({ useRecords: false, encodeUndefinedAsNil: true });

export function pack(value: unknown): Buffer {
  return packr.pack(value);
}

/** What a call or an answer holds: thousands of messages of a few fields each, or the description of an acceptor. */
const ON_THE_WIRE: PackedLimits = { depth: 16, values: 2 ** 17 };
/** A record of one's own, with a checksum, is bounded by its size. */
export const IN_THE_JOURNAL: PackedLimits = { depth: 2, values: Infinity };

/** Throws on anything that is not plain data, before it makes room for any of it. */
export function unpack(bytes: Uint8Array, limits = ON_THE_WIRE): unknown {
  if (!isPlainData(bytes, limits)) throw new Error('not a message, or one without bounds');
  return packr.unpack(bytes);
}

// Requests: kind, key, set, counter, proposer, incarnation, value, next counter.
const REQUEST_FIELDS = 8;
const KIND_1A = 1;
const KIND_2A = 2;
const KIND_QUERY = 3;

export function flattenRequests(requests: readonly RegisterRequest[]): unknown[] {
  const flat: unknown[] = [];
  for (const { key, set, message } of requests) {
    if (message.type === 'query') {
      flat.push(KIND_QUERY, key, set, 0, '', 0, null, 0);
      continue;
    }
    const { counter, proposer, incarnation } = message.ballot;
    if (message.type === '1a') flat.push(KIND_1A, key, set, counter, proposer, incarnation, null, 0);
    else
      flat.push(KIND_2A, key, set, counter, proposer, incarnation, message.value, message.next?.counter ?? 0);
  }
  return flat;
}

/** Throws a plain Error on anything that `flattenRequests` would not write. */
export function unflattenRequests(flat: unknown): RegisterRequest[] {
  if (!Array.isArray(flat) || flat.length % REQUEST_FIELDS !== 0) throw new Error('a malformed batch');
  const requests: RegisterRequest[] = [];
  for (let at = 0; at < flat.length; at += REQUEST_FIELDS) requests.push(unflattenRequest(flat, at));
  return requests;
}

function unflattenRequest(flat: readonly unknown[], at: number): RegisterRequest {
  const kind = flat[at];
  const key = flat[at + 1];
  const set = flat[at + 2];
  if (typeof key !== 'string' || !Number.isSafeInteger(set)) throw new Error('a malformed request');
  if (kind === KIND_QUERY) return { key, set: set as number, message: QUERY };
  const ballot = { counter: flat[at + 3], proposer: flat[at + 4], incarnation: flat[at + 5] };
  if (!isBallot(ballot) || ballot.counter === 0) throw new Error('a malformed ballot');
  if (kind === KIND_1A) return { key, set: set as number, message: { type: '1a', ballot } };
  const value = flat[at + 6];
  if (kind !== KIND_2A || typeof value !== 'string') throw new Error('a malformed request');
  const counter = flat[at + 7] as number;
  if (counter === 0) return { key, set: set as number, message: { type: '2a', ballot, value } };
  const next = { counter, proposer: ballot.proposer, incarnation: ballot.incarnation };
  if (!isBallot(next) || counter <= ballot.counter) throw new Error('a malformed ballot');
  return { key, set: set as number, message: { type: '2a', ballot, value, next } };
}

// Replies: kind, counter, proposer, incarnation, value. What the asker knows already is not sent back.
const REPLY_FIELDS = 5;
const REPLY_PROMISE = 1;
const REPLY_ACCEPTED = 2;
const REPLY_ACCEPTED_AND_PROMISED = 3;
const REPLY_NAK = 4;
const REPLY_ALARM = 5;
const REPLY_STATE = 6;
const REPLY_STALE_SET = 7;
const REPLY_FAILED = 8;

export function flattenReplies(replies: readonly RegisterReply[]): unknown[] {
  const flat: unknown[] = [];
  for (const reply of replies) flattenReply(reply, flat);
  return flat;
}

function flattenReply(reply: RegisterReply, flat: unknown[]): void {
  switch (reply.type) {
    case '1b':
      flat.push(REPLY_PROMISE, ...fields(reply.accepted), reply.value);
      break;
    case '2b':
      flat.push(reply.next === undefined ? REPLY_ACCEPTED : REPLY_ACCEPTED_AND_PROMISED, 0, '', 0, null);
      break;
    case 'nak':
      flat.push(REPLY_NAK, ...fields(reply.promised), null);
      break;
    case 'alarm':
      flat.push(REPLY_ALARM, 0, '', 0, null);
      break;
    case 'state':
      flat.push(REPLY_STATE, ...fields(reply.accepted), reply.value);
      break;
    case 'stale-set':
      flat.push(REPLY_STALE_SET, reply.set, '', 0, null);
      break;
    case 'failed':
      flat.push(REPLY_FAILED, 0, reply.code, 0, reply.message);
      break;
  }
}

/** `requests` are those that the replies answer, in order; `index` is what the asker calls this acceptor. */
export function unflattenReplies(
  flat: unknown,
  requests: readonly RegisterRequest[],
  index: number,
): RegisterReply[] {
  if (!Array.isArray(flat) || flat.length !== requests.length * REPLY_FIELDS)
    throw new Error('a malformed answer');
  return requests.map((request, at) => {
    try {
      return unflattenReply(flat, at * REPLY_FIELDS, request, index);
    } catch (error) {
      // Of one register: the others' answers are as good as before (rule 11).
      const { code, message } = asCasPaxosError(error, 'PROTOCOL_MISMATCH', 'An answer that cannot be read');
      return { type: 'failed', acceptor: index, code, message };
    }
  });
}

function unflattenReply(
  flat: readonly unknown[],
  at: number,
  { message }: RegisterRequest,
  acceptor: number,
): RegisterReply {
  const kind = flat[at];
  if (message.type === '2a') {
    const { ballot, value, next } = message;
    if (kind === REPLY_ACCEPTED) return { type: '2b', acceptor, ballot, value };
    if (kind === REPLY_ACCEPTED_AND_PROMISED) return { type: '2b', acceptor, ballot, value, next };
    if (kind === REPLY_ALARM) return { type: 'alarm', acceptor, ballot };
  }
  if (message.type !== 'query' && kind === REPLY_NAK) {
    return { type: 'nak', acceptor, ballot: message.ballot, promised: ballotAt(flat, at + 1) };
  }
  if (message.type === '1a' && kind === REPLY_PROMISE) {
    return {
      type: '1b',
      acceptor,
      ballot: message.ballot,
      accepted: ballotAt(flat, at + 1),
      value: valueAt(flat, at + 4),
    };
  }
  if (message.type === 'query' && kind === REPLY_STATE) {
    return { type: 'state', acceptor, accepted: ballotAt(flat, at + 1), value: valueAt(flat, at + 4) };
  }
  if (kind === REPLY_STALE_SET) return { type: 'stale-set', acceptor, set: Number(flat[at + 1]) };
  const [code, text] = [flat[at + 2], flat[at + 4]];
  if (kind !== REPLY_FAILED || typeof code !== 'string' || typeof text !== 'string')
    throw new Error('a malformed answer');
  return { type: 'failed', acceptor, code, message: text };
}

// Journal: key, set, promised, accepted, value. A promise does not repeat the value it leaves alone.
const RECORD_FIELDS = 9;
const SAME_VALUE = false;

/** What a batch did to a register: the record after it, and whether that holds another accepted value than before. */
export interface JournalEntry {
  readonly record: RegisterRecord;
  readonly isAccepted: boolean;
}

export function flattenEntries(entries: ReadonlyMap<string, JournalEntry>): unknown[] {
  const flat: unknown[] = [];
  for (const [key, { record, isAccepted }] of entries) {
    const { set, promised, accepted, value } = record;
    if (isAccepted) flat.push(key, set, ...fields(promised), ...fields(accepted), value);
    else flat.push(key, set, ...fields(promised), 0, '', 0, SAME_VALUE);
  }
  return flat;
}

/**
 * Plays a journal record back: `before` gives a register's record so far, `after` takes what it becomes. A promise on
 * top of a record that cannot be read (undefined) changes nothing: that register answers nothing anyway.
 */
export function replayEntries(
  flat: unknown,
  before: (key: string) => RegisterRecord | undefined,
  after: (key: string, record: RegisterRecord) => void,
): void {
  if (!Array.isArray(flat) || flat.length % RECORD_FIELDS !== 0)
    throw new Error('a malformed journal record');
  for (let at = 0; at < flat.length; at += RECORD_FIELDS) {
    const key = String(flat[at]);
    const set = Number(flat[at + 1]);
    const promised = ballotAt(flat, at + 2);
    if (flat[at + 8] === SAME_VALUE) {
      const record = before(key);
      if (record !== undefined) after(key, promise(record, set, promised));
    } else {
      after(key, { set, promised, accepted: ballotAt(flat, at + 5), value: valueAt(flat, at + 8) });
    }
  }
}

/** The database may hold a later state than the journal, saved early: a promise never lowers it. */
function promise(record: RegisterRecord, set: number, promised: Ballot): RegisterRecord {
  const isNews = compareBallots(promised, record.promised) > 0;
  return { ...record, set: Math.max(set, record.set), promised: isNews ? promised : record.promised };
}

function fields(ballot: Ballot): [number, string, number] {
  return [ballot.counter, ballot.proposer, ballot.incarnation];
}

function ballotAt(flat: readonly unknown[], at: number): Ballot {
  const ballot = { counter: flat[at], proposer: flat[at + 1], incarnation: flat[at + 2] };
  if (!isBallot(ballot)) throw new Error('a malformed ballot');
  return ballot.counter === 0 ? BALLOT_ZERO : ballot;
}

function valueAt(flat: readonly unknown[], at: number): string | undefined {
  const value = flat[at];
  if (value === null || value === undefined) return undefined;
  if (typeof value !== 'string') throw new Error('a malformed value');
  return value;
}
