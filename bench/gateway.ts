/**
 * `npm run bench:gateway`: point reads and upserts through a region's gateway, beside the SDK that talks to the nodes itself.
 * The client is a process of its own; the processor time of each process for one operation tells where the time goes.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { formatAddress, LocalCluster, nodesOf, resolveKeys } from 'baton/server';
import type { Figures, Said, Task } from './gateway/client-process.ts';
import { type Access, type TargetName, TARGETS } from './gateway/targets.ts';
import { runBenchmark } from './support/benchmark.ts';
import { amount, count, counts, someOf } from './support/flags.ts';

const CLIENT = fileURLToPath(new URL('./gateway/client-process.js', import.meta.url));
const REGIONS = ['west', 'east', 'north'];
const HOME = 'west';
const FILLERS = 64;
/** Of the kernel's clock, in which processor times are counted. */
const TICK_MS = 10;
const PATIENCE_MS = 60_000;

interface Row {
  readonly client: TargetName;
  readonly inFlight: number;
  readonly mode: 'read' | 'upsert';
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Processor time for one operation, in microseconds. */
  readonly clientUs: number;
  readonly gatewayUs: number;
  readonly writerUs: number;
  readonly othersUs: number;
}

type Spent = Readonly<Record<'gateway' | 'writer' | 'others', number>>;

await runBenchmark(
  {
    name: 'gateway',
    about:
      "Point reads and upserts a second of 1 kB documents, through a region's gateway with the public Cosmos DB client and " +
      'with plain HTTP, and with the SDK straight to the nodes, in one cluster of three regions at Strong on this machine; ' +
      'and the processor time of each process for one operation. Needs Linux. Compare the ratios: everything shares one machine.',
    flags: {
      clients: someOf(TARGETS, 'clients to measure'),
      inFlight: counts('operations in flight', [1, 64]),
      seconds: amount('seconds of each measurement', 5),
      keys: count('documents', 10_000),
    },
    example: '--clients direct,public --in-flight 64 --seconds 2 --keys 1000',
  },
  async ({ clients, inFlight: inFlights, seconds, keys }, { progress }) => {
    progress('starting three regions at Strong');
    const cluster = await startCluster();
    try {
      const load = { seconds, keys, access: accessTo(cluster) };
      progress(`writing ${keys} documents`);
      await run(cluster, { ...load, target: 'direct', mode: 'fill', inFlight: FILLERS });
      const rows: Row[] = [];
      for (const inFlight of inFlights)
        for (const target of clients)
          for (const mode of ['read', 'upsert'] as const) {
            const row = await measure(cluster, { ...load, target, mode, inFlight });
            progress(`${target}: ${inFlight} in flight, ${row.perSecond} ${mode}s/s`);
            rows.push(row);
          }
      return { json: { rows }, text: table(rows) };
    } finally {
      await cluster.killAll();
    }
  },
);

async function startCluster(): Promise<LocalCluster> {
  const cluster = await LocalCluster.start({
    directory: mkdtempSync(join(tmpdir(), 'baton-bench-gateway-')),
    isTemporary: true,
    portBase: 'free',
    regions: REGIONS,
    acceptors: 3,
    partitionSets: 4,
    profile: 'fast',
    consistency: 'Strong',
    gateways: true,
  });
  await cluster.waitForWriters([HOME], PATIENCE_MS);
  return cluster;
}

function accessTo({ config, clientToken }: LocalCluster): Access {
  const keys = resolveKeys(config, { readFile: (path) => readFileSync(path, 'utf8'), env: process.env });
  const door = config.gateways.find(({ region }) => region === HOME)!;
  return {
    account: config.account.name,
    cluster: config.cluster,
    nodes: nodesOf(config).map(({ address }) => formatAddress(address)),
    token: clientToken,
    endpoint: `http://${formatAddress(door.address)}`,
    key: keys.primary!.reveal(),
  };
}

async function measure(cluster: LocalCluster, task: Task & { readonly mode: Row['mode'] }): Promise<Row> {
  const { figures, spent } = await run(cluster, task);
  const { operations, perSecond, p50Ms, p99Ms, clientCpuMs } = figures;
  const each = (ms: number): number => Math.round((ms * 1000) / Math.max(1, operations));
  return {
    client: task.target,
    inFlight: task.inFlight,
    mode: task.mode,
    perSecond,
    p50Ms,
    p99Ms,
    clientUs: each(clientCpuMs),
    gatewayUs: each(spent.gateway),
    writerUs: each(spent.writer),
    othersUs: each(spent.others),
  };
}

async function run(cluster: LocalCluster, task: Task): Promise<{ figures: Figures; spent: Spent }> {
  const child = fork(CLIENT, { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  let before = spentBy(cluster);
  let ended: { figures: Figures; spent: Spent } | undefined;
  child.on('message', (said: Said) => {
    if (said.is === 'begun') before = spentBy(cluster);
    else ended = { figures: said.figures, spent: difference(spentBy(cluster), before) };
  });
  child.send(task);
  const [code] = (await once(child, 'close')) as [number | null];
  if (ended === undefined) throw new Error(`The ${task.target} client ended with ${code}.`);
  return ended;
}

/** In milliseconds since they were started. */
function spentBy({ processes }: LocalCluster): Spent {
  const spent = { gateway: 0, writer: 0, others: 0 };
  for (const { role, region, identity } of processes) {
    if (identity === undefined) continue;
    const isHome = region === HOME;
    const part = role === 'gateway' && isHome ? 'gateway' : role === 'node' && isHome ? 'writer' : 'others';
    spent[part] += processorMs(identity.pid);
  }
  return spent;
}

function processorMs(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const [user, system] = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 13)
    .map(Number);
  return (user! + system!) * TICK_MS;
}

function difference(after: Spent, before: Spent): Spent {
  return {
    gateway: after.gateway - before.gateway,
    writer: after.writer - before.writer,
    others: after.others - before.others,
  };
}

function table(rows: readonly Row[]): string {
  const heading =
    'client  in flight  what      per second    p50 ms    p99 ms   µs of processor for one:  client  gateway  writer  others';
  const lines = rows.map((row) =>
    [
      row.client.padEnd(7),
      `${row.inFlight}`.padStart(9),
      ` ${row.mode.padEnd(8)}`,
      row.perSecond.toLocaleString('en').padStart(11),
      row.p50Ms.toFixed(2).padStart(9),
      row.p99Ms.toFixed(2).padStart(9),
      `${row.clientUs}`.padStart(33),
      `${row.gatewayUs}`.padStart(8),
      `${row.writerUs}`.padStart(7),
      `${row.othersUs}`.padStart(7),
    ].join(' '),
  );
  const about =
    'three regions at Strong, 1 kB documents; writer: the node of the write region; others: the other nodes and the acceptors';
  return `${[about, '', heading, ...lines].join('\n')}\n`;
}
