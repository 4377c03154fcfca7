/** What clients ask of a node and what it answers, as bytes. Bodies of documents travel as they are. */
import {
  type Conditions,
  type Operation,
  type OperationResult,
  type PartitionKey,
  type PatchStep,
  type Position,
  type ReadAnswer,
  type ReadLevel,
  type RefusalCode,
  type Version,
  type WriteAnswer,
  type WriteRequest,
  READ_LEVELS,
} from '../../engine/index.ts';
import type { Payload } from '../rpc/index.ts';
import { malformed, packed, unpacked } from './packing.ts';

export const METHODS = { write: 1, read: 2 } as const;

export interface NodeWrite {
  readonly partitionSet: string;
  readonly timeoutMs: number;
  readonly request: WriteRequest;
}

export interface NodeRead {
  readonly partitionSet: string;
  readonly timeoutMs: number;
  readonly partitionKey: PartitionKey;
  readonly id: string;
  readonly level: ReadLevel;
  readonly session?: Position;
}

const OPERATIONS = ['create', 'upsert', 'replace', 'patch', 'delete', 'read'] as const;

export function encodeWrite({ partitionSet, timeoutMs, request }: NodeWrite): Payload {
  const { partitionKey, operations, operation } = request;
  const bodies: Uint8Array[] = [];
  const list = operations.map((one) => {
    if ('body' in one) bodies.push(one.body);
    const { ifMatch = null, ifNoneMatch = null } = one;
    const id = 'id' in one ? one.id : null;
    const steps = one.op === 'patch' ? one.steps : null;
    return [OPERATIONS.indexOf(one.op), id, ifMatch, ifNoneMatch, steps];
  });
  return packed([partitionSet, timeoutMs, partsOut(partitionKey), operation ?? null, list], bodies);
}

export function decodeWrite(payload: Buffer): NodeWrite {
  const { header, bodies } = unpacked(payload);
  const [partitionSet, timeoutMs, key, operation, list] = header;
  if (typeof partitionSet !== 'string' || typeof timeoutMs !== 'number' || !Array.isArray(list))
    throw malformed();
  if (operation !== null && typeof operation !== 'string') throw malformed();
  const left = [...bodies];
  const operations = list.map((one: unknown) => operationIn(one, left));
  if (left.length > 0) throw malformed();
  const request: WriteRequest = {
    partitionKey: partsIn(key),
    operations,
    ...(operation !== null && { operation }),
  };
  return { partitionSet, timeoutMs, request };
}

function operationIn(value: unknown, bodies: Buffer[]): Operation {
  if (!Array.isArray(value)) throw malformed();
  const [number, id, ifMatch, ifNoneMatch, steps] = value as unknown[];
  const op = OPERATIONS[number as number];
  const conditions: Conditions = {
    ...(typeof ifMatch === 'string' && { ifMatch }),
    ...(typeof ifNoneMatch === 'string' && { ifNoneMatch }),
  };
  if (op === undefined) throw malformed();
  if (op === 'create' || op === 'upsert') return { op, body: bodyIn(bodies), ...conditions };
  if (typeof id !== 'string') throw malformed();
  if (op === 'replace') return { op, id, body: bodyIn(bodies), ...conditions };
  if (op !== 'patch') return { op, id, ...conditions };
  if (!Array.isArray(steps)) throw malformed();
  return { op, id, steps: steps.map(stepIn), ...conditions };
}

function bodyIn(bodies: Buffer[]): Buffer {
  const body = bodies.shift();
  if (body === undefined) throw malformed();
  return body;
}

function stepIn(value: unknown): PatchStep {
  const { op, path, from } = (typeof value === 'object' && value !== null ? value : {}) as Partial<PatchStep>;
  const isKnown = ['add', 'set', 'replace', 'remove', 'incr', 'move'].includes(op ?? '');
  if (!isKnown || typeof path !== 'string' || (from !== undefined && typeof from !== 'string'))
    throw malformed();
  return value as PatchStep;
}

/** `undefined` has no place in a packed message: an empty list stands for it. */
function partsOut(key: PartitionKey): readonly unknown[] {
  return key.map((part) => (part === undefined ? [] : part));
}

