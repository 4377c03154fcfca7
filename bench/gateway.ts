/**
 * `npm run bench:gateway`: point reads and upserts of 1 kB documents, through a region's door with the public client and with
 * plain HTTP, beside the SDK that talks to the nodes itself. One cluster of three regions at Strong on this machine, the client
 * in a process of its own; where the time goes is told by the processor time of each process for one operation. Compare the
 * ratios: everything shares one machine.
 *
 *   npm run bench:gateway [-- --clients direct,http,public --in-flight 1,64 --seconds 5 --keys 10000 --json]
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { formatAddress, LocalCluster, nodesOf, resolveKeys } from 'baton/server';
import type { Figures, Said, Task } from './gateway/client-process.ts';
import { type Access, type TargetName, TARGETS } from './gateway/targets.ts';

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

class UsageError extends Error {}

const { values: flags } = parseArgs({
  options: {
    clients: { type: 'string', default: TARGETS.join(',') },
    'in-flight': { type: 'string', default: '1,64' },
    seconds: { type: 'string', default: '5' },
    keys: { type: 'string', default: '10000' },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

function progress(text: string): void {
  process.stderr.write(`${text}\n`);
}

function count(name: 'in-flight' | 'seconds' | 'keys', text: string): number {
  const value = Number(text);
  if (!(value > 0) || (name !== 'seconds' && !Number.isInteger(value)))
    throw new UsageError(`--${name} takes positive numbers, not "${text}".`);
  return value;
}

function clientsOf(text: string): readonly TargetName[] {
  return text.split(',').map((name) => {
    const known = TARGETS.find((one) => one === name);
    if (known === undefined)
      throw new UsageError(`There is no client "${name}"; known: ${TARGETS.join(', ')}.`);
    return known;
  });
}

async function main(): Promise<void> {
  const clients = clientsOf(flags.clients);
  const inFlights = flags['in-flight'].split(',').map((text) => count('in-flight', text));
  const load = { keys: count('keys', flags.keys), seconds: count('seconds', flags.seconds) };
  const cluster = await startCluster();
  try {
    const access = accessTo(cluster);
    progress(`writing ${load.keys} documents`);
    await run(cluster, { ...load, target: 'direct', access, mode: 'fill', inFlight: FILLERS });
    const rows: Row[] = [];
    for (const inFlight of inFlights)
      for (const client of clients)
        for (const mode of ['read', 'upsert'] as const) {
          const row = await measure(cluster, { ...load, target: client, access, mode, inFlight });
          progress(`${client}: ${inFlight} in flight, ${row.perSecond} ${mode}s/s`);
          rows.push(row);
        }
    process.stdout.write(flags.json ? `${JSON.stringify({ rows })}\n` : table(rows));
  } finally {
    await cluster.killAll();
  }
}

async function startCluster(): Promise<LocalCluster> {
  progress('starting three regions at Strong');
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

function accessTo({ config }: LocalCluster): Access {
  const keys = resolveKeys(config, { readFile: (path) => readFileSync(path, 'utf8'), env: process.env });
  const door = config.gateways.find(({ region }) => region === HOME)!;
  return {
    account: config.account.name,
    cluster: config.cluster,
    nodes: nodesOf(config).map(({ address }) => formatAddress(address)),
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
    'three regions at Strong, 1 kB documents; writer: the node of the region that writes; others: the other nodes and the acceptors';
  return `${[about, '', heading, ...lines].join('\n')}\n`;
}

if (flags.help) {
  process.stdout.write(
    'npm run bench:gateway [-- --clients direct,http,public] [--in-flight 1,64] [--seconds N] [--keys N] [--json]\n',
  );
} else {
  try {
    await main();
  } catch (error) {
    progress((error as Error).message);
    process.exitCode = error instanceof UsageError ? 2 : 1;
  }
}
