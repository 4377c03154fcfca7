/** What clients ask of a node and what it answers, as bytes: writes and reads. Bodies of documents travel as they are. */
import {
  type Conditions,
  type Operation,
  type OperationResult,
  type PartitionKey,
  type PatchStep,
  type Position,
  type ReadAnswer,
  type ReadLevel,
  READ_LEVELS,
  type ShownVersion,
  type WriteAnswer,
  type WriteRequest,
} from '../../engine/index.ts';
import type { Payload } from '../../transport/index.ts';
import {
  countIn,
  isJson,
  levelIn,
  listIn,
  msIn,
  optional,
  partsIn,
  partsOut,
  positionIn,
  textIn,
  versionIn,
  versionOut,
} from './fields.ts';
import { malformed, packed, unpacked } from './packing.ts';
import { type NodeRefusal, refusalIn, refusalOut } from './refusals.ts';

/** Numbers of the methods; they stay. */
export const METHODS = { write: 1, read: 2, scan: 3, feed: 4, map: 5, look: 6 } as const;

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

export type NodeWriteAnswer = Exclude<WriteAnswer, { readonly outcome: 'refused' }> | NodeRefusal;
export type NodeReadAnswer = Exclude<ReadAnswer, { readonly outcome: 'refused' }> | NodeRefusal;

const OPERATIONS = ['create', 'upsert', 'replace', 'patch', 'delete', 'read'] as const;
/** A patch with a condition is another operation: a node that does not know conditions must not carry it out without. */
const PATCH_IF = OPERATIONS.length;
const STEPS: ReadonlySet<unknown> = new Set(['add', 'set', 'replace', 'remove', 'incr', 'move']);

export function encodeWrite({ partitionSet, timeoutMs, request }: NodeWrite): Payload {
  const { partitionKey, operations, operation, returning } = request;
  const bodies: Uint8Array[] = [];
  const list = operations.map((one) => {
    if ('body' in one) bodies.push(one.body);
    const { ifMatch = null, ifNoneMatch = null } = one;
    const id = 'id' in one ? one.id : null;
    const steps = one.op === 'patch' ? one.steps : null;
    if (one.op === 'patch' && one.filter !== undefined)
      return [PATCH_IF, id, ifMatch, ifNoneMatch, steps, one.filter];
    return [OPERATIONS.indexOf(one.op), id, ifMatch, ifNoneMatch, steps];
  });
  const header = [partitionSet, timeoutMs, partsOut(partitionKey), operation ?? null, list];
  return packed(returning === true ? [...header, true] : header, bodies);
}

export function decodeWrite(payload: Buffer): NodeWrite {
  const { header, bodies } = unpacked(payload);
  const [partitionSet, timeoutMs, key, name, list, returning] = header;
  const operation = optional(name, textIn);
  const left = [...bodies];
  const operations = listIn(list).map((one) => operationIn(listIn(one), left));
  if (left.length > 0) throw malformed();
  const request: WriteRequest = {
    partitionKey: partsIn(key),
    operations,
    ...(operation !== undefined && { operation }),
    ...(returning === true && { returning }),
  };
  return { partitionSet: textIn(partitionSet), timeoutMs: msIn(timeoutMs), request };
}

function operationIn(fields: readonly unknown[], bodies: Buffer[]): Operation {
  const [number, id, match, noneMatch, steps, filter] = fields;
  const op = number === PATCH_IF ? 'patch' : OPERATIONS[number as number];
  const ifMatch = optional(match, textIn);
  const ifNoneMatch = optional(noneMatch, textIn);
  const conditions: Conditions = {
    ...(ifMatch !== undefined && { ifMatch }),
    ...(ifNoneMatch !== undefined && { ifNoneMatch }),
  };
  if (op === undefined) throw malformed();
  if (op === 'create' || op === 'upsert') return { op, body: bodyIn(bodies), ...conditions };
  if (op === 'replace') return { op, id: textIn(id), body: bodyIn(bodies), ...conditions };
  if (op !== 'patch') return { op, id: textIn(id), ...conditions };
  const patch = { op, id: textIn(id), steps: listIn(steps).map(stepIn), ...conditions };
  return number === PATCH_IF ? { ...patch, filter: textIn(filter) } : patch;
}

function bodyIn(bodies: Buffer[]): Buffer {
  const body = bodies.shift();
  if (body === undefined) throw malformed();
  return body;
}

