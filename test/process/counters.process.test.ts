/**
 * Counters under fire. Three processes increment and read the same counters over five acceptor processes, of which up to
 * two at a time are killed with -9 or stopped with SIGSTOP. Nothing acknowledged is lost or applied twice, every outcome is
 * what it says it is, and everything that anybody saw fits into one order.
 *
 * It runs until enough has happened: a run in which nothing went wrong shows nothing.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Cluster, openCluster } from 'baton/caspaxos';
import { plant, type PlantedDefect, seededChoose, type VersionedOperation } from 'baton/check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AcceptorProcess } from './support/acceptor-process.ts';
import { Chaos } from './support/chaos.ts';
import { clock, type CounterValue, judge, type RecordedOperation, toVersioned } from './support/history.ts';
import { Nursery } from './support/nursery.ts';
import { chosenSeed } from './support/seed.ts';
import { Workers } from './support/workers.ts';

const ACCEPTORS = 5;
const AT_ONCE = 2;
const WORKERS = 3;
const HOT = Array.from({ length: 8 }, (_, at) => `hot-${at}`);
const COLD = Array.from({ length: 120 }, (_, at) => `cold-${at}`);
const OWN_COUNTERS = 3;
/** Of the run, on a machine that is busy with other things. */
const PATIENCE_MS = 500_000;

const LEAST = {
  kills: 25,
  stops: 25,
  committed: 4000,
  conflicts: 300,
  unknown: 50,
  retriedAndSettled: 10,
  reads: 1000,
};

type Counts = Record<keyof typeof LEAST, number>;

/** What is left of a run, for the tests to judge. */
interface Run {
  readonly history: readonly VersionedOperation[];
  readonly counts: Counts;
  readonly alarms: number;
  /** What the workers' clusters said of the acceptors in the end. */
  readonly errors: readonly (string | undefined)[];
}

const seed = chosenSeed();
const choose = seededChoose(seed);
let nursery: Nursery;
let acceptors: AcceptorProcess[];
let run: Run;

beforeAll(async () => {
  nursery = new Nursery();
  const names = Array.from({ length: ACCEPTORS }, (_, at) => `acceptor-${at}`);
  acceptors = await Promise.all(names.map((name) => AcceptorProcess.start(nursery, name)));
  run = await underFire();
}, PATIENCE_MS + 90_000);

afterAll(async () => {
  await nursery.close();
});

function ownCounters(worker: string): string[] {
  return Array.from({ length: OWN_COUNTERS }, (_, at) => `${worker}-${at}`);
}

const workerNames = Array.from({ length: WORKERS }, (_, at) => `worker-${at}`);
const allCounters = [...HOT, ...COLD, ...workerNames.flatMap(ownCounters)];

function countsOf(workers: Workers, chaos: Chaos): Counts {
  const { operations } = workers;
  const changes = operations.filter(({ kind }) => kind === 'change');
  return {
    kills: chaos.kills,
    stops: chaos.stops,
    committed: changes.filter(({ outcome }) => outcome === 'committed').length,
    conflicts: workers.sum('conflicts'),
    unknown: changes.filter(({ unknowns }) => unknowns > 0).length,
    retriedAndSettled: changes.filter(({ unknowns, outcome }) => unknowns > 0 && outcome === 'committed')
      .length,
    reads: operations.filter(({ kind, outcome }) => kind === 'read' && outcome === 'committed').length,
  };
}

function isEnough(counts: Counts): boolean {
  return Object.entries(LEAST).every(([name, least]) => counts[name as keyof Counts] >= least);
}

async function readAll(): Promise<RecordedOperation[]> {
  const cluster: Cluster = await openCluster({
    acceptors: acceptors.map(({ url }) => url),
    proposer: 'observer',
  });
  const reads: RecordedOperation[] = [];
  for (const key of allCounters) {
    const common = {
      process: 'observer',
      operation: `final read of ${key}`,
      key,
      kind: 'read',
      start: clock(),
    } as const;
    const { version, value } = await cluster.read<CounterValue>(key, { timeoutMs: 60_000 });
    reads.push({ ...common, end: clock(), outcome: 'committed', version, value, unknowns: 0 });
  }
  await cluster.close();
  return reads;
}

async function underFire(): Promise<Run> {
  const urls = acceptors.map(({ url }) => url);
  const workers = await Workers.start(
    nursery,
    workerNames.map((name) => ({
      name,
      acceptors: urls,
      seed: choose(2 ** 31),
      hot: HOT,
      cold: COLD,
      own: ownCounters(name),
    })),
  );
  const chaos = new Chaos(acceptors, AT_ONCE, seededChoose(choose(2 ** 31)));
  const startedAt = performance.now();
  workers.begin();
  chaos.begin();
  let counts = countsOf(workers, chaos);
  while (workers.areWell && !isEnough(counts) && performance.now() - startedAt < PATIENCE_MS) {
    await sleep(200);
    counts = countsOf(workers, chaos);
  }
  await chaos.end();
  const done = await workers.end();
  counts = countsOf(workers, chaos);
  const seconds = Math.round((performance.now() - startedAt) / 1000);
  console.log(
    `seed ${seed}, ${seconds} s: ${JSON.stringify(counts)}; BATON_SEED=${seed} repeats its choices`,
  );
  return {
    history: toVersioned([...workers.operations, ...(await readAll())]),
    counts,
    alarms: workers.sum('alarms'),
    errors: done.flatMap((worker) => worker.acceptors.map(({ code }) => code)),
  };
}

describe('counters under fire', () => {
  it('loses nothing that was acknowledged and applies nothing twice', () => {
    expect(judge(run.history)).toEqual([]);
    expect(run.alarms).toBe(0);
    // Rule 8: who was killed and comes back is who it was, and remembers.
    expect(run.errors.filter((code) => code?.startsWith('ACCEPTOR_'))).toEqual([]);
  });

  it('was under fire', () => {
    for (const [name, least] of Object.entries(LEAST))
      expect(run.counts[name as keyof Counts], name).toBeGreaterThanOrEqual(least);
  });

  const defects: PlantedDefect[] = [
    'lost write',
    'acknowledged change applied twice',
    'swapped versions',
    'stale read',
    'read goes backward',
    'version from nowhere',
    'two changes of one version',
    'two values of one version',
  ];

  it.each(defects)('would have noticed: %s', (defect) => {
    const one = run.history.filter(({ key }) => key === HOT[0]);
    const planted = plant(defect, one, seededChoose(seed));
    expect(planted).toBeDefined();
    expect(judge(planted!).length).toBeGreaterThan(0);
  });

  it('would have noticed: a change of unknown outcome applied twice', () => {
    const { history } = run;
    const left = history.find(({ kind, version }) => kind === 'change' && version === undefined);
    expect(left).toBeDefined();
    let highest = 0;
    let end = 0;
    for (const operation of history) {
      if (operation.key === left!.key) highest = Math.max(highest, operation.version ?? 0);
      end = Math.max(end, operation.end ?? operation.start);
    }
    const seen = [1, 2].map((above): VersionedOperation => ({
      process: 'observer',
      operation: 'planted',
      key: left!.key,
      kind: 'read',
      start: end + above,
      end: end + above,
      version: highest + above,
      value: JSON.stringify({ count: highest + above, last: left!.operation }),
    }));
    expect(judge([...history, ...seen]).join()).toContain('applied twice');
  });

  it('leaves nobody behind', async () => {
    await Promise.all(acceptors.map((acceptor) => acceptor.kill()));
    expect(nursery.population).toBe(0);
  });
});
