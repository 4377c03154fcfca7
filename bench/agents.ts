/**
 * How many partition-sets one process keeps alive: agents in the `paper` profile against acceptor services on this machine,
 * three and then seven, each with a disk of its own. One region's agents run here, as in one node; the other regions are
 * not there, so every partition-set is a write region that renews its lease every 30 s. The driver does nothing: what is
 * measured is the agent, its share of the cluster's client, and what both keep in memory.
 *
 *   npm run bench:agents [-- --partition-sets 1000,10000 --acceptors 3,7 --settle 60 --seconds 60 --json]
 */
import { AgentHost, configurationFor, type Driver, openAgentCluster } from 'baton/failover';
import { parseArgs } from 'node:util';
import { setTimeout as sleep } from 'node:timers/promises';
import { startAcceptor, stopAll, temporaryDirectory } from './support/processes.ts';

interface Row {
  readonly partitionSets: number;
  readonly acceptors: number;
  readonly cpuShare: number;
  readonly bytesPerPartitionSet: number;
  readonly acceptorRequestsPerHour: number;
  readonly updatesPerSecond: number;
  readonly leasesLost: number;
}

const INTERVAL_MS = 30_000;

const { values } = parseArgs({
  options: {
    'partition-sets': { type: 'string', default: '1000,10000,30000,100000' },
    acceptors: { type: 'string', default: '3,7' },
    seconds: { type: 'string', default: '60' },
    settle: { type: 'string', default: '60' },
    json: { type: 'boolean', default: false },
  },
});

const rows: Row[] = [];
try {
  if (!values.json) process.stdout.write(heading());
  for (const acceptors of numbers(values.acceptors)) {
    const urls = await startAcceptors(acceptors);
    for (const partitionSets of numbers(values['partition-sets'])) {
      const row = await measure(urls, partitionSets, Number(values.seconds));
      rows.push(row);
      if (!values.json) process.stdout.write(line(row));
    }
  }
} finally {
  await stopAll();
}
if (values.json) process.stdout.write(`${JSON.stringify({ rows })}\n`);

function numbers(list: string): readonly number[] {
  return list.split(',').map(Number);
}

async function startAcceptors(count: number): Promise<readonly string[]> {
  const urls: string[] = [];
  for (let index = 0; index < count; index += 1) {
    urls.push((await startAcceptor(temporaryDirectory('acceptor'))).url);
  }
  return urls;
}

/** First beats are spread over an interval, so it takes two to settle; then as long as was asked. */
async function measure(acceptors: readonly string[], partitionSets: number, seconds: number): Promise<Row> {
  const cluster = await openAgentCluster({ acceptors, proposer: 'bench' }, { intervalMs: INTERVAL_MS });
  const host = new AgentHost({ region: 'west', cluster });
  const drivers = Array.from({ length: partitionSets }, () => idleDriver());
  const before = heapBytes();
  const configuration = configurationFor(['west', 'east', 'north'], {
    consistency: 'Session',
    minDurability: 1,
  });
  const prefix = `bench-${acceptors.length}-${partitionSets}`;
  for (const [index, driver] of drivers.entries()) {
    await host.add({ partitionSet: `${prefix}-${index}`, driver, configuration });
  }
  await sleep(Number(values.settle) * 1000);
  const bytes = (heapBytes() - before) / partitionSets;
  const counted = { ...host.counters, requests: cluster.counters.requests };
  const cpu = process.cpuUsage();
  const startedAt = performance.now();
  await sleep(seconds * 1000);
  const elapsedMs = performance.now() - startedAt;
  const { user, system } = process.cpuUsage(cpu);
  const row: Row = {
    partitionSets,
    acceptors: acceptors.length,
    cpuShare: (user + system) / 1000 / elapsedMs,
    bytesPerPartitionSet: Math.round(bytes),
    acceptorRequestsPerHour:
      ((cluster.counters.requests - counted.requests) / partitionSets) * (3_600_000 / elapsedMs),
    updatesPerSecond: ((host.counters.accepted - counted.accepted) * 1000) / elapsedMs,
    leasesLost: host.counters.leasesLost,
  };
  host.close();
  await cluster.close();
  return row;
}

function idleDriver(): Driver {
  return {
    incarnation: async () => 1,
    status: () => ({
      build: 'Built',
      progress: { epoch: 0, lsn: 0 },
      gclsn: 0,
      canCommit: true,
      peers: {},
      quiesced: false,
    }),
    assume: async () => {},
  };
}

function heapBytes(): number {
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

function heading(): string {
  return (
    'Partition-sets kept alive by one process, paper profile; each one renews a lease every 30 s.\n' +
    'partition-sets  acceptors  CPU share  bytes each  updates/s  requests each and hour  leases lost\n'
  );
}

function line(row: Row): string {
  return `${[
    row.partitionSets.toLocaleString('en').padStart(14),
    `${row.acceptors}`.padStart(10),
    row.cpuShare.toFixed(3).padStart(10),
    row.bytesPerPartitionSet.toLocaleString('en').padStart(11),
    row.updatesPerSecond.toFixed(0).padStart(10),
    row.acceptorRequestsPerHour.toFixed(1).padStart(23),
    `${row.leasesLost}`.padStart(12),
  ].join(' ')}\n`;
}
