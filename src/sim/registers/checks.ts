/**
 * What must hold of every run, each check under a stable name. They look from different sides: at what clients were told
 * (`linearizability`, `once`, `rejected-means-not-applied`), at what the disks hold (`ancestry`), at what the library itself
 * noticed (`alarm`), at acceptors that were retired (`retired`), at two
 * clusters that share an acceptor (`mixed`), and at whether it still does its work (`recovery`, `progress`). `crash` is an exception nobody caught,
 * `endless` a run that does not come to an end.
 */
import { checkVersioned, explainVersioned } from '../../check/index.ts';
import type { SimulationFailure } from '../seeded-run.ts';
import type { Ancestry, Chosen } from './ancestry.ts';
import {
  commitOf,
  ERASABLE_KEY,
  isRejected,
  type RecordedCall,
  type RecordedOperation,
  type Value,
  versioned,
} from './history.ts';

export interface Evidence {
  readonly operations: readonly RecordedOperation[];
  readonly ancestry: Ancestry;
  readonly alarms: readonly string[];
  /** In words: something of another cluster is in this one. */
  readonly mixture: string | undefined;
  /** Uses of an acceptor that was retired before. */
  readonly misused: readonly string[];
  /** Clients and registers that were not back in time after healing. */
  readonly unrecovered: readonly string[];
  /** While faults went on: the calls that could be expected to be done. */
  readonly due: readonly RecordedCall[];
}

/** A value that somebody saw, or that was chosen. */
interface Seen {
  readonly key: string;
  readonly version: number;
  readonly value: Value;
  readonly by: string;
  /** Everything acknowledged before this is in it. */
  readonly asOf: number;
}

/** Not all of them: whoever has little time may lose to others every time. With fewer calls that may be all of them. */
const FEW_DUE = 10;
const LEAST_SHARE = 0.2;

type Check = (evidence: Evidence, chosen: readonly Chosen[]) => string | undefined;

const CHECKS: Readonly<Record<string, Check>> = {
  alarm: ({ alarms }) => alarms[0],
  retired: ({ misused }) => misused[0],
  mixed: ({ mixture }) => mixture,
  ancestry: ({ ancestry }, chosen) => ancestry.violation(chosen),
  linearizability: checkHistory,
  once: checkOnce,
  'rejected-means-not-applied': checkRejected,
  recovery: ({ unrecovered }) =>
    unrecovered.length === 0 ? undefined : `no change was committed after healing: ${unrecovered.join(', ')}`,
  progress: checkProgress,
};

/** The first check that fails, of one cluster. */
export function judge(evidence: Evidence): SimulationFailure | undefined {
  const chosen = evidence.ancestry.chosen();
  for (const [check, find] of Object.entries(CHECKS)) {
    const message = find(evidence, chosen);
    if (message !== undefined) return { check, message };
  }
  return undefined;
}

function checkHistory({ operations }: Evidence): string | undefined {
  const verdict = checkVersioned(operations.flatMap((operation) => versioned(operation)));
  return verdict.verdict === 'linearizable' ? undefined : explainVersioned(verdict);
}

/**
 * No operation's effect is in a value twice, each value has as many operations as changes, none that was acknowledged is
 * missing, and all who were told of an operation were told of one version.
 */
function checkOnce({ operations }: Evidence, chosen: readonly Chosen[]): string | undefined {
  const committed = operations.flatMap((operation) => {
    const commit = commitOf(operation);
    return commit === undefined ? [] : [{ operation, commit }];
  });
  for (const { operation, commit } of committed) {
    const other = operation.calls.find(({ changed, version }) => changed && version !== commit.version);
    if (other !== undefined) {
      return `${operation.name} is said to have made version ${commit.version}, and version ${other.version}`;
    }
  }
  for (const { key, version, value, by, asOf } of allSeen(operations, chosen)) {
    if (key === ERASABLE_KEY) continue;
    const present = new Set(value);
    if (present.size < value.length)
      return `${by}: an operation is in the value of ${key} twice: ${value.join(' ')}`;
    if (value.length !== version) return `${by}: version ${version} of ${key} has ${value.length} operations`;
    const missing = committed.find(
      ({ operation: { name, key: where }, commit }) =>
        where === key && !present.has(name) && (commit.end < asOf || commit.version! <= version),
    );
    if (missing !== undefined)
      return `${by}: ${missing.operation.name} was acknowledged and is missing from ${key}`;
  }
  return undefined;
}

function checkRejected({ operations }: Evidence, chosen: readonly Chosen[]): string | undefined {
  const rejected = operations.filter(isRejected);
  const told = rejected.find((operation) => commitOf(operation) !== undefined);
  if (told !== undefined) return `${told.name} was rejected, and acknowledged`;
  const names = new Set(rejected.map(({ name }) => name));
  for (const { key, value, by } of allSeen(operations, chosen)) {
    const wrong = value.find((name) => names.has(name));
    if (wrong !== undefined) return `${by}: ${wrong} was rejected and is in the value of ${key}`;
  }
  return undefined;
}

function checkProgress({ due }: Evidence): string | undefined {
  const done = due.filter(wasDone).length;
  if (due.length < FEW_DUE || done >= due.length * LEAST_SHARE) return undefined;
  return `only ${done} of ${due.length} calls were done that began during the faults, with all they needed in reach`;
}

/** Whether it was told what it wanted to know: that it was carried out, or what kept it from being. */
export function wasDone({ outcome, version }: RecordedCall): boolean {
  return outcome === 'committed' || version !== undefined;
}

function allSeen(operations: readonly RecordedOperation[], chosen: readonly Chosen[]): readonly Seen[] {
  const byClients = operations.flatMap(({ name, key, calls }) =>
    calls.flatMap(({ start, version, value }): Seen[] =>
      version === undefined || value === undefined
        ? []
        : [{ key, version, value, by: `what ${name} saw`, asOf: start }],
    ),
  );
  const byDisks = chosen.map(({ key, version, operations: value }): Seen => ({
    key,
    version,
    value,
    by: `version ${version}, which was chosen`,
    asOf: -Infinity,
  }));
  return [...byClients, ...byDisks];
}
