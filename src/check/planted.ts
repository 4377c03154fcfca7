/**
 * Defects planted into good histories, to show that a checker catches each kind. Each takes a history of versioned
 * registers with unique values and gives one that no order explains, or nothing if the history lacks what the defect
 * needs (two reads one after the other, say).
 */
import type { Choose } from './simulated.ts';
import type { VersionedOperation } from './versioned.ts';

type Versioned = VersionedOperation & { readonly version: number; readonly end: number };
type Defect = (history: readonly VersionedOperation[], choose: Choose) => VersionedOperation[] | undefined;

export const PLANTED_DEFECTS = {
  'stale read': (history, choose) => {
    const pair = pick(inOrder(history, isVersioned, isRead), choose, ([before]) => before.version > 0);
    if (pair === undefined) return undefined;
    const [before, read] = pair;
    const version = before.version - 1;
    return replace(history, read, { version, value: valueOf(history, read.key, version) });
  },

  'read goes backward': (history, choose) => {
    const pair = pick(inOrder(history, isRead, isRead), choose, ([a, b]) => a.version < b.version);
    return pair && exchange(history, ...pair);
  },

  'swapped versions': (history, choose) => {
    const pair = pick(inOrder(history, isChange, isChange), choose);
    return pair && exchange(history, ...pair);
  },

  /** As if the change had never been: all versions from its own on count one less, but its client has its answer. */
  'lost write': (history, choose) => {
    const changes = history.filter(isChange);
    const followed = pick(changes, choose, ({ key, version }) =>
      changes.some((other) => other.key === key && other.version === version + 1),
    );
    if (followed === undefined) return undefined;
    const { key, version } = followed;
    const valueBefore = valueOf(history, key, version - 1);
    return history.map((operation) => {
      if (operation === followed || operation.key !== key || (operation.version ?? 0) < version)
        return operation;
      const value = operation.version === version ? valueBefore : operation.value;
      return { ...operation, version: operation.version! - 1, value };
    });
  },

  /** Of a value that its client knows: any other might be that of a change whose outcome nobody knows. */
  'acknowledged change applied twice': (history, choose) => {
    const change = pick(history.filter(isChange), choose, ({ value }) => value !== undefined);
    return change && [...history, readAtEnd(history, change.key, 1, change.value)];
  },

  'unknown change applied twice': (history, choose) => {
    const change = pick(history, choose, ({ kind, version }) => kind === 'change' && version === undefined);
    if (change === undefined) return undefined;
    const once = [...history, readAtEnd(history, change.key, 1, change.value)];
    return [...once, readAtEnd(once, change.key, 1, change.value)];
  },

  'rejected change seen': (history, choose) => {
    const change = pick(history.filter(isChange), choose);
    if (change === undefined) return undefined;
    const rejected: VersionedOperation = {
      ...change,
      kind: 'rejected',
      version: undefined,
      value: 'rejected',
    };
    return [...history, rejected, readAtEnd(history, change.key, 1, 'rejected')];
  },

  'version from nowhere': (history, choose) => {
    const change = pick(history.filter(isChange), choose);
    if (change === undefined) return undefined;
    const unknown = history.filter(({ kind, version }) => kind === 'change' && version === undefined);
    return [...history, readAtEnd(history, change.key, unknown.length + 1, undefined)];
  },

  'two values of one version': (history, choose) => {
    const read = pick(history.filter(isRead), choose);
    const twin = read && { ...read, value: 'of a second writer' };
    return twin && [...history, twin];
  },

  'two changes of one version': (history, choose) => {
    const change = pick(history.filter(isChange), choose);
    const twin = change && { ...change, value: 'of a second writer' };
    return twin && [...history, twin];
  },
} satisfies Record<string, Defect>;

export type PlantedDefect = keyof typeof PLANTED_DEFECTS;

export function plant(
  defect: PlantedDefect,
  history: readonly VersionedOperation[],
  choose: Choose,
): VersionedOperation[] | undefined {
  return PLANTED_DEFECTS[defect](history, choose);
}

function isVersioned(operation: VersionedOperation): operation is Versioned {
  return operation.version !== undefined && operation.end !== undefined;
}

function isRead(operation: VersionedOperation): operation is Versioned {
  return operation.kind === 'read' && isVersioned(operation);
}

function isChange(operation: VersionedOperation): operation is Versioned {
  return operation.kind === 'change' && isVersioned(operation);
}

function pick<T>(
  items: readonly T[],
  choose: Choose,
  suits: (item: T) => boolean = () => true,
): T | undefined {
  const suitable = items.filter(suits);
  return suitable.length === 0 ? undefined : suitable[choose(suitable.length)];
}

/** The pairs of one key in which the second started after the first had ended; of long histories, enough of them. */
function inOrder(
  history: readonly VersionedOperation[],
  isFirst: (operation: VersionedOperation) => operation is Versioned,
  isSecond: (operation: VersionedOperation) => operation is Versioned,
): [Versioned, Versioned][] {
  const pairs: [Versioned, Versioned][] = [];
  for (const first of history) {
    if (!isFirst(first)) continue;
    for (const second of history) {
      if (first.key !== second.key || !isSecond(second) || first.end >= second.start) continue;
      pairs.push([first, second]);
      if (pairs.length === 10_000) return pairs;
    }
  }
  return pairs;
}

function replace(
  history: readonly VersionedOperation[],
  old: VersionedOperation,
  changes: Partial<VersionedOperation>,
): VersionedOperation[] {
  return history.map((operation) => (operation === old ? { ...old, ...changes } : operation));
}

function exchange(
  history: readonly VersionedOperation[],
  first: VersionedOperation,
  second: VersionedOperation,
): VersionedOperation[] {
  const half = replace(history, first, { version: second.version, value: second.value });
  return replace(half, second, { version: first.version, value: first.value });
}

function valueOf(
  history: readonly VersionedOperation[],
  key: string | undefined,
  version: number,
): string | undefined {
  return history.find((operation) => operation.key === key && operation.version === version)?.value;
}

/** A read, after everything else, of a version that many above the highest that was seen. */
function readAtEnd(
  history: readonly VersionedOperation[],
  key: string | undefined,
  above: number,
  value: string | undefined,
): VersionedOperation {
  let highest = 0;
  let time = 0;
  for (const operation of history) {
    if (operation.key === key) highest = Math.max(highest, operation.version ?? 0);
    time = Math.max(time, operation.end ?? operation.start);
  }
  const version = highest + above;
  return { process: 'observer', key, kind: 'read', start: time + 1, end: time + 2, version, value };
}