function stepIn(step: unknown): PatchStep {
  const { op, path, from, value } = (
    typeof step === 'object' && step !== null ? step : {}
  ) as Partial<PatchStep>;
  if (!STEPS.has(op) || typeof path !== 'string') throw malformed();
  if (from !== undefined && typeof from !== 'string') throw malformed();
  if (value !== undefined && !isJson(value)) throw malformed();
  return {
    op: op!,
    path,
    ...(from !== undefined && { from }),
    ...(value !== undefined && { value }),
  };
}

/** Versions are told by their place in the log alone, unless the client wants to see them. */
export function encodeWriteAnswer(answer: NodeWriteAnswer): Payload {
  if (answer.outcome === 'unknown') return packed(['unknown']);
  if (answer.outcome === 'refused') return packed(refusalOut(answer));
  const { position, results, shown } = answer;
  const header = [
    'done',
    position.epoch,
    position.lsn,
    results.map(({ status, message }) => (message === undefined ? status : [status, message])),
  ];
  if (shown === undefined) return packed(header);
  const bodies = shown.flatMap((version) => version?.body ?? []);
  return packed([...header, shown.map(shownOut)], bodies);
}

/** The fields of a version, and whether its body comes with it. */
function shownOut(version: ShownVersion): readonly unknown[] | null {
  return version === undefined ? null : [...versionOut(version), version.body !== undefined];
}

export function decodeWriteAnswer(payload: Buffer): NodeWriteAnswer {
  const { header, bodies } = unpacked(payload);
  const [outcome, ...rest] = header;
  if (outcome === 'unknown') return { outcome };
  if (outcome === 'refused') return refusalIn(rest);
  if (outcome !== 'done') throw malformed();
  const [epoch, lsn, results, list] = rest;
  const left = [...bodies];
  const shown = optional(list, (value) => listIn(value).map((one) => shownIn(one, left)));
  if (left.length > 0) throw malformed();
  const position = positionIn(epoch, lsn);
  return { outcome, position, results: listIn(results).map(resultIn), ...(shown && { shown }) };
}

const NO_BODY = new Uint8Array();

function shownIn(value: unknown, bodies: Buffer[]): ShownVersion {
  if (value === null) return undefined;
  const fields = listIn(value);
  if (fields.at(-1) === true) return versionIn(fields, bodyIn(bodies));
  const { body: _, ...version } = versionIn(fields, NO_BODY);
  return version;
}

function resultIn(one: unknown): OperationResult {
  if (typeof one === 'number') return { status: countIn(one) };
  const [status, message] = listIn(one);
  return { status: countIn(status), message: textIn(message) };
}

export function encodeRead({ partitionSet, timeoutMs, partitionKey, id, level, session }: NodeRead): Payload {
  const { epoch = null, lsn = null } = session ?? {};
  const number = READ_LEVELS.indexOf(level);
  return packed([partitionSet, timeoutMs, partsOut(partitionKey), id, number, epoch, lsn]);
}

export function decodeRead(payload: Buffer): NodeRead {
  const [partitionSet, timeoutMs, key, id, level, epoch, lsn] = unpacked(payload).header;
  return {
    partitionSet: textIn(partitionSet),
    timeoutMs: msIn(timeoutMs),
    partitionKey: partsIn(key),
    id: textIn(id),
    level: levelIn(level),
    ...(epoch !== null && { session: positionIn(epoch, lsn) }),
  };
}

export function encodeReadAnswer(answer: NodeReadAnswer): Payload {
  if (answer.outcome === 'refused') return packed(refusalOut(answer));
  const { version, position } = answer;
  const head = ['done', position.epoch, position.lsn];
  if (version?.body === undefined) return packed(head);
  return packed([...head, ...versionOut(version)], [version.body]);
}

export function decodeReadAnswer(payload: Buffer): NodeReadAnswer {
  const { header, bodies } = unpacked(payload);
  const [outcome, ...rest] = header;
  if (outcome === 'refused') return refusalIn(rest);
  if (outcome !== 'done') throw malformed();
  const [epoch, lsn, ...fields] = rest;
  const position = positionIn(epoch, lsn);
  const [body] = bodies;
  const version = body === undefined ? undefined : versionIn(fields, body);
  return { outcome, version, position };
}
