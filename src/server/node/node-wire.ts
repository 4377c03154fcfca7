/** What nodes send each other, as bytes: replication, pulses, and the agents' hints. Everything is one-way. */
import { entryIn, malformed, packed, unpacked } from '../../client/index.ts';
import {
  encodeEntry,
  type EpochStart,
  type Grant,
  type NodeMessage,
  type PartitionMessage,
  type Position,
} from '../../engine/index.ts';
import type { Hint } from '../../failover/index.ts';
import type { Payload } from '../../transport/index.ts';

export type PeerMessage =
  | NodeMessage
  | { readonly type: 'hint'; readonly partitionSet: string; readonly hint: Hint };

/** In the order of their numbers on the wire: new ones come last. */
const TYPES = [
  'pulse',
  'hint',
  'invite',
  'follow',
  'welcome',
  'ready',
  'entries',
  'ack',
  'ask',
  'grant',
  'refuse',
  'damaged',
  'repair',
  'survey',
  'standing',
  'fetch',
  'fetched',
  'short',
] as const;
type Type = (typeof TYPES)[number];
/** Of one answer to a region that recovers, about. */
const MOST_FETCHED = 4 * 1024 * 1024;

const NUMBERS = Object.fromEntries(TYPES.map((type, number) => [type, number])) as Record<Type, number>;

export function encodePeerMessage(message: PeerMessage): Payload {
  if (message.type === 'pulse') return packed([NUMBERS.pulse, message.isWell]);
  if (message.type === 'hint') return packed([NUMBERS.hint, message.partitionSet, message.hint]);
  return encodePartitionMessage(message.partitionSet, message.message);
}

function encodePartitionMessage(set: string, message: PartitionMessage): Payload {
  const head = [NUMBERS[message.type], set];
  switch (message.type) {
    case 'invite':
      return packed([...head, message.gcn]);
    case 'refuse':
    case 'survey':
      return packed([...head, message.gcn, message.session]);
    case 'follow':
      return packed([...head, message.gcn, message.session, ...(message.copies === true ? [true] : [])]);
    case 'welcome': {
      const { gcn, session, epoch, table, tail, base, whole } = message;
      const known = [...head, gcn, session, epoch, startsOf(table), tail.epoch, tail.lsn, base];
      return packed(whole === undefined ? known : [...known, whole]);
    }
    case 'standing': {
      const { gcn, session, table, tail, base, gclsn, building } = message;
      return packed([...head, gcn, session, startsOf(table), tail.epoch, tail.lsn, base, gclsn, building]);
    }
    case 'fetch':
      return packed([...head, message.gcn, message.session, message.after, message.maxBytes]);
    case 'fetched': {
      const { gcn, session, after, entries } = message;
      return packed([...head, gcn, session, after], entries.map(encodeEntry));
    }
    case 'short':
      return packed([...head, message.gcn, message.session, message.epoch, message.lsn]);
    case 'ready':
      return packed([...head, message.gcn, message.session, message.epoch, message.base, message.lsn]);
    case 'entries': {
      const { gcn, session, after, entries, marks } = message;
      const header = [...head, gcn, session, after, marks.gclsn, marks.safe, marks.everywhere];
      return packed(header, entries.map(encodeEntry));
    }
    case 'ack': {
      const { gcn, session, durable, received, gclsn, safe, gap } = message;
      return packed([...head, gcn, session, durable, received, gclsn, safe, gap === true]);
    }
    case 'ask':
      return packed([...head, message.gcn, message.session, message.number, message.incarnation]);
    case 'grant':
      return packed([
        ...head,
        message.gcn,
        message.session,
        message.number,
        message.ms,
        ...(message.level === undefined ? [] : [message.level]),
      ]);
    case 'damaged':
      return packed([...head, message.epoch, message.lsn, ...(message.rest === true ? [true] : [])]);
    case 'repair': {
      const { entry, upTo } = message;
      return packed(upTo === undefined ? head : [...head, upTo.epoch, upTo.lsn], [encodeEntry(entry)]);
    }
  }
}

/** Throws MALFORMED. */
export function decodePeerMessage(payload: Buffer): PeerMessage {
  const { header, bodies } = unpacked(payload);
  const [number, first, ...rest] = header;
  const type = TYPES[number as number];
  if (type === undefined) throw malformed();
  if (type === 'pulse') return { type, isWell: first === true };
  if (typeof first !== 'string') throw malformed();
  if (type === 'hint') return { type, partitionSet: first, hint: hintIn(rest[0]) };
  return { type: 'partition', partitionSet: first, message: decodePartitionMessage(type, rest, bodies) };
}

