/**
 * The fast path for registers that number their changes. Every committed change of a key makes the next version (the
 * first makes 1; 0 is a register never written), an acknowledged change tells the version it made, and a read tells
 * the version it saw. The versions give away the order that the general checker has to search for, so linearizability
 * is decided exactly, in n log n, for hundreds of thousands of operations. A history is linearizable if and only if
 *
 * 1. no two changes made one version, and all who saw a version saw one value, that of the change that made it;
 * 2. whoever started after another had ended saw at least its version, and made a higher one;
 * 3. each version up to the highest seen that no acknowledged change claims can be put down to a change of unknown
 *    outcome of its own, which started before anyone who saw that version or a later one had ended, and
 *    whose value, where both are known, is the one that was seen (`attribution.ts`).
 *
 * Sufficient, because ordering the changes by version, with the reads of a version behind the change that made it,
 * keeps to real time by 2 and 3. Values are compared as strings. What a change *does* is not checked: that an increment
 * adds one is for the general checker with a model of its own.
 */
import { unreachable } from '../protocol/index.ts';
import { firstUnattributed, type UnknownChange } from './attribution.ts';
import { endOf, formatWhen, partitionByKey } from './history.ts';

export interface VersionedOperation {
  readonly process: string | number;
  readonly key?: string | undefined;
  /**
   * A rejected change is known not to have happened: nobody may have seen it. What its rejection says of the version it
   * met is not looked at; a caller who wants that checked adds a read.
   */
  readonly kind: 'change' | 'read' | 'rejected';
  readonly start: number;
  /** When the answer came. */
  readonly end?: number | undefined;
  /** The version made or seen. A change without one is of unknown outcome; a read without one says nothing. */
  readonly version?: number | undefined;
  /** The value after the change, or the one that was read; absent when the client does not know it. */
  readonly value?: string | undefined;
  /** A name for people to find the operation by. */
  readonly operation?: string | undefined;
}

type Answered = VersionedOperation & { readonly version: number };

export type VersionedViolation =
  | { readonly kind: 'impossible version'; readonly seen: VersionedOperation }
  | {
      readonly kind: 'two changes of one version' | 'two values of one version';
      readonly version: number;
      readonly first: VersionedOperation;
      readonly second: VersionedOperation;
    }
  /** `later` started after `earlier` had ended, and yet comes before it by its version. */
  | {
      readonly kind: 'out of order';
      readonly earlier: VersionedOperation;
      readonly later: VersionedOperation;
    }
  | {
      readonly kind: 'unexplained version';
      readonly version: number;
      /** Who saw the version's value; if nobody did, who saw a higher version. */
      readonly seen: VersionedOperation;
      /** Changes of unknown outcome that could have made it, were they not needed for other versions. */
      readonly candidates: number;
      /** A change with the value that was seen: a rejected one, or one that made another version. */
      readonly resembles: VersionedOperation | undefined;
    };

export type VersionedVerdict =
  | { readonly verdict: 'linearizable' }
  | {
      readonly verdict: 'not linearizable';
      readonly key: string;
      readonly violation: VersionedViolation;
    };

export function checkVersioned(operations: readonly VersionedOperation[]): VersionedVerdict {
  for (const [key, ofKey] of partitionByKey(operations)) {
    const violation = findViolation(ofKey);
    if (violation !== undefined) return { verdict: 'not linearizable', key, violation };
  }
  return { verdict: 'linearizable' };
}

function findViolation(operations: readonly VersionedOperation[]): VersionedViolation | undefined {
  const answered = operations.filter(
    (operation): operation is Answered => operation.kind !== 'rejected' && operation.version !== undefined,
  );
  for (const seen of answered) {
    const lowest = seen.kind === 'change' ? 1 : 0;
    if (!Number.isSafeInteger(seen.version) || seen.version < lowest) {
      return { kind: 'impossible version', seen };
    }
  }
  const claims = new Map<number, Answered>();
  const values = new Map<number, Answered>();
  const unknown: UnknownChange[] = [];
  return (
    noteClaims(answered, claims) ??
    noteValues(answered, values) ??
    followTime(operations, answered, unknown) ??
    explainVersions(operations, answered, claims, values, unknown)
  );
}

/** Fills in who made each version. */
function noteClaims(
  answered: readonly Answered[],
  claims: Map<number, Answered>,
): VersionedViolation | undefined {
  for (const second of answered) {
    if (second.kind !== 'change') continue;
    const first = claims.get(second.version);
    if (first !== undefined)
      return { kind: 'two changes of one version', version: second.version, first, second };
    claims.set(second.version, second);
  }
  return undefined;
}

