/**
 * Partial updates. A patch is a list of steps on one document, applied in order, all of them or none. The steps are those
 * of the API, which differ from RFC 6902: `set` writes whether or not there was a value (in an array it overwrites where
 * `add` inserts), `incr` adds to a number and begins at zero, and there is no `copy` and no `test`.
 *
 * What a document is found by, and what the system says about it, cannot be patched.
 */
import { copy, isDeeperThan, put, type JsonObject } from './json-value.ts';
import { overlaps, parsePointer, placeOf, type Place, type Pointer } from './pointer.ts';
import type { Limits, PatchStep } from './request.ts';
import { SYSTEM_PROPERTIES } from './validate.ts';

export type Patched =
  | { readonly ok: true; readonly document: JsonObject }
  | { readonly ok: false; readonly message: string };

/** Changes `document`, which the caller parsed for this; when a step fails the caller throws it away. */
export function patch(
  document: JsonObject,
  steps: readonly PatchStep[],
  partitionKeyPaths: readonly Pointer[],
  limits: Limits,
): Patched {
  if (steps.length === 0) return { ok: false, message: 'A patch needs at least one step.' };
  if (steps.length > limits.patchSteps) {
    const message = `The patch has ${steps.length} steps; at most ${limits.patchSteps} are allowed.`;
    return { ok: false, message };
  }
  for (const [index, step] of steps.entries()) {
    const problem = applyStep(document, step, partitionKeyPaths, limits);
    if (problem !== undefined) {
      const message = `Step ${index + 1} of the patch, ${step.op} ${step.path}, failed: ${problem}.`;
      return { ok: false, message };
    }
  }
  return { ok: true, document };
}

type Problem = string | undefined;

function applyStep(
  document: JsonObject,
  step: PatchStep,
  partitionKeyPaths: readonly Pointer[],
  limits: Limits,
): Problem {
  const pointer = pointerOf(step.path, partitionKeyPaths);
  if (typeof pointer === 'string') return pointer;
  switch (step.op) {
    case 'add':
    case 'set':
    case 'replace':
      if (step.value === undefined) return 'it needs a value';
      if (isDeeperThan(step.value, limits.nesting)) return 'its value is nested too deeply';
      return write(placeOf(document, pointer), step.op, copy(step.value));
    case 'remove':
      return removeAt(placeOf(document, pointer));
    case 'incr':
      return increment(placeOf(document, pointer), step.value);
    case 'move': {
      const from = pointerOf(step.from, partitionKeyPaths);
      return typeof from === 'string' ? from : move(document, from, pointer);
    }
    default:
      return 'there is no such step';
  }
}

/** The pointer, or why it cannot be used. */
function pointerOf(path: unknown, partitionKeyPaths: readonly Pointer[]): Pointer | string {
  const pointer = typeof path === 'string' ? parsePointer(path) : undefined;
  if (pointer === undefined) return 'the path is not a JSON pointer to a property';
  if (pointer[0] === 'id') return 'the id of an item cannot be changed';
  if (SYSTEM_PROPERTIES.has(pointer[0]!)) return 'system properties cannot be changed';
  if (partitionKeyPaths.some((key) => overlaps(key, pointer))) return 'the partition key cannot be changed';
  return pointer;
}

const NOWHERE = 'the path leads to nothing';

function write(place: Place | undefined, op: 'add' | 'set' | 'replace', value: unknown): Problem {
  if (place === undefined || (op === 'replace' && !place.exists)) return NOWHERE;
  if (place.in === 'object') put(place.object, place.name, value);
  else place.array.splice(place.index, op === 'add' ? 0 : 1, value);
  return undefined;
}

function removeAt(place: Place | undefined): Problem {
  if (!place?.exists) return NOWHERE;
  if (place.in === 'object') delete place.object[place.name];
  else place.array.splice(place.index, 1);
  return undefined;
}

function increment(place: Place | undefined, by: unknown): Problem {
  if (typeof by !== 'number') return 'it needs a number as its value';
  if (place === undefined || (place.in === 'array' && !place.exists)) return NOWHERE;
  const old = place.exists ? valueAt(place) : 0;
  if (typeof old !== 'number') return 'what is there is not a number';
  if (!Number.isFinite(old + by)) return 'the sum is too large';
  return write(place, 'set', old + by);
}

function move(document: JsonObject, from: Pointer, to: Pointer): Problem {
  if (overlaps(from, to) && from.length < to.length) return 'a value cannot be moved into itself';
  const source = placeOf(document, from);
  if (!source?.exists) return 'there is nothing to move';
  const value = valueAt(source);
  return removeAt(source) ?? write(placeOf(document, to), 'add', value);
}

function valueAt(place: Place): unknown {
  return place.in === 'object' ? place.object[place.name] : place.array[place.index];
}