function decodePartitionMessage(
  type: Exclude<Type, 'pulse' | 'hint'>,
  fields: readonly unknown[],
  bodies: readonly Buffer[],
): PartitionMessage {
  const n = (at: number): number => numberIn(fields[at]);
  switch (type) {
    case 'invite':
      return { type, gcn: n(0) };
    case 'refuse':
    case 'survey':
      return { type, gcn: n(0), session: n(1) };
    case 'follow':
      return { type, gcn: n(0), session: n(1), ...(fields[2] === true && { copies: true }) };
    case 'welcome': {
      const tail: Position = { epoch: n(4), lsn: n(5) };
      const said = { type, gcn: n(0), session: n(1), epoch: n(2), table: startsIn(fields[3]), tail } as const;
      const whole = fields[7];
      return { ...said, base: n(6), ...(typeof whole === 'boolean' && { whole }) };
    }
    case 'standing': {
      const tail: Position = { epoch: n(3), lsn: n(4) };
      const said = { type, gcn: n(0), session: n(1), table: startsIn(fields[2]), tail } as const;
      return { ...said, base: n(5), gclsn: n(6), building: fields[7] === true };
    }
    case 'fetch':
      return { type, gcn: n(0), session: n(1), after: n(2), maxBytes: Math.min(n(3), MOST_FETCHED) };
    case 'fetched':
      return { type, gcn: n(0), session: n(1), after: n(2), entries: bodies.map(entryIn) };
    case 'short':
      return { type, gcn: n(0), session: n(1), epoch: n(2), lsn: n(3) };
    case 'ready':
      return { type, gcn: n(0), session: n(1), epoch: n(2), base: n(3), lsn: n(4) };
    case 'entries': {
      const marks = { gclsn: n(3), safe: n(4), everywhere: n(5) };
      return { type, gcn: n(0), session: n(1), after: n(2), entries: bodies.map(entryIn), marks };
    }
    case 'ack': {
      const [gcn, session, durable, received, gclsn, safe] = [n(0), n(1), n(2), n(3), n(4), n(5)];
      const ack = { type, gcn, session, durable, received, gclsn, safe } as const;
      return fields[6] === true ? { ...ack, gap: true } : ack;
    }
    case 'ask':
      return { type, gcn: n(0), session: n(1), number: n(2), incarnation: n(3) };
    case 'grant':
      return { type, gcn: n(0), session: n(1), number: n(2), ms: n(3), ...grantLevelIn(fields[4]) };
    case 'damaged':
      return { type, epoch: n(0), lsn: n(1), ...(fields[2] === true && { rest: true }) };
    case 'repair':
      if (bodies.length !== 1) throw malformed();
      return {
        type,
        entry: entryIn(bodies[0]!),
        ...(fields.length > 0 && { upTo: { epoch: n(0), lsn: n(1) } }),
      };
  }
}

/** A node of before there was one sends none. */
function grantLevelIn(level: unknown): Pick<Grant, 'level'> {
  if (level === undefined) return {};
  if (level === 'Strong' || level === 'BoundedStaleness') return { level };
  throw malformed();
}

function hintIn(value: unknown): Hint {
  const given = (typeof value === 'object' && value !== null ? value : {}) as Partial<
    Record<string, unknown>
  >;
  const gcn = numberIn(given['gcn']);
  if (given['hint'] === 'phase') return { hint: 'phase', gcn, step: numberIn(given['step']) };
  const { hint, writer } = given;
  if (hint !== 'beat' || typeof writer !== 'string') throw malformed();
  return { hint, gcn, writer, beat: numberIn(given['beat']) };
}

function numberIn(value: unknown): number {
  if (typeof value === 'number' && !Number.isNaN(value)) return value;
  throw malformed();
}

function startsOf(table: readonly EpochStart[]): readonly number[] {
  return table.flatMap((start) => [start.epoch, start.lsn]);
}

function startsIn(value: unknown): readonly EpochStart[] {
  if (!Array.isArray(value) || value.length % 2 !== 0) throw malformed();
  const starts: EpochStart[] = [];
  for (let at = 0; at < value.length; at += 2)
    starts.push({ epoch: numberIn(value[at]), lsn: numberIn(value[at + 1]) });
  return starts;
}
