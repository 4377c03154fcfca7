/**
 * `npm run bench:failover`: how long writes stand still. A client writes a document of one partition-set every 20 ms; a fault
 * is done, and the longest time without an acknowledgement is its gap; then it is healed, the cluster comes to rest, and every
 * acknowledged document is read back.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { BatonClient, type Container } from 'baton/client';
import { epkOf } from 'baton/engine';
import { partitionSetsOf } from 'baton/server';
import { Ground, HOME } from './failover/cluster.ts';
import { type Fault, FAULTS } from './failover/faults.ts';
import { directLatency, type Latency, latencyOf } from './failover/latency.ts';
import { countLost } from './failover/lost.ts';
import { SteadyWriter } from './failover/writer.ts';
import { type Bench, runBenchmark } from './support/benchmark.ts';
import { count, someOf } from './support/flags.ts';
import { middleOf } from './support/measure.ts';

interface Row {
  readonly fault: Fault['name'];
  readonly runs: number;
  readonly medianMs: number;
  readonly worstMs: number;
  readonly lostWrites: number;
  readonly gapsMs: readonly number[];
}

/** What the client writes, and where. */
interface Written {
  readonly ground: Ground;
  readonly container: Container;
  readonly partitionSet: string;
  readonly ids: () => string;
}

interface Steady {
  readonly client: Latency;
  readonly direct: Latency;
}

const BEFORE_MS = 1000;
const AFTER_MS = 1500;

const FAULT_NAMES = FAULTS.map(({ name }) => name);

await runBenchmark(
  {
    name: 'failover',
    about:
      'How long writes stand still when something goes wrong: three regions and five acceptors as processes on this machine, ' +
      'in the `fast` profile at Strong. A client writes every 20 ms; the longest time without an acknowledgement is the gap. ' +
      'Afterwards every acknowledged write is read back.',
    flags: {
      faults: someOf(FAULT_NAMES, 'faults to measure'),
      runs: count('times that each fault is done', 10),
      partitionSets: count('partition-sets of the cluster', 16),
    },
    example: '--faults kill,switchover --runs 1',
  },
  async ({ faults, runs, partitionSets }, bench) => {
    bench.progress('starting three regions and five acceptors');
    const ground = await Ground.start(partitionSets);
    try {
      await ground.calm();
      const client = await BatonClient.connect({
        ...ground.cluster.connectOptions,
        endpoints: ground.endpointsFrom(HOME),
        cacheDirectory: false,
      });
      const written: Written = { ground, container: client.container('items'), ...oneSet(ground) };
      bench.progress('measuring writes when nothing is wrong');
      const latency = await steady(written);
      const rows: Row[] = [];
      for (const fault of FAULTS.filter(({ name }) => faults.includes(name)))
        rows.push(await measure(fault, runs, written, bench));
      await client.close();
      return { json: { rows, latency }, text: report(rows, latency) };
    } finally {
      await ground.cluster.stop();
    }
  },
);

/** A partition-set, and ids that it owns. */
function oneSet(ground: Ground): Pick<Written, 'partitionSet' | 'ids'> {
  const [first] = partitionSetsOf(ground.cluster.config);
  if (first === undefined) throw new Error('There is no partition-set.');
  let documents = 0;
  const ids = (): string => {
    for (;;) {
      documents += 1;
      const id = `document-${documents}`;
      const epk = epkOf([id]);
      if (epk >= first.from && epk < first.to) return id;
    }
  };
  return { partitionSet: first.name, ids };
}

async function measure(
  fault: Fault,
  runs: number,
  { ground, container, partitionSet, ids }: Written,
  { progress }: Bench,
): Promise<Row> {
  const gaps: number[] = [];
  let lostWrites = 0;
  for (let run = 1; run <= runs; run += 1) {
    await ground.calm();
    const writer = new SteadyWriter(container, ids);
    writer.start();
    await sleep(BEFORE_MS);
    await fault.begin(ground, partitionSet);
    await writer.untilWritten();
    await sleep(AFTER_MS);
    await writer.stop();
    await fault.heal(ground, partitionSet);
    await ground.bringHome();
    await ground.calm();
    if (writer.failed.length > 0) throw new Error(`${fault.name}: writes failed: ${writer.failed[0]}`);
    const lost = await countLost(container, writer.acknowledged.keys());
    lostWrites += lost;
    gaps.push(Math.round(writer.gapMs));
    progress(
      `${fault.name} ${run} of ${runs}: ${gaps.at(-1)} ms, ${writer.acknowledged.size} writes, ${lost} lost`,
    );
  }
  return {
    fault: fault.name,
    runs,
    medianMs: middleOf(gaps),
    worstMs: Math.max(...gaps),
    lostWrites,
    gapsMs: gaps,
  };
}

/** A write through the client, against one that is sent straight to the node that writes. */
async function steady({ ground, container, partitionSet, ids }: Written): Promise<Steady> {
  const client = await latencyOf(() => container.create({ id: ids(), number: 0 }));
  const direct = await directLatency(ground, partitionSet, ids);
  return { client, direct };
}

function report(rows: readonly Row[], { client, direct }: Steady): string {
  const lines = rows.map(({ fault, runs, medianMs, worstMs, lostWrites }) => {
    const { what } = FAULTS.find(({ name }) => name === fault)!;
    return [
      what.padEnd(44),
      String(runs).padStart(5),
      String(medianMs).padStart(11),
      String(worstMs).padStart(10),
      String(lostWrites).padStart(12),
    ].join('');
  });
  const heading = `${'fault'.padEnd(44)} runs  median ms  worst ms lost writes`;
  const ratio = (client.p50Ms / direct.p50Ms).toFixed(2);
  return [
    heading,
    ...lines,
    '',
    `A write when nothing is wrong: ${client.p50Ms} ms through the client (p99 ${client.p99Ms}), ${direct.p50Ms} ms straight to its node (p99 ${direct.p99Ms}); ratio ${ratio}.`,
    '',
  ].join('\n');
}
