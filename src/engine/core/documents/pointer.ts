/** JSON pointers (RFC 6901), and the place in a document that one means. */
import { has, isObject, type JsonObject } from './json-value.ts';

export type Pointer = readonly string[];

/** `undefined`: it is not a pointer, or it means the whole document. */
export function parsePointer(text: string): Pointer | undefined {
  if (!text.startsWith('/') || /~(?![01])/.test(text)) return undefined;
  return text
    .slice(1)
    .split('/')
    .map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'));
}

/** Whether one of the two is the other or lies inside of it. */
export function overlaps(a: Pointer, b: Pointer): boolean {
  const shared = Math.min(a.length, b.length);
  for (let index = 0; index < shared; index++) if (a[index] !== b[index]) return false;
  return true;
}

/** A place that exists or could: a name in an object, an index of an array (its length: just behind its end). */
export type Place =
  | { readonly in: 'object'; readonly object: JsonObject; readonly name: string; readonly exists: boolean }
  | { readonly in: 'array'; readonly array: unknown[]; readonly index: number; readonly exists: boolean };

/** `undefined`: what should contain the place does not exist, or is no object or array, or has no such index. */
export function placeOf(document: JsonObject, pointer: Pointer): Place | undefined {
  let container: unknown = document;
  for (const name of pointer.slice(0, -1)) {
    container = memberOf(container, name);
    if (container === undefined) return undefined;
  }
  const name = pointer.at(-1)!;
  if (isObject(container)) return { in: 'object', object: container, name, exists: has(container, name) };
  if (!Array.isArray(container)) return undefined;
  const index = name === '-' ? container.length : indexOf(name);
  if (index === undefined || index > container.length) return undefined;
  return { in: 'array', array: container, index, exists: index < container.length };
}

function memberOf(container: unknown, name: string): unknown {
  if (isObject(container)) return has(container, name) ? container[name] : undefined;
  if (!Array.isArray(container)) return undefined;
  const index = indexOf(name);
  return index === undefined ? undefined : container[index];
}

function indexOf(name: string): number | undefined {
  return /^(0|[1-9]\d{0,9})$/.test(name) ? Number(name) : undefined;
}
