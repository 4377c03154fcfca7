/**
 * What the clients of the counters saw, and whether it can have been: nothing acknowledged is lost or applied twice. A
 * counter's value names the operation that made it, so besides the general check of versioned registers
 * a second application of one operation can be told from one of another.
 */
import { checkVersioned, explainVersioned, type VersionedOperation } from 'baton/check';

export interface CounterValue {
  readonly count: number;
  /** The operation that made this count. */
  readonly last: string;
}

/** One operation as a worker reports it. Times are microseconds on the machine's one monotonic clock. */
export interface RecordedOperation {
  readonly process: string;
  readonly operation: string;
  readonly key: string;
  readonly kind: 'change' | 'read';
  readonly start: number;
  readonly end: number;
  /** Of a change that was continued after an unknown outcome: the last one. A read that failed is `unknown`. */
  readonly outcome: 'committed' | 'rejected' | 'unknown';
  readonly version?: number | undefined;
  readonly value?: CounterValue | undefined;
  /** How often its outcome was unknown. */
  readonly unknowns: number;
  /** Continued after an unknown outcome, and found to have been applied before. */
  readonly appliedBefore?: boolean | undefined;
}

export function clock(): number {
  return Number(process.hrtime.bigint()) / 1000;
}

export function toVersioned(operations: readonly RecordedOperation[]): VersionedOperation[] {
  const history: VersionedOperation[] = [];
  for (const { process: by, operation, key, kind, start, end, outcome, version, value } of operations) {
    const common = { process: by, operation, key, start };
    if (outcome === 'committed') {
      history.push({ ...common, kind, end, version, value: value && JSON.stringify(value) });
    } else if (kind === 'change') {
      history.push(outcome === 'rejected' ? { ...common, kind: 'rejected', end } : { ...common, kind });
    }
  }
  return history;
}

/** Everything that is wrong with the history; nothing if it can have been. */
export function judge(history: readonly VersionedOperation[]): string[] {
  const problems: string[] = [];
  const verdict = checkVersioned(history);
  if (verdict.verdict !== 'linearizable') problems.push(explainVersioned(verdict));
  problems.push(...judgeCounts(history), ...judgeMakers(history));
  return problems;
}

/** Every change adds one: so a count is its version, and the highest lies between what is certain and what may be. */
function judgeCounts(history: readonly VersionedOperation[]): string[] {
  const problems: string[] = [];
  const tallies = new Map<string, { committed: number; unknown: number; highest: number }>();
  for (const { key = '', kind, version, value, operation } of history) {
    const tally = tallies.get(key) ?? { committed: 0, unknown: 0, highest: 0 };
    tallies.set(key, tally);
    if (kind === 'change') tally[version === undefined ? 'unknown' : 'committed'] += 1;
    tally.highest = Math.max(tally.highest, version ?? 0);
    const count = parse(value)?.count;
    if (value !== undefined && count !== version) {
      problems.push(`${key}: ${operation} found ${value} at version ${version}`);
    }
  }
  for (const [key, { committed, unknown, highest }] of tallies) {
    if (committed <= highest && highest <= committed + unknown) continue;
    problems.push(`${key}: ${committed} changes committed and ${unknown} unknown, but it counts ${highest}`);
  }
  return problems;
}

/** An operation makes one version at most: that which was acknowledged to it, and none if it was rejected. */
function judgeMakers(history: readonly VersionedOperation[]): string[] {
  const problems: string[] = [];
  const changes = new Map<string, VersionedOperation>();
  for (const operation of history) {
    if (operation.kind !== 'read') changes.set(operation.operation ?? '', operation);
  }
  const made = new Map<string, number>();
  for (const { key, version, value } of history) {
    const maker = parse(value)?.last;
    if (maker === undefined || version === undefined) continue;
    const change = changes.get(maker);
    const before = made.get(maker);
    made.set(maker, version);
    if (change?.key !== key)
      problems.push(`${key}: version ${version} is of ${maker}, which nobody asked for`);
    else if (change?.kind === 'rejected')
      problems.push(`${key}: ${maker} was rejected and made version ${version}`);
    else if ((change?.version ?? version) !== version || (before ?? version) !== version) {
      problems.push(
        `${key}: ${maker} was applied twice: it made version ${before ?? change?.version} and ${version}`,
      );
    }
  }
  return problems;
}

function parse(value: string | undefined): CounterValue | undefined {
  try {
    return value === undefined ? undefined : (JSON.parse(value) as CounterValue);
  } catch {
    return undefined;
  }
}
