/**
 * Keys and values as users pass them in. A value is plain JSON, and only what survives the journey is let through: a
 * Date that comes back as a string, or NaN as null, would be a change that nobody made.
 */
import { CasPaxosError } from './errors.ts';
import type { UnknownOperation } from './outcomes.ts';

export const MAX_KEY_BYTES = 512;
export const DEFAULT_MAX_VALUE_BYTES = 1024 * 1024;
/** Registers that the library keeps for itself. */
export const RESERVED_PREFIX = '.baton.';
/** In which each set of acceptors is decided under the one before it (rule 9). */
export const CONFIGURATION_KEY = `${RESERVED_PREFIX}configuration`;

/** The error, or undefined for a key that can be used. */
export function checkKey(key: unknown): CasPaxosError | undefined {
  if (typeof key !== 'string' || key.length === 0) {
    return new CasPaxosError('KEY_INVALID', 'A key is a string of at least one character.');
  }
  if (!key.isWellFormed()) return new CasPaxosError('KEY_INVALID', 'A key must be well-formed Unicode.');
  if (key.startsWith(RESERVED_PREFIX)) {
    return new CasPaxosError(
      'KEY_RESERVED',
      `Keys that begin with ${RESERVED_PREFIX} belong to the library.`,
    );
  }
  const bytes = Buffer.byteLength(key);
  if (bytes <= MAX_KEY_BYTES) return undefined;
  return new CasPaxosError('KEY_TOO_LONG', `A key of ${bytes} bytes is over the limit of ${MAX_KEY_BYTES}.`);
}

/** The error, or undefined for an operation that a change returned as unknown, however it was stored meanwhile. */
export function checkOperation(operation: UnknownOperation): CasPaxosError | undefined {
  const { origin, sequence, sinceVersion, attempts } = operation;
  const counts = [sequence, sinceVersion, attempts].every(
    (count) => Number.isSafeInteger(count) && count >= 0,
  );
  if (counts && typeof origin === 'string' && /^\S{1,128}$/.test(origin)) return undefined;
  return new CasPaxosError(
    'OPERATION_INVALID',
    'What was passed as retryOf is not the operation of an unknown outcome.',
  );
}

/** The value as JSON text, or an error that says where it is not JSON. */
export function encodeValue(value: unknown, maxBytes = DEFAULT_MAX_VALUE_BYTES): string {
  const problem = isPlain(value, 0) ? undefined : findProblem(value, '');
  if (problem !== undefined)
    throw new CasPaxosError('VALUE_NOT_SERIALISABLE', `The value cannot be stored: ${problem}.`);
  return checkLength(JSON.stringify(value), maxBytes);
}

export function checkLength(json: string, maxBytes: number): string {
  // A character is at most three bytes in UTF-8, so most need no counting.
  const bytes = json.length * 3 <= maxBytes ? 0 : Buffer.byteLength(json);
  if (bytes <= maxBytes) return json;
  throw new CasPaxosError('VALUE_TOO_LARGE', `A value of ${bytes} bytes is over the limit of ${maxBytes}.`);
}

/** Deeper than this may be without end; the slow way finds out. */
const DEEP = 64;

/** Whether it is JSON for certain. Most values are, and this says so without naming every place in them. */
function isPlain(value: unknown, depth: number): boolean {
  if (typeof value === 'string' || typeof value === 'boolean' || value === null) return true;
  if (typeof value === 'number') return Number.isFinite(value);
  if (typeof value !== 'object' || depth > DEEP || 'toJSON' in value) return false;
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length; at += 1)
      if (!(at in value) || !isPlain(value[at], depth + 1)) return false;
    return Object.keys(value).length === value.length;
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return false;
  for (const name of Object.keys(value)) {
    const inner = (value as Record<string, unknown>)[name];
    if (inner !== undefined && !isPlain(inner, depth + 1)) return false;
  }
  return true;
}

function findProblem(value: unknown, path: string, above?: Set<object>): string | undefined {
  const where = path === '' ? 'it' : `its ${path.slice(1)}`;
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return undefined;
    case 'number':
      return Number.isFinite(value) ? undefined : `${where} is ${value}, which JSON does not have`;
    case 'object':
      return value === null ? undefined : findProblemInside(value, where, path, above);
    default:
      return `${where} is a ${typeof value}`;
  }
}

function findProblemInside(
  value: object,
  where: string,
  path: string,
  outer: Set<object> | undefined,
): string | undefined {
  const above = outer ?? new Set();
  if (above.has(value)) return `${where} contains itself`;
  const isArray = Array.isArray(value);
  const prototype: unknown = Object.getPrototypeOf(value);
  if (!isArray && prototype !== Object.prototype && prototype !== null) {
    return `${where} is ${nameOf(value)}, not a plain object`;
  }
  if ('toJSON' in value) return `${where} has a toJSON of its own`;
  const hole = isArray ? Array.from(value.keys()).find((index) => !(index in value)) : undefined;
  if (hole !== undefined) return `${where} has no element ${hole}`;
  above.add(value);
  for (const [name, inner] of Object.entries(value)) {
    if (inner === undefined && !isArray) continue;
    const problem = findProblem(inner, `${path}.${name}`, above);
    if (problem !== undefined) return problem;
  }
  above.delete(value);
  return undefined;
}

function nameOf(value: object): string {
  const name = (value.constructor as { name?: unknown } | undefined)?.name;
  return typeof name === 'string' && name !== '' ? `a ${name}` : 'an object of some class';
}

/** Equality of JSON values; the order of an object's members does not matter. */
export function sameJson(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const left = members(a);
  const right = members(b);
  return (
    left.size === right.size &&
    [...left].every(([name, value]) => right.has(name) && sameJson(value, right.get(name)))
  );
}

function members(value: object): ReadonlyMap<string, unknown> {
  return new Map(Object.entries(value).filter(([, inner]) => inner !== undefined));
}

/** Throws on one that cannot be used. */
export function proposerName(name: string): string {
  if (/^\S{1,64}$/.test(name)) return name;
  throw new CasPaxosError('PROPOSER_INVALID', 'A proposer name has 1 to 64 characters and no white space.');
}
