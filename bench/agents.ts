/**
 * `npm run bench:agents`: how many partition-sets one process keeps alive. One region's agents run here, as in one node; the
 * other regions are absent, so this region writes every partition-set and renews its lease every 30 s. The driver does
 * nothing: what is measured is the agent, its share of the cluster's client, and what both keep in memory.
 */
import { AgentHost, configurationFor, type Driver, openAgentCluster } from 'baton/failover';
import { setTimeout as sleep } from 'node:timers/promises';
import { startAcceptors } from './support/acceptors.ts';
import { runBenchmark } from './support/benchmark.ts';
import { amount, counts, type Values } from './support/flags.ts';
import { Servers } from './support/servers.ts';

interface Row {
  readonly partitionSets: number;
  readonly acceptors: number;
  readonly cpuShare: number;
  readonly bytesPerPartitionSet: number;
  readonly acceptorRequestsPerHour: number;
  readonly updatesPerSecond: number;
  readonly leasesLost: number;
}

const FLAGS = {
  partitionSets: counts('partition-sets in the process', [1000, 10_000, 30_000, 100_000]),
  acceptors: counts('acceptor services', [3, 7]),
  settle: amount('seconds from the start to the measurement; first updates are spread over 30 s', 60),
  seconds: amount('seconds of each measurement', 60),
};

await runBenchmark(
  {
    name: 'agents',
    about:
      'Processor time, memory and acceptor requests of the agents of one process in the `paper` profile, for each number of ' +
      'partition-sets and acceptors. The acceptors are processes on this machine. Every combination takes --settle and ' +
      '--seconds: with the defaults all of them take 16 minutes.',
    flags: FLAGS,
    example: '--partition-sets 1000 --acceptors 3 --settle 40 --seconds 20',
  },
  async (flags, bench) => {
    const rows: Row[] = [];
    for (const acceptors of flags.acceptors) {
      const servers = new Servers('acceptors');
      try {
        const urls = await startAcceptors(servers, acceptors);
        for (const partitionSets of flags.partitionSets) {
          bench.progress(`${partitionSets} partition-sets, ${acceptors} acceptors`);
          rows.push(await measure(urls, partitionSets, flags));
        }
      } finally {
        await servers.stop();
      }
    }
    return { json: { rows }, text: heading() + rows.map(line).join('') };
  },
);

/** First updates are spread over an interval, so it takes two to settle; then as long as was asked. */
async function measure(
  acceptors: readonly string[],
  partitionSets: number,
  { settle, seconds }: Values<typeof FLAGS>,
): Promise<Row> {
  const cluster = await openAgentCluster({ acceptors, proposer: 'bench' });
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
  await sleep(settle * 1000);
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
