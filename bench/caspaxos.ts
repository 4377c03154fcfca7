/**
 * `npm run bench:caspaxos`: this library beside gryadka, in one run on one machine. One client process drives first the one,
 * then the other, several times over, so that a noisy moment hits both.
 */
import { BatonCluster, operationOn } from './support/baton.ts';
import { type Bench, runBenchmark } from './support/benchmark.ts';
import type { Contender } from './support/contender.ts';
import { amount, count, type Values } from './support/flags.ts';
import { GryadkaCluster } from './support/gryadka.ts';
import { measure, median, type Measurement } from './support/measure.ts';
import { lackOf } from './support/programs.ts';
import { measureRoles, type RoleSpeed } from './support/roles.ts';

interface Row extends Measurement {
  readonly system: Contender['name'];
  readonly rounds: 1 | 2;
  readonly inFlight: number;
}

interface Cost {
  readonly rounds: 1 | 2;
  readonly messagesPerChange: number;
  readonly requestsPerChange: number;
  readonly syncsPerChange: number;
}

interface Measured {
  readonly rows: readonly Row[];
  readonly contention: readonly (Row & { readonly proposers: number })[];
  readonly cost: readonly Cost[];
  readonly roles: RoleSpeed;
}

const IN_FLIGHT = [1, 8, 64] as const;
const CONTENDERS = 8;
const WARM_UP_CALLERS = 64;
const REDIS = 'redis-server';

const FLAGS = {
  seconds: amount('seconds of each measurement', 3),
  repeat: count('measurements of each kind; the median is shown', 3),
};

type Pace = Values<typeof FLAGS>;

await runBenchmark(
  {
    name: 'caspaxos',
    about:
      'Changes per second and latency of the CASPaxos library over three acceptor services, beside gryadka 1.61.8 over three ' +
      'Redis servers. Every server is a process of its own and syncs each write or batch to disk; one client process drives ' +
      'both. Compare the ratios: servers, client and disk share one machine.',
    flags: FLAGS,
    example: '--seconds 1 --repeat 1',
    programs: [REDIS],
  },
  async (pace, bench) => {
    const baton = new BatonCluster();
    const contenders: Contender[] = [baton];
    if (bench.canRun('gryadka', lackOf([REDIS]))) contenders.unshift(new GryadkaCluster());
    try {
      for (const contender of contenders) await contender.start();
      const measured = await measureAll(baton, contenders, pace, bench);
      return { json: measured, text: report(measured) };
    } finally {
      for (const contender of contenders) await contender.stop();
    }
  },
);

async function measureAll(
  baton: BatonCluster,
  contenders: readonly Contender[],
  pace: Pace,
  bench: Bench,
): Promise<Measured> {
  const rows: Row[] = [];
  bench.progress('warming up');
  await warmUp(contenders, pace);
  for (const rounds of [1, 2] as const) {
    for (const inFlight of IN_FLIGHT) {
      bench.progress(`${rounds} round trip(s), ${inFlight} in flight`);
      rows.push(...(await compare(contenders, rounds, inFlight, pace)));
    }
  }
  bench.progress(`${CONTENDERS} proposers on one register`);
  const contention: Measured['contention'][number][] = [];
  for (const contender of contenders) contention.push(await contend(contender, pace));
  bench.progress('cost of a change, and the roles alone');
  return {
    rows,
    contention,
    cost: await measureCost(baton, pace),
    roles: measureRoles(Math.min(pace.seconds, 3)),
  };
}

/** A process that has just started runs its JavaScript unoptimised; what is measured is one that has been up for a while. */
async function warmUp(contenders: readonly Contender[], { seconds }: Pace): Promise<void> {
  for (const rounds of [1, 2] as const) {
    for (const contender of contenders) {
      const operate = await contender.proposer(1, rounds);
      await measure(WARM_UP_CALLERS, seconds, (caller) => operate(`warm-${caller}`));
      await contender.closeClients();
    }
  }
}

