/** What this API calls operations, as the engine's: point requests, the bodies of patches, the members of batches. */
import { nodeJson, type Operation, type PatchStep } from '../../../engine/index.ts';
import type { GatewayRequest } from '../context.ts';
import { jsonIn } from '../bodies.ts';
import { badRequest } from '../errors.ts';
import { headerOf, isTrue } from '../headers.ts';

type Fields = Readonly<Record<string, unknown>>;
type Conditions = { ifMatch?: string; ifNoneMatch?: string };

export function conditionsIn({ headers }: GatewayRequest): Conditions {
  return conditions(headerOf(headers, 'if-match'), headerOf(headers, 'if-none-match'));
}

function conditions(ifMatch: unknown, ifNoneMatch: unknown): Conditions {
  return {
    ...(typeof ifMatch === 'string' && { ifMatch }),
    ...(typeof ifNoneMatch === 'string' && { ifNoneMatch }),
  };
}

/** Of a request for one item: `POST docs`, `PUT`, `PATCH` and `DELETE docs/ID`. */
export function pointOperation(request: GatewayRequest): Operation | undefined {
  const { method, body, resource } = request;
  const { item: id } = resource;
  const given = conditionsIn(request);
  if (id === undefined) {
    if (method !== 'POST') return undefined;
    return { op: isTrue(request.headers, 'x-ms-documentdb-is-upsert') ? 'upsert' : 'create', body, ...given };
  }
  if (method === 'PUT') return { op: 'replace', id, body, ...given };
  if (method === 'DELETE') return { op: 'delete', id, ...given };
  if (method !== 'PATCH') return undefined;
  return { op: 'patch', id, ...patchIn(jsonIn(body)), ...given };
}

/** `[STEP, ...]`, or `{operations: [STEP, ...], condition: "from c where ..."}`. Throws 400. */
function patchIn(value: unknown): { steps: readonly PatchStep[]; filter?: string } {
  const { operations, condition } = Array.isArray(value)
    ? { operations: value as unknown }
    : fieldsOf(value, 'A patch');
  if (!Array.isArray(operations)) throw badRequest('A patch needs a list of operations.');
  if (condition !== undefined && condition !== null && typeof condition !== 'string')
    throw badRequest('The condition of a patch must be a text.');
  const steps = operations.map(stepIn);
  return typeof condition === 'string' ? { steps, filter: condition } : { steps };
}

const STEPS: readonly PatchStep['op'][] = ['add', 'set', 'replace', 'remove', 'incr', 'move'];

function stepIn(value: unknown): PatchStep {
  const { op, path, from, value: by } = fieldsOf(value, 'A step of a patch');
  const known = STEPS.find((one) => typeof op === 'string' && one === op.toLowerCase());
  if (known === undefined) throw badRequest(`A patch has no operation ${JSON.stringify(op)?.slice(0, 40)}.`);
  if (typeof path !== 'string') throw badRequest('Every operation of a patch needs a path.');
  if (from !== undefined && typeof from !== 'string')
    throw badRequest('The property from of an operation must be a path.');
  return { op: known, path, ...(from !== undefined && { from }), ...(by !== undefined && { value: by }) };
}

/** A member of a batch. */
export interface BatchOperation {
  readonly operation: Operation;
  /** As JSON text, if it names its own. */
  readonly partitionKey: string | undefined;
}

/** Throws 400: a batch that cannot be read is not begun. */
export function batchIn(body: Uint8Array): readonly BatchOperation[] {
  const list = jsonIn(body);
  if (!Array.isArray(list)) throw badRequest('A batch must be a list of operations.');
  return list.map(memberIn);
}

function memberIn(value: unknown): BatchOperation {
  const fields = fieldsOf(value, 'An operation of a batch');
  const { operationType, partitionKey, ifMatch, ifNoneMatch } = fields;
  if (partitionKey !== undefined && partitionKey !== null && typeof partitionKey !== 'string')
    throw badRequest('The partitionKey of an operation must be the text of a JSON array.');
  const name = typeof operationType === 'string' ? operationType.toLowerCase() : '';
  return {
    operation: { ...operationIn(name, fields), ...conditions(ifMatch, ifNoneMatch) },
    partitionKey: typeof partitionKey === 'string' ? partitionKey : undefined,
  };
}

function operationIn(name: string, fields: Fields): Operation {
  switch (name) {
    case 'create':
    case 'upsert':
      return { op: name, body: bodyIn(fields) };
    case 'replace':
      return { op: name, id: idIn(fields), body: bodyIn(fields) };
    case 'patch':
      return { op: name, id: idIn(fields), ...patchIn(fields['resourceBody']) };
    case 'delete':
    case 'read':
      return { op: name, id: idIn(fields) };
    default:
      throw badRequest(
        `A batch has no operation ${JSON.stringify(fields['operationType'])?.slice(0, 40)}; it has Create, Upsert, Read, Replace, Patch and Delete.`,
      );
  }
}

function idIn({ id }: Fields): string {
  if (typeof id === 'string') return id;
  throw badRequest('An operation that is not Create or Upsert needs the id of its item.');
}

function bodyIn({ resourceBody }: Fields): Uint8Array {
  try {
    return nodeJson.format(fieldsOf(resourceBody, 'The resourceBody of an operation'));
  } catch (error) {
    // Text that is nested without end can be read, but not written again.
    if (error instanceof RangeError) throw badRequest('An item of the batch is nested too deeply.');
    throw error;
  }
}

function fieldsOf(value: unknown, what: string): Fields {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Fields;
  throw badRequest(`${what} must be an object.`);
}
