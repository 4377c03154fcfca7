/**
 * What clients do: which of a few documents of a partition-set they write, read and scan, and with what. All values are unique
 * in a run, so that the checkers can tell who wrote what was read.
 */
import { CONSISTENCY_LEVELS, type ConsistencyLevel, type Position } from '../../check/index.ts';
import { etagOf, nodeJson, type Operation } from '../../engine/index.ts';
import type { Random } from '../core/index.ts';
import type { SetRecorder } from './recorder.ts';

export interface DocumentName {
  readonly partitionKey: string;
  readonly id: string;
}

/** One change of a write: what goes on record for its document. */
export interface Change {
  readonly kind: 'write' | 'delete';
  readonly name: DocumentName;
  readonly value?: string;
  readonly condition?: Position | 'absent';
  readonly operation: Operation;
}

export type Task =
  | { readonly task: 'write'; readonly changes: readonly Change[] }
  | { readonly task: 'read'; readonly name: DocumentName; readonly level: ConsistencyLevel }
  | { readonly task: 'scan'; readonly level: ConsistencyLevel };

export interface WorkloadOptions {
  readonly client: string;
  readonly documents: number;
  /** Of the account. */
  readonly level: ConsistencyLevel;
}

const PARTITION_KEYS = ['p', 'q'] as const;

export class Workload {
  readonly #options: WorkloadOptions;
  readonly #random: Random;
  readonly #seen = new Map<string, Position>();
  #names = 0;

  constructor(options: WorkloadOptions, random: Random) {
    this.#options = options;
    this.#random = random;
  }

  next(recorder: SetRecorder): Task {
    const choice = this.#random.uniform();
    if (choice < 0.3) return written(this.upsert());
    if (choice < 0.37) return written(this.#create());
    if (choice < 0.44) return written(this.#delete());
    if (choice < 0.54) return written(this.#replace(recorder));
    if (choice < 0.62) return written(this.#batch());
    if (choice < 0.94) return { task: 'read', name: this.document(), level: this.#level() };
    return { task: 'scan', level: this.#level() };
  }

  upsert(): readonly Change[] {
    return [this.#upsertOf(this.document())];
  }

  /** The version of a document that the client saw last. */
  saw({ partitionSet }: SetRecorder, name: DocumentName, { epoch, lsn }: Position): void {
    this.#seen.set(`${partitionSet} ${nameOf(name)}`, { epoch, lsn });
  }

  /** A name that nobody else uses. */
  nextName(): string {
    this.#names += 1;
    return `${this.#options.client}-${this.#names}`;
  }

  /** All documents that there may be. */
  documents(): readonly DocumentName[] {
    return PARTITION_KEYS.flatMap((partitionKey) => this.#ids().map((id) => ({ partitionKey, id })));
  }

  document(): DocumentName {
    const all = this.documents();
    return all[this.#random.integer(all.length)]!;
  }

  #upsertOf(name: DocumentName): Change {
    const value = this.nextName();
    return { kind: 'write', name, value, operation: { op: 'upsert', body: bodyOf(name, value) } };
  }

  #create(): readonly Change[] {
    const name = this.document();
    const value = this.nextName();
    const operation: Operation = { op: 'create', body: bodyOf(name, value) };
    return [{ kind: 'write', name, value, condition: 'absent', operation }];
  }

  #delete(): readonly Change[] {
    const name = this.document();
    return [{ kind: 'delete', name, operation: { op: 'delete', id: name.id } }];
  }

  /** Replaces the version that it saw last. */
  #replace({ partitionSet }: SetRecorder): readonly Change[] {
    const name = this.document();
    const condition = this.#seen.get(`${partitionSet} ${nameOf(name)}`);
    if (condition === undefined) return this.upsert();
    const value = this.nextName();
    const body = bodyOf(name, value);
    const operation: Operation = { op: 'replace', id: name.id, body, ifMatch: etagOf(condition) };
    return [{ kind: 'write', name, value, condition, operation }];
  }

  #batch(): readonly Change[] {
    const { partitionKey } = this.document();
    const ids = this.#ids().filter(() => this.#random.uniform() < 0.5);
    const changes = ids.map((id) => this.#upsertOf({ partitionKey, id }));
    return changes.length === 0 ? this.upsert() : changes;
  }

  /** The account's, or a weaker one. */
  #level(): ConsistencyLevel {
    const { level } = this.#options;
    const own = CONSISTENCY_LEVELS.indexOf(level);
    if (this.#random.uniform() < 0.6) return level;
    return CONSISTENCY_LEVELS[own + this.#random.integer(CONSISTENCY_LEVELS.length - own)]!;
  }

  #ids(): readonly string[] {
    return Array.from({ length: this.#options.documents }, (_, at) => `d${at}`);
  }
}

function written(changes: readonly Change[]): Task {
  return { task: 'write', changes };
}

function bodyOf({ partitionKey, id }: DocumentName, value: string): Uint8Array {
  return nodeJson.format({ id, pk: partitionKey, value });
}

/** As the recorder names it. */
export function nameOf({ partitionKey, id }: DocumentName): string {
  return `${partitionKey}/${id}`;
}

export function plain({ epoch, lsn }: Position): Position {
  return { epoch, lsn };
}