/** The systems in turn, `repeat` times; the median of each figure. */
async function compare(
  contenders: readonly Contender[],
  rounds: 1 | 2,
  inFlight: number,
  { seconds, repeat }: Pace,
): Promise<Row[]> {
  const measured = contenders.map((): Measurement[] => []);
  for (let round = 0; round < repeat; round += 1) {
    for (const [at, contender] of contenders.entries()) {
      const operate = await contender.proposer(1, rounds);
      const register = (caller: number): string => `r${rounds}-${inFlight}-${round}-${caller}`;
      measured[at]!.push(await measure(inFlight, seconds, (caller) => operate(register(caller))));
      await contender.closeClients();
    }
  }
  return contenders.map(({ name }, at) => ({ system: name, rounds, inFlight, ...middle(measured[at]!) }));
}

async function contend(contender: Contender, { seconds }: Pace): Promise<Measured['contention'][number]> {
  const proposers = await Promise.all(
    Array.from({ length: CONTENDERS }, (_, id) => contender.proposer(id + 1, 1)),
  );
  const measured = await measure(CONTENDERS, seconds, (caller) => proposers[caller]!('contended'));
  await contender.closeClients();
  return { system: contender.name, rounds: 1, inFlight: CONTENDERS, proposers: CONTENDERS, ...measured };
}

async function measureCost(baton: BatonCluster, { seconds }: Pace): Promise<Cost[]> {
  const costs: Cost[] = [];
  for (const rounds of [1, 2] as const) {
    const cluster = await baton.open(1, rounds);
    const operate = operationOn(cluster);
    const before = await baton.syncs();
    await measure(64, Math.min(seconds, 2), (caller) => operate(`cost${rounds}-${caller}`));
    const { committed, messages, requests } = cluster.counters;
    const per = (total: number): number => Math.round((total / committed) * 1000) / 1000;
    const syncs = (await baton.syncs()) - before;
    costs.push({
      rounds,
      messagesPerChange: per(messages),
      requestsPerChange: per(requests),
      syncsPerChange: per(syncs),
    });
    await baton.closeClients();
  }
  return costs;
}

function middle(measured: readonly Measurement[]): Measurement {
  const of = (name: keyof Measurement): number => median(measured.map((one) => one[name]));
  return { changesPerSecond: of('changesPerSecond'), p50Ms: of('p50Ms'), p99Ms: of('p99Ms') };
}

function report({ rows, contention, cost, roles }: Measured): string {
  const compared = ratios(rows);
  return [
    ...rows.map(lineOf),
    '',
    `${CONTENDERS} proposers on one register:`,
    ...contention.map(lineOf),
    '',
    'Cost of a change with 64 registers in flight:',
    ...cost.map(
      ({ rounds, messagesPerChange, requestsPerChange, syncsPerChange }) =>
        `  ${rounds} round trip(s): ${messagesPerChange} messages in ${requestsPerChange} requests, ${syncsPerChange} syncs on 3 disks`,
    ),
    `Roles alone, one process: ${whole(roles.stepsPerSecond)} steps/s (${whole(roles.changesPerSecond)} changes/s)`,
    ...(compared.length === 0 ? [] : ['', 'Ratio baton : gryadka in changes per second', ...compared]),
    '',
  ].join('\n');
}

function lineOf({ system, rounds, inFlight, changesPerSecond, p50Ms, p99Ms }: Row): string {
  const rate = whole(changesPerSecond).padStart(9);
  return `${system.padEnd(8)} ${rounds} round trip${rounds === 1 ? ' ' : 's'}  ${`${inFlight}`.padStart(3)} in flight  ${rate}/s  p50 ${p50Ms.toFixed(2)} ms  p99 ${p99Ms.toFixed(2)} ms`;
}

function ratios(rows: readonly Row[]): readonly string[] {
  const of = (system: Contender['name']): readonly Row[] => rows.filter((row) => row.system === system);
  const theirs = of('gryadka');
  if (theirs.length === 0) return [];
  return of('baton').map(({ rounds, inFlight, changesPerSecond }, at) => {
    const ratio = (changesPerSecond / theirs[at]!.changesPerSecond).toFixed(2);
    return `  ${rounds} round trip(s), ${`${inFlight}`.padStart(2)} in flight: ${ratio}`;
  });
}

function whole(value: number): string {
  return value.toLocaleString('en');
}
