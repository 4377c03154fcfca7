/** The partition key of a document: taken out of its body, and read from and written to the API's form, `["a"]`. */
import { has, isObject, type JsonObject } from './json-value.ts';
import type { ContainerSettings, Limits, PartitionKey, PartitionKeyPart } from './request.ts';
import { utf8Length } from './utf8.ts';

/** `undefined`: one of the paths leads to an object or an array, which cannot be a key. */
export function partitionKeyOf(document: JsonObject, settings: ContainerSettings): PartitionKey | undefined {
  const key: PartitionKeyPart[] = [];
  for (const segments of pathsOf(settings)) {
    const value = valueAt(document, segments);
    if (typeof value === 'object' && value !== null) return undefined;
    key.push(normal(value as PartitionKeyPart));
  }
  return key;
}

export function samePartitionKey(a: PartitionKey, b: PartitionKey): boolean {
  return a.length === b.length && a.every((part, index) => part === b[index]);
}

/** The values as JSON text; `{}` stands for the property that a document does not have. */
export function formatPartitionKey(key: PartitionKey): string {
  return `[${key.map((part) => (part === undefined ? '{}' : JSON.stringify(part))).join()}]`;
}

/** `undefined`: the text is not a partition key. */
export function parsePartitionKey(text: string): PartitionKey | undefined {
  let values: unknown;
  try {
    values = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!Array.isArray(values) || !values.every(isPart)) return undefined;
  return values.map((value) => (isObject(value) ? undefined : normal(value as PartitionKeyPart)));
}

/** What is wrong with the key of a request, in one sentence. */
export function partitionKeyProblem(
  key: PartitionKey,
  settings: ContainerSettings,
  limits: Limits,
): string | undefined {
  const expected = settings.partitionKeyPaths.length;
  if (key.length !== expected) {
    return `The partition key has ${key.length} values, but the container has ${expected} partition key paths.`;
  }
  let bytes = 0;
  for (const part of key) {
    if (typeof part === 'string') {
      if (!part.isWellFormed()) return 'The partition key is not well-formed Unicode.';
      bytes += utf8Length(part);
    } else if (typeof part === 'number' && !Number.isFinite(part)) {
      return 'The partition key holds a number that is too large.';
    }
  }
  return bytes <= limits.partitionKeyBytes
    ? undefined
    : `The partition key has ${bytes} bytes; at most ${limits.partitionKeyBytes} are allowed.`;
}

const parsedPaths = new WeakMap<readonly string[], readonly (readonly string[])[]>();

/** The names that each partition key path of the container goes through. */
export function pathsOf({ partitionKeyPaths }: ContainerSettings): readonly (readonly string[])[] {
  let paths = parsedPaths.get(partitionKeyPaths);
  if (paths === undefined) {
    paths = partitionKeyPaths.map((path) => parsePath(path) ?? []);
    parsedPaths.set(partitionKeyPaths, paths);
  }
  return paths;
}

/** `/a/b`, or with quotation marks around a name that holds a slash: `/"a/b"`. `undefined`: it is no such path. */
export function parsePath(path: string): readonly string[] | undefined {
  const names: string[] = [];
  for (let at = 0; at < path.length;) {
    if (path[at] !== '/') return undefined;
    const quote = path[at + 1];
    const quoted = quote === '"' || quote === "'";
    const start = quoted ? at + 2 : at + 1;
    const found = path.indexOf(quoted ? quote : '/', start);
    if (quoted && found < 0) return undefined;
    const end = found < 0 ? path.length : found;
    if (end === start) return undefined;
    names.push(path.slice(start, end));
    at = quoted ? end + 1 : end;
  }
  return names.length === 0 ? undefined : names;
}

function valueAt(document: JsonObject, segments: readonly string[]): unknown {
  let value: unknown = document;
  for (const name of segments) {
    if (!isObject(value) || !has(value, name)) return undefined;
    value = value[name];
  }
  return value;
}

function isPart(value: unknown): boolean {
  if (typeof value === 'object' && value !== null) return isObject(value) && Object.keys(value).length === 0;
  return true;
}

/** Minus zero is written as zero, so it has to be the same key. */
function normal(part: PartitionKeyPart): PartitionKeyPart {
  return part === 0 ? 0 : part;
}
