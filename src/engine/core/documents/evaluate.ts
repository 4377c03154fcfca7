/**
 * What a write does. The write region calls this with the newest versions that it has, committed or not, and gets either
 * the changes of one entry of the log, or a refusal. Bad input is a refusal, never an exception.
 *
 * A batch is all or nothing. Its operations see what the ones before them did; an item that several of them touch has one
 * change in the end, its last state, because an entry holds one version of a document. What each operation shows is the
 * item as that operation left it.
 *
 * A refusal speaks of what is stored ("there is such an item already"), and must not be told before that is committed
 * everywhere: a failover could make it untrue. `sawLsn` is how far the caller has to wait. A write needs no such thing: when
 * its own entry is committed, so is everything before it.
 */
import {
  etagOf,
  timestampOf,
  type Change,
  type DocumentKey,
  type Glance,
  type JsonBytes,
  type OperationResult,
  type Version,
} from '../model.ts';
import { parseCondition, type Condition } from './condition.ts';
import { holds } from './condition-values.ts';
import { NOT_FOUND, unmet } from './conditions.ts';
import { epkOf } from './epk.ts';
import { put, type JsonObject } from './json-value.ts';
import { formatPartitionKey, partitionKeyProblem, pathsOf } from './partition-key.ts';
import { patch } from './patch.ts';
import type { Operation, PartitionKey, PatchStep, WriteRequest } from './request.ts';
import { validateBody, validateDocument, type Item, type ItemContext } from './validate.ts';
import type { Readable } from './versions.ts';

export interface DocumentView {
  /** Of the newest version, a deletion too. */
  glance(key: DocumentKey): Glance | undefined;
  /** The version that was glanced at, for those who need its body or its etag. */
  find(key: DocumentKey): Version | undefined;
}

export interface EvaluationContext extends ItemContext {
  /** Milliseconds since 1970 on the writer's wall clock. */
  readonly now: number;
  /** For a caller that knows the effective partition key already. */
  readonly epkOf?: (key: PartitionKey) => string;
}

/** The item that an operation's answer shows. */
export type Shown =
  /** Read, and still as it was before this request. */
  | { readonly from: 'log'; readonly version: Readable<Version> }
  /** Written by this request: `versionIn(entry, change)` is the version, with the etag of the entry to come. */
  | { readonly from: 'entry'; readonly change: Readable<Change> };

export interface Answer extends OperationResult {
  readonly shows?: Shown;
}

export type Evaluation =
  /** `createdLsn` 0 in a change means the entry that it becomes part of. One change for each item, at least one in all. */
  | { readonly outcome: 'write'; readonly changes: readonly Change[]; readonly results: readonly Answer[] }
  /** One of the operations, or the request as a whole, has a status of 400 or above. */
  | { readonly outcome: 'refused'; readonly results: readonly Answer[]; readonly sawLsn: number }
  /** Nothing but reads. */
  | { readonly outcome: 'unchanged'; readonly results: readonly Answer[]; readonly sawLsn: number };

export function evaluate(request: WriteRequest, view: DocumentView, context: EvaluationContext): Evaluation {
  const { operations } = request;
  const problem = requestProblem(request, context);
  if (problem !== undefined) {
    const results = operations.length === 0 ? [problem] : operations.map(() => problem);
    return { outcome: 'refused', results, sawLsn: 0 };
  }
  const attempt = new Attempt(request.partitionKey, view, context);
  const results: Answer[] = [];
  for (const operation of operations) {
    const tried = attempt.apply(operation);
    const answer = operations.length > 1 ? (tooMuchWork(attempt, context) ?? tried) : tried;
    if (answer.status >= 400) {
      const all = operations.map((_, index) => (index === results.length ? answer : FAILED_WITH_ANOTHER));
      return { outcome: 'refused', results: all, sawLsn: attempt.sawLsn };
    }
    results.push(answer);
  }
  const changes = attempt.changes();
  if (changes.length === 0) return { outcome: 'unchanged', results, sawLsn: attempt.sawLsn };
  return { outcome: 'write', changes, results };
}

/**
 * A batch of a few hundred bytes can patch items of many megabytes: what it makes has to fit into an entry, which every region is sent,
 * and others wait while it is made.
 */
function tooMuchWork({ workBytes }: Attempt, { limits }: EvaluationContext): OperationResult | undefined {
  if (workBytes <= limits.workBytes) return undefined;
  const message = `The operations of the batch up to this one read and write ${workBytes} bytes of items; at most ${limits.workBytes} are allowed.`;
  return { status: 413, message };
}

