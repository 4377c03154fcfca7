/**
 * `npm run bench:caspaxos`: this library beside gryadka, in one run on one machine. Three Redis servers that sync every
 * write, three acceptor services that sync every batch, each a process of its own; one client process that drives first
 * the one, then the other, several times over, so that a noisy moment hits both. Compare the ratios, not the figures.
 */
import { parseArgs } from 'node:util';
import { BatonCluster } from './support/baton.ts';
import { GryadkaCluster } from './support/gryadka.ts';
import { measure, median, type Measurement } from './support/measure.ts';
import { stopAll } from './support/processes.ts';
import { findProgram } from '../test/support/programs.ts';
import { measureRoles } from './support/roles.ts';

interface Row extends Measurement {
  readonly system: 'baton' | 'gryadka';
  readonly rounds: 1 | 2;
  readonly inFlight: number;
}

const { values: flags } = parseArgs({
  options: {
    seconds: { type: 'string', default: '3' },
    repeat: { type: 'string', default: '3' },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

const IN_FLIGHT = [1, 8, 64] as const;
const CONTENDERS = 8;
const WARM_UP_CALLERS = 64;
const seconds = Number(flags.seconds);
const repeat = Number(flags.repeat);

function say(text: string): void {
  if (!flags.json) process.stdout.write(`${text}\n`);
}

async function run(baton: BatonCluster, gryadka: GryadkaCluster): Promise<void> {
  const rows: Row[] = [];
  say('Warming up both ...');
  await warmUp(baton, gryadka);
  for (const rounds of [1, 2] as const) {
    for (const inFlight of IN_FLIGHT) {
      const pair = await comparePair(baton, gryadka, rounds, inFlight);
      rows.push(...pair);
      say(table(pair));
    }
  }
  const contention = await compareContention(baton, gryadka);
  say(`\n${CONTENDERS} proposers on one register:`);
  for (const row of contention) say(table([row]));
  const cost = await measureCost(baton);
  const roles = measureRoles(Math.min(seconds, 3));
  say(`\nCost of a change with 64 registers in flight: ${describeCost(cost)}`);
  say(
    `Roles alone, one process: ${roles.stepsPerSecond.toLocaleString('en')} steps/s (${roles.changesPerSecond.toLocaleString('en')} changes/s)`,
  );
  say(`\nRatio baton : gryadka in changes per second\n${ratios(rows)}`);
  if (flags.json) process.stdout.write(`${JSON.stringify({ rows, contention, cost, roles })}\n`);
}

/** A process that has just started runs its JavaScript unoptimised; what is measured is one that has been up for a while. */
async function warmUp(baton: BatonCluster, gryadka: GryadkaCluster): Promise<void> {
  for (const rounds of [1, 2] as const) {
    const peer = gryadka.proposer(1, rounds);
    await measure(WARM_UP_CALLERS, seconds, (caller) => peer(`warm-${caller}`));
    gryadka.closeClients();
    const ours = await baton.proposer(1, rounds);
    await measure(WARM_UP_CALLERS, seconds, (caller) => ours.operate(`warm-${caller}`));
    await baton.closeClients();
  }
}

/** The two systems in turn, `repeat` times; the median of each figure. */
async function comparePair(
  baton: BatonCluster,
  gryadka: GryadkaCluster,
  rounds: 1 | 2,
  inFlight: number,
): Promise<Row[]> {
  const measured: Record<Row['system'], Measurement[]> = { gryadka: [], baton: [] };
  for (let round = 0; round < repeat; round += 1) {
    const register = (caller: number): string => `r${rounds}-${inFlight}-${round}-${caller}`;
    const peer = gryadka.proposer(1, rounds);
    measured.gryadka.push(await measure(inFlight, seconds, (caller) => peer(register(caller))));
    gryadka.closeClients();
    const ours = await baton.proposer(1, rounds);
    measured.baton.push(await measure(inFlight, seconds, (caller) => ours.operate(register(caller))));
    await baton.closeClients();
  }
  return [
    { system: 'gryadka', rounds, inFlight, ...middle(measured.gryadka) },
    { system: 'baton', rounds, inFlight, ...middle(measured.baton) },
  ];
}

async function compareContention(
  baton: BatonCluster,
  gryadka: GryadkaCluster,
): Promise<(Row & { proposers: number })[]> {
  const peers = Array.from({ length: CONTENDERS }, (_, id) => gryadka.proposer(id + 1, 1));
  const theirs = await measure(CONTENDERS, seconds, (caller) => peers[caller]!('contended'));
  gryadka.closeClients();
  const ours = await Promise.all(Array.from({ length: CONTENDERS }, (_, id) => baton.proposer(id + 1, 1)));
  const mine = await measure(CONTENDERS, seconds, (caller) => ours[caller]!.operate('contended'));
  await baton.closeClients();
  const common = { rounds: 1, inFlight: CONTENDERS, proposers: CONTENDERS } as const;
  return [
    { system: 'gryadka', ...common, ...theirs },
    { system: 'baton', ...common, ...mine },
  ];
}

interface Cost {
  readonly rounds: 1 | 2;
  readonly messagesPerChange: number;
  readonly requestsPerChange: number;
  readonly syncsPerChange: number;
}

async function measureCost(baton: BatonCluster): Promise<Cost[]> {
  const costs: Cost[] = [];
  for (const rounds of [1, 2] as const) {
    const { cluster, operate } = await baton.proposer(1, rounds);
    const before = await baton.syncs();
    await measure(64, Math.min(seconds, 2), (caller) => operate(`cost${rounds}-${caller}`));
    const { committed, messages, requests } = cluster.counters;
    const per = (count: number): number => Math.round((count / committed) * 1000) / 1000;
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

function table(rows: readonly Row[]): string {
  return rows
    .map(({ system, rounds, inFlight, changesPerSecond, p50Ms, p99Ms }) => {
      const rate = changesPerSecond.toLocaleString('en').padStart(9);
      return `${system.padEnd(8)} ${rounds} round trip${rounds === 1 ? ' ' : 's'}  ${`${inFlight}`.padStart(3)} in flight  ${rate}/s  p50 ${p50Ms.toFixed(2)} ms  p99 ${p99Ms.toFixed(2)} ms`;
    })
    .join('\n');
}

function describeCost(costs: readonly Cost[]): string {
  return costs
    .map(
      (cost) =>
        `\n  ${cost.rounds} round trip(s): ${cost.messagesPerChange} messages in ${cost.requestsPerChange} requests, ${cost.syncsPerChange} syncs on 3 disks`,
    )
    .join('');
}

function ratios(rows: readonly Row[]): string {
  return rows
    .filter(({ system }) => system === 'baton')
    .map((ours) => {
      const theirs = rows.find(
        (row) => row.system === 'gryadka' && row.rounds === ours.rounds && row.inFlight === ours.inFlight,
      )!;
      const ratio = (ours.changesPerSecond / theirs.changesPerSecond).toFixed(2);
      return `  ${ours.rounds} round trip(s), ${`${ours.inFlight}`.padStart(2)} in flight: ${ratio}`;
    })
    .join('\n');
}

async function main(): Promise<void> {
  if (flags.help) {
    process.stdout.write('npm run bench:caspaxos [-- --seconds N] [--repeat N] [--json]\n');
    return;
  }
  const redis = findProgram('redis-server');
  if (redis.path === undefined) {
    process.stderr.write(`The peer needs redis-server: ${redis.why}. ${redis.how}\n`);
    process.exitCode = 1;
    return;
  }
  const baton = new BatonCluster();
  const gryadka = new GryadkaCluster();
  try {
    await gryadka.start(redis.path, redis.env);
    await baton.start();
    await run(baton, gryadka);
  } finally {
    await baton.closeClients();
    gryadka.closeClients();
    await stopAll();
  }
}

await main();
