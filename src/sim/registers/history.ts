/**
 * What the clients did and what they were told, in true time. An operation that is continued after an unknown outcome, by
 * whichever process, is one operation of several calls: it began when the first of them began, and it ended when one of
 * them was told how. A call that its process did not live to see the end of has none.
 */
import type { ChangeOutcome, UnknownOperation } from '../../caspaxos/index.ts';
import type { VersionedOperation } from '../../check/index.ts';

/** The register that is put and deleted; the values of all others only grow. */
export const ERASABLE_KEY = 'erasable';

/** A register's value: the names of the operations that made it. */
export type Value = readonly string[];

export type OperationKind = 'append' | 'when' | 'swap' | 'touch' | 'read' | 'put' | 'delete';

export interface RecordedOperation {
  readonly name: string;
  readonly kind: OperationKind;
  readonly key: string;
  readonly client: string;
  /** In which cluster it was begun, and is continued. */
  readonly cluster: string;
  /** What a swap is to replace. */
  readonly expected?: Value | undefined;
  readonly calls: RecordedCall[];
  /** To continue it with, as long as nobody knows what became of it. */
  token: UnknownOperation | undefined;
}

export interface RecordedCall {
  /** Whoever continues an operation may be another one than began it. */
  readonly client: string;
  readonly start: number;
  end: number;
  /** Undefined: nobody was told. */
  outcome: 'committed' | 'rejected' | 'unknown' | 'read' | 'failed' | undefined;
  changed: boolean;
  /** What it made, or saw. */
  version: number | undefined;
  value: Value | undefined;
  /** By when its caller could expect an answer; `Infinity`: it was in a hurry, or the library was closed under it. */
  dueBy: number;
}

export class History {
  readonly operations: RecordedOperation[] = [];
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  begin(
    what: Pick<RecordedOperation, 'name' | 'kind' | 'key' | 'client' | 'cluster' | 'expected'>,
  ): RecordedOperation {
    const operation = { ...what, calls: [], token: undefined };
    this.operations.push(operation);
    return operation;
  }

  call(operation: RecordedOperation, client: string, patienceMs: number): RecordedCall {
    const call: RecordedCall = {
      client,
      start: this.#now(),
      end: Infinity,
      outcome: undefined,
      changed: false,
      version: undefined,
      value: undefined,
      dueBy: this.#now() + patienceMs,
    };
    operation.calls.push(call);
    return call;
  }

  changed(operation: RecordedOperation, call: RecordedCall, outcome: ChangeOutcome<Value>): void {
    call.outcome = outcome.outcome;
    call.end = this.#now();
    if (outcome.outcome === 'committed') {
      call.changed = outcome.changed;
      call.version = outcome.version;
      call.value = outcome.appliedBefore ? undefined : (outcome.value ?? []);
    } else if (outcome.outcome === 'unknown') {
      operation.token = outcome.operation;
    } else if (outcome.current !== undefined) {
      call.version = outcome.current.version;
      call.value = outcome.current.value ?? [];
    }
  }

  /** `found` is undefined when the read failed. */
  read(
    call: RecordedCall,
    found: { readonly value: Value | undefined; readonly version: number } | undefined,
  ): void {
    call.end = this.#now();
    call.outcome = found === undefined ? 'failed' : 'read';
    call.version = found?.version;
    call.value = found && (found.value ?? []);
  }
}

/** The first call that was told that the operation has changed the register. */
export function commitOf({ calls }: RecordedOperation): RecordedCall | undefined {
  const commits = calls.filter(({ outcome, changed }) => outcome === 'committed' && changed);
  return commits.sort((a, b) => a.end - b.end)[0];
}

export function isRejected({ calls }: RecordedOperation): boolean {
  return calls.some(({ outcome }) => outcome === 'rejected');
}

/** As the checker of linearizability wants it. Who is rejected and told what was there has also read that. */
export function versioned(operation: RecordedOperation): readonly VersionedOperation[] {
  const { name, kind, key, client, calls } = operation;
  const common = { process: client, key, operation: name };
  const reads = calls
    .filter(({ version, changed }) => version !== undefined && !changed)
    .map(({ start, end, version, value }): VersionedOperation => {
      return { ...common, kind: 'read', start, end, version, value: value && JSON.stringify(value) };
    });
  if (kind === 'read' || kind === 'touch') return reads;
  const commit = commitOf(operation);
  const { start } = calls[0]!;
  if (commit !== undefined) {
    const { end, version } = commit;
    const value = calls.find((call) => call.changed && call.value !== undefined)?.value;
    return [
      ...reads,
      { ...common, kind: 'change', start, end, version, value: value && JSON.stringify(value) },
    ];
  }
  const value = valueMadeBy(operation);
  return [...reads, { ...common, kind: isRejected(operation) ? 'rejected' : 'change', start, value }];
}

/** What it leaves behind if it happens, where that does not depend on what it meets. */
function valueMadeBy({ kind, name, expected }: RecordedOperation): string | undefined {
  if (kind === 'append' || kind === 'when') return undefined;
  return JSON.stringify(kind === 'delete' ? [] : [...(expected ?? []), name]);
}