const FAILED_WITH_ANOTHER: OperationResult = {
  status: 424,
  message: 'Another operation of the batch failed.',
};
const EXISTS: OperationResult = {
  status: 409,
  message: 'There is an item with this id and partition key already.',
};
const CONDITION_FAILED: OperationResult = {
  status: 412,
  message: 'The condition of the patch does not hold for the item.',
};
const SAME_HASH: OperationResult = {
  status: 409,
  message: 'An item whose partition key has the same hash as this one has this id already.',
};

function requestProblem(
  request: WriteRequest,
  { settings, limits }: ItemContext,
): OperationResult | undefined {
  const { operations, operation: name, partitionKey } = request;
  if (operations.length === 0) return bad('The request has no operations.');
  if (operations.length > limits.batchOperations) {
    return bad(
      `The batch has ${operations.length} operations; at most ${limits.batchOperations} are allowed.`,
    );
  }
  if (name !== undefined && !/^[\x20-\x7e]{1,64}$/.test(name)) {
    return bad('The name of an operation must be 1 to 64 printable ASCII characters.');
  }
  const problem = partitionKeyProblem(partitionKey, settings, limits);
  if (problem !== undefined) return bad(problem);
  if (operations.length === 1) return undefined;
  const bytes = operations.reduce((sum, each) => sum + ('body' in each ? each.body.length : 0), 0);
  if (bytes <= limits.batchBytes) return undefined;
  return { status: 413, message: `The batch has ${bytes} bytes; at most ${limits.batchBytes} are allowed.` };
}

/** An item of the request: how it was, and what the request has made of it so far. */
interface Place {
  readonly id: string;
  readonly stored: Glance | undefined;
  change?: Change;
}

/** What the item is now: as it is stored, or as this request has left it. */
type Current = { readonly from: 'log'; readonly glance: Glance } | (Shown & { readonly from: 'entry' });

class Attempt {
  /** The highest LSN of any version that was looked at. */
  sawLsn = 0;
  /** Of the bodies that were taken apart, made and shown. */
  workBytes = 0;
  readonly #key: PartitionKey;
  readonly #epk: string;
  readonly #keyText: string;
  readonly #view: DocumentView;
  readonly #context: EvaluationContext;
  readonly #places = new Map<string, Place>();

  constructor(key: PartitionKey, view: DocumentView, context: EvaluationContext) {
    this.#key = key;
    this.#epk = (context.epkOf ?? epkOf)(key);
    this.#keyText = formatPartitionKey(key);
    this.#view = view;
    this.#context = context;
  }