function partsIn(value: unknown): PartitionKey {
  if (!Array.isArray(value)) throw malformed();
  return value.map((part: unknown) => {
    if (Array.isArray(part)) return undefined;
    if (part === null || ['string', 'number', 'boolean'].includes(typeof part)) return part as string;
    throw malformed();
  });
}

/** Versions are told by their place in the log alone; a client knows what it sent. */
export function encodeWriteAnswer(answer: WriteAnswer): Payload {
  if (answer.outcome === 'unknown') return packed(['unknown']);
  if (answer.outcome === 'refused') return packed(['refused', answer.code, answer.retryAfterMs ?? null]);
  const { epoch, lsn } = answer.position;
  return packed([
    'done',
    epoch,
    lsn,
    answer.results.map(({ status, message }) => (message === undefined ? status : [status, message])),
  ]);
}

export function decodeWriteAnswer(payload: Buffer): WriteAnswer {
  const { header } = unpacked(payload);
  const [outcome, first, second, third] = header;
  if (outcome === 'unknown') return { outcome };
  if (outcome === 'refused') return refusedIn(first, second);
  if (outcome !== 'done' || !Array.isArray(third)) throw malformed();
  const results = third.map((one: unknown): OperationResult => {
    if (typeof one === 'number') return { status: one };
    const [status, message] = one as [number, string];
    return { status, message };
  });
  return { outcome, position: positionIn(first, second), results };
}

function refusedIn(code: unknown, retryAfterMs: unknown): Extract<WriteAnswer, { outcome: 'refused' }> {
  return {
    outcome: 'refused',
    code: code as RefusalCode,
    ...(typeof retryAfterMs === 'number' && { retryAfterMs }),
  };
}

function positionIn(epoch: unknown, lsn: unknown): Position {
  if (typeof epoch !== 'number' || typeof lsn !== 'number') throw malformed();
  return { epoch, lsn };
}

export function encodeRead({ partitionSet, timeoutMs, partitionKey, id, level, session }: NodeRead): Payload {
  const { epoch = null, lsn = null } = session ?? {};
  return packed([
    partitionSet,
    timeoutMs,
    partsOut(partitionKey),
    id,
    READ_LEVELS.indexOf(level),
    epoch,
    lsn,
  ]);
}

export function decodeRead(payload: Buffer): NodeRead {
  const [partitionSet, timeoutMs, key, id, number, epoch, lsn] = unpacked(payload).header;
  const level = READ_LEVELS[number as number];
  if (typeof partitionSet !== 'string' || typeof timeoutMs !== 'number' || typeof id !== 'string')
    throw malformed();
  if (level === undefined) throw malformed();
  const read = { partitionSet, timeoutMs, partitionKey: partsIn(key), id, level };
  return epoch === null ? read : { ...read, session: positionIn(epoch, lsn) };
}

export function encodeReadAnswer(answer: ReadAnswer): Payload {
  if (answer.outcome === 'refused') return packed(['refused', answer.code, answer.retryAfterMs ?? null]);
  const { version, position } = answer;
  const head = ['done', position.epoch, position.lsn];
  if (version?.body === undefined) return packed(head);
  const { epk, id, partitionKey, createdLsn, ttl = null, previous, epoch, lsn, at } = version;
  return packed([...head, epk, id, partitionKey, createdLsn, ttl, previous, epoch, lsn, at], [version.body]);
}

export function decodeReadAnswer(payload: Buffer): ReadAnswer {
  const { header, bodies } = unpacked(payload);
  const [outcome, first, second, ...rest] = header;
  if (outcome === 'refused') return refusedIn(first, second);
  if (outcome !== 'done') throw malformed();
  const position = positionIn(first, second);
  const [body] = bodies;
  if (body === undefined) return { outcome, version: undefined, position };
  const [epk, id, partitionKey, createdLsn, ttl, previous, epoch, lsn, at] = rest;
  const version = { epk, id, partitionKey, createdLsn, previous, epoch, lsn, at, body } as unknown as Version;
  return { outcome, version: ttl === null ? version : { ...version, ttl: ttl as number }, position };
}