/** Fills in one who knows the value of each version. */
function noteValues(
  answered: readonly Answered[],
  values: Map<number, Answered>,
): VersionedViolation | undefined {
  for (const second of answered) {
    if (second.value === undefined) continue;
    const first = values.get(second.version);
    if (first === undefined) values.set(second.version, second);
    else if (first.value !== second.value) {
      return { kind: 'two values of one version', version: second.version, first, second };
    }
  }
  return undefined;
}

/**
 * Goes through all starts in the order of time, with the highest version among those that had ended by then. Fills in
 * the changes of unknown outcome, each with the version that it must exceed.
 */
function followTime(
  operations: readonly VersionedOperation[],
  answered: readonly Answered[],
  unknown: UnknownChange[],
): VersionedViolation | undefined {
  const byEnd = answered.map((operation) => ({ operation, end: endOf(operation) }));
  byEnd.sort((a, b) => a.end - b.end);
  let ended = 0;
  let highest: Answered | undefined;
  for (const later of operations.toSorted((a, b) => a.start - b.start)) {
    while (ended < byEnd.length && byEnd[ended]!.end < later.start) {
      const { operation } = byEnd[ended]!;
      if (highest === undefined || operation.version > highest.version) highest = operation;
      ended += 1;
    }
    if (later.kind === 'rejected') continue;
    if (later.version === undefined) {
      if (later.kind === 'change') unknown.push({ floor: highest?.version ?? 0, value: later.value });
    } else if (highest !== undefined) {
      const lowest = later.kind === 'change' ? highest.version + 1 : highest.version;
      if (later.version < lowest) return { kind: 'out of order', earlier: highest, later };
    }
  }
  return undefined;
}

function explainVersions(
  operations: readonly VersionedOperation[],
  answered: readonly Answered[],
  claims: ReadonlyMap<number, Answered>,
  values: ReadonlyMap<number, Answered>,
  unknown: readonly UnknownChange[],
): VersionedViolation | undefined {
  const highest = answered.reduce<Answered | undefined>(
    (best, operation) => (best === undefined || operation.version > best.version ? operation : best),
    undefined,
  );
  if (highest === undefined) return undefined;
  const observed = new Map<number, string>();
  for (const [version, { value }] of values) {
    if (!claims.has(version)) observed.set(version, value!);
  }
  const version = firstUnattributed(unknown, {
    highest: highest.version,
    isClaimed: (candidate) => claims.has(candidate),
    observed,
  });
  if (version === undefined) return undefined;

  const value = observed.get(version);
  const candidates = unknown.filter(
    (change) => change.floor < version && (value === undefined || (change.value ?? value) === value),
  );
  return {
    kind: 'unexplained version',
    version,
    seen: values.get(version) ?? highest,
    candidates: candidates.length,
    resembles:
      value === undefined
        ? undefined
        : operations.find((operation) => operation.kind !== 'read' && operation.value === value),
  };
}

/** For people: what is wrong, and with which operations. */
export function explainVersioned(verdict: VersionedVerdict): string {
  if (verdict.verdict === 'linearizable') return 'linearizable';
  const where = verdict.key === '' ? '' : ` key ${JSON.stringify(verdict.key)}:`;
  return `not linearizable:${where} ${explainViolation(verdict.violation)}`;
}

function explainViolation(violation: VersionedViolation): string {
  switch (violation.kind) {
    case 'impossible version':
      return `${format(violation.seen)} names a version that cannot be`;
    case 'two changes of one version':
      return `version ${violation.version} was made twice: by ${format(violation.first)} and by ${format(violation.second)}`;
    case 'two values of one version':
      return `version ${violation.version} has two values: ${format(violation.first)} and ${format(violation.second)}`;
    case 'out of order':
      return `${format(violation.later)} started after ${format(violation.earlier)} had ended`;
    case 'unexplained version': {
      const { version, seen, candidates, resembles } = violation;
      const hint = resembles === undefined ? '' : `; it has the value of ${format(resembles)}`;
      return `no acknowledged change made version ${version}, implied by ${format(seen)}, and ${whyNotMade(candidates)}${hint}`;
    }
    default:
      return unreachable(violation);
  }
}

function whyNotMade(candidates: number): string {
  if (candidates === 0) return 'no change of unknown outcome can have made it';
  if (candidates === 1)
    return 'the one change of unknown outcome that could have made it is needed for another version';
  return `the ${candidates} changes of unknown outcome that could have made it are needed for other versions`;
}

function format(operation: VersionedOperation): string {
  const { kind, version, value, operation: name } = operation;
  const what = kind === 'rejected' ? 'rejected change' : kind;
  const named = name === undefined ? what : `${what} ${name}`;
  const of =
    version === undefined ? '' : kind === 'read' ? ` of version ${version}` : ` to version ${version}`;
  return `${named}${of}${value === undefined ? '' : ` = ${value}`} (${formatWhen(operation)})`;
}