  changes(): Change[] {
    const changes: Change[] = [];
    for (const { change } of this.#places.values()) if (change !== undefined) changes.push(change);
    return changes;
  }

  apply(operation: Operation): Answer {
    switch (operation.op) {
      case 'create':
      case 'upsert':
      case 'replace': {
        const validated = validateBody(operation.body, this.#key, this.#context);
        if (!validated.ok) return validated.result;
        const { item } = validated;
        if (operation.op === 'replace' && operation.id !== item.id) {
          return bad('The id in the body is not the one of the request.');
        }
        return this.#on(item.id, operation, (place, current) => this.#write(place, current, item));
      }
      case 'patch': {
        const { id, steps, filter } = operation;
        const parsed = filter === undefined ? undefined : parseCondition(filter);
        if (parsed?.ok === false) return bad(parsed.message);
        return this.#on(id, operation, (place, current) =>
          this.#patch(place, current!, steps, parsed?.condition),
        );
      }
      case 'delete':
        return this.#on(operation.id, operation, (place) => this.#delete(place, operation.id));
      case 'read':
        return this.#on(operation.id, operation, (place, current) => ({
          status: 200,
          shows: this.#shown(place, current!),
        }));
    }
  }

  /** Looks the item up and carries the operation out, if the item is there or not as the operation needs it. */
  #on(
    id: string,
    operation: Operation,
    carryOut: (place: Place, current: Current | undefined) => Answer,
  ): Answer {
    const place = this.#placeOf(id);
    const current = this.#currentAt(place);
    if (current === undefined) {
      const creates = operation.op === 'create' || operation.op === 'upsert';
      return creates ? carryOut(place, undefined) : NOT_FOUND;
    }
    const { partitionKey } = current.from === 'log' ? current.glance : current.change;
    if (partitionKey !== this.#keyText) return SAME_HASH;
    if (operation.op === 'create') return EXISTS;
    const isConditional = operation.ifMatch !== undefined || operation.ifNoneMatch !== undefined;
    const etag = isConditional && current.from === 'log' ? etagOf(this.#versionOf(place)) : undefined;
    const refusal = unmet(operation, etag, operation.op === 'read' ? 'read' : 'write');
    if (refusal === undefined) return carryOut(place, current);
    return refusal.status === 304 ? { ...refusal, shows: this.#shown(place, current) } : refusal;
  }

  #placeOf(id: string): Place {
    let place = this.#places.get(id);
    if (place === undefined) {
      const stored = this.#view.glance({ epk: this.#epk, id });
      if (stored !== undefined && stored.lsn > this.sawLsn) this.sawLsn = stored.lsn;
      place = { id, stored };
      this.#places.set(id, place);
    }
    return place;
  }

  #currentAt({ stored, change }: Place): Current | undefined {
    if (change !== undefined) return isReadable(change) ? { from: 'entry', change } : undefined;
    const isThere = stored !== undefined && !stored.isDeleted && this.#context.now < stored.expiresAt;
    return isThere ? { from: 'log', glance: stored } : undefined;
  }

  #shown(place: Place, current: Current): Shown {
    const shown: Shown =
      current.from === 'entry' ? current : { from: 'log', version: this.#versionOf(place) };
    this.workBytes += (shown.from === 'entry' ? shown.change : shown.version).body.length;
    return shown;
  }

  /** Of an item that is there. */
  #versionOf({ id }: Place): Readable<Version> {
    return this.#view.find({ epk: this.#epk, id }) as Readable<Version>;
  }

  #write(place: Place, current: Current | undefined, item: Item): Answer {
    const change = { ...this.#changeOf(place, item.id, current), ...item };
    this.workBytes += change.body.length;
    place.change = change;
    return { status: current === undefined ? 201 : 200, shows: { from: 'entry', change } };
  }

  #patch(
    place: Place,
    current: Current,
    steps: readonly PatchStep[],
    condition: Condition | undefined,
  ): Answer {
    const { json, settings, limits } = this.#context;
    const document = json.parse(this.#bodyOf(place, current)) as JsonObject;
    if (condition !== undefined) {
      const refusal = this.#unheld(condition, document, place, current);
      if (refusal !== undefined) return refusal;
    }
    const patched = patch(document, steps, pathsOf(settings), limits);
    if (!patched.ok) return bad(patched.message);
    const validated = validateDocument(patched.document, undefined, this.#key, this.#context);
    return validated.ok ? this.#write(place, current, validated.item) : validated.result;
  }

  /** A condition may speak of what the system says about the item, too. It is taken out again when the item is written. */
  #unheld(
    condition: Condition,
    document: JsonObject,
    place: Place,
    current: Current,
  ): OperationResult | undefined {
    if (current.from === 'log') {
      const version = this.#versionOf(place);
      put(document, '_etag', etagOf(version));
      put(document, '_ts', timestampOf(version));
    }
    const isHeld = holds(condition, document);
    if (isHeld === undefined)
      return bad('The condition takes too much work on an item as large as this one.');
    return isHeld ? undefined : CONDITION_FAILED;
  }

  #delete(place: Place, id: string): Answer {
    place.change = this.#changeOf(place, id, this.#currentAt(place));
    return { status: 204 };
  }

  #bodyOf(place: Place, current: Current): JsonBytes {
    const { body } = current.from === 'entry' ? current.change : this.#versionOf(place);
    this.workBytes += body.length;
    return body;
  }

  /** Without a body: what any change of this item says. */
  #changeOf({ stored }: Place, id: string, current: Current | undefined): Change {
    return {
      epk: this.#epk,
      id,
      partitionKey: this.#keyText,
      createdLsn: current === undefined ? 0 : createdLsnIn(current),
      previous: stored?.lsn ?? 0,
    };
  }
}

function createdLsnIn(current: Current): number {
  return current.from === 'log' ? current.glance.createdLsn : current.change.createdLsn;
}

function isReadable(change: Change): change is Readable<Change> {
  return change.body !== undefined;
}

function bad(message: string): OperationResult {
  return { status: 400, message };
}
