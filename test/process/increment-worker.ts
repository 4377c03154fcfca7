/**
 * One process that increments counters and reads them, and reports every operation with its outcome. An increment of
 * unknown outcome is continued with `retryOf` half of the time and left alone otherwise.
 *
 * Its one argument is a `WorkerOptions` as JSON. It prints lines of JSON, see `WorkerReport`; on its input it expects
 * `begin`, then `end`, whereupon it finishes what is under way, reads every counter, and says `done`.
 */
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { type AcceptorStatus, type ChangeOutcome, type Cluster, openCluster } from 'baton/caspaxos';
import { seededChoose } from 'baton/check';
import { until } from '../support/until.ts';
import { clock, type CounterValue, type RecordedOperation } from './support/history.ts';
import { endWithParent } from './support/parent.ts';

export interface WorkerOptions {
  readonly name: string;
  readonly acceptors: readonly string[];
  readonly seed: number;
  /** Counters that all workers use: a few all the time, so that they meet; many now and then. */
  readonly hot: readonly string[];
  readonly cold: readonly string[];
  /** Counters that nobody else uses. */
  readonly own: readonly string[];
}

export type WorkerReport =
  | { readonly type: 'ready' }
  | {
      readonly type: 'operations';
      readonly operations: readonly RecordedOperation[];
      readonly counters: Cluster['counters'];
    }
  | {
      readonly type: 'done';
      readonly acceptors: readonly (Pick<AcceptorStatus, 'url' | 'state'> & { code?: string })[];
    };

const REQUEST_TIMEOUT_MS = 300;
const CHANGE_TIMEOUTS_MS = [20, 60, 200, 1500];
const READ_TIMEOUT_MS = 1500;
const FINAL_TIMEOUT_MS = 10_000;
const RETRIES = 6;
const LONGEST_PAUSE_MS = 12;
const REPORT_EVERY_MS = 200;

const options = JSON.parse(process.argv[2] ?? '') as WorkerOptions;
const choose = seededChoose(options.seed);
let isOver = false;
let operations = 0;
let unreported: RecordedOperation[] = [];

function report(message: WorkerReport): void {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}

function flush(cluster: Cluster): void {
  report({ type: 'operations', operations: unreported, counters: cluster.counters });
  unreported = [];
}

async function increment(cluster: Cluster, key: string): Promise<void> {
  operations += 1;
  const operation = `${options.name}#${operations}`;
  const editor = (current: CounterValue | undefined): CounterValue => ({
    count: (current?.count ?? 0) + 1,
    last: operation,
  });
  const timeoutMs = CHANGE_TIMEOUTS_MS[choose(CHANGE_TIMEOUTS_MS.length)]!;
  const retries = choose(2) === 0 ? RETRIES : 0;
  const start = clock();
  let unknowns = 0;
  let outcome: ChangeOutcome<CounterValue> = await cluster.change(key, editor, { timeoutMs });
  while (outcome.outcome === 'unknown') {
    unknowns += 1;
    if (unknowns > retries) break;
    await sleep(choose(LONGEST_PAUSE_MS));
    outcome = await cluster.change(key, editor, { timeoutMs, retryOf: outcome.operation });
  }
  const common = {
    process: options.name,
    operation,
    key,
    kind: 'change',
    start,
    end: clock(),
    unknowns,
  } as const;
  if (outcome.outcome !== 'committed') {
    unreported.push({ ...common, outcome: outcome.outcome });
    return;
  }
  const { version, value, appliedBefore } = outcome;
  unreported.push({ ...common, outcome: 'committed', version, value, appliedBefore });
}

async function read(cluster: Cluster, key: string, timeoutMs: number): Promise<void> {
  operations += 1;
  const operation = `${options.name}#${operations}`;
  const start = clock();
  const common = { process: options.name, operation, key, kind: 'read', start, unknowns: 0 } as const;
  try {
    const { version, value } = await cluster.read<CounterValue>(key, { timeoutMs });
    unreported.push({ ...common, end: clock(), outcome: 'committed', version, value });
  } catch {
    unreported.push({ ...common, end: clock(), outcome: 'unknown' });
  }
}

/**
 * A lane keeps mostly to one hot counter, so that a retry rarely finds a later operation of this process in its way. Cold
 * counters matter because acceptors that missed a change stay behind until the next one, through the trouble in between.
 */
function nextKey(lane: number): string {
  const kind = choose(8);
  const keys = kind === 0 ? options.own : kind <= 3 ? options.cold : options.hot;
  const at = keys === options.hot && choose(5) > 0 ? lane : choose(keys.length);
  return keys[at]!;
}

async function work(cluster: Cluster, lane: number): Promise<void> {
  while (!isOver) {
    if (choose(3) === 0) await read(cluster, nextKey(lane), READ_TIMEOUT_MS);
    else await increment(cluster, nextKey(lane));
    await sleep(choose(LONGEST_PAUSE_MS));
  }
}

async function run(cluster: Cluster): Promise<void> {
  const reporter = setInterval(() => flush(cluster), REPORT_EVERY_MS);
  await Promise.all(options.hot.map((_, lane) => work(cluster, lane)));
  for (const key of [...options.hot, ...options.own]) await read(cluster, key, FINAL_TIMEOUT_MS);
  clearInterval(reporter);
  flush(cluster);
  const acceptors = cluster.acceptors.map(({ url, state, error }) => ({
    url,
    state,
    ...(error && { code: error.code }),
  }));
  report({ type: 'done', acceptors });
}

endWithParent();
const { acceptors, name } = options;
const cluster = await until('the cluster is open', () =>
  openCluster({ acceptors, proposer: name, requestTimeoutMs: REQUEST_TIMEOUT_MS }),
);
createInterface({ input: process.stdin }).on('line', (line) => {
  if (line === 'begin') void run(cluster);
  else isOver = true;
});
report({ type: 'ready' });
