/**
 * How long writes stand still: three regions and five acceptors as processes on this machine, in the `fast` profile at
 * Strong, and a client that writes a document of one partition-set every 20 ms. A fault is done, and the longest time without an
 * acknowledgement is its gap; then it is healed, the cluster comes to rest, and every acknowledged document is read back.
 *
 *   npm run bench:failover [-- --faults kill,pause,switchover,stop,reader,acceptors] [--runs 10] [--partition-sets 16] [--json]
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { BatonClient, type Container } from 'baton/client';
import { epkOf } from 'baton/engine';
import { partitionSetsOf } from 'baton/server';
import { Ground, HOME } from './failover/cluster.ts';
import { type Fault, FAULTS } from './failover/faults.ts';
import { directLatency, type Latency, latencyOf } from './failover/latency.ts';
import { countLost } from './failover/lost.ts';
import { SteadyWriter } from './failover/writer.ts';

interface Row {
  readonly fault: Fault['name'];
  readonly runs: number;
  readonly medianMs: number;
  readonly worstMs: number;
  readonly lostWrites: number;
  readonly gapsMs: readonly number[];
}

const BEFORE_MS = 1000;
const AFTER_MS = 1500;

const { values } = parseArgs({
  options: {
    faults: { type: 'string', default: FAULTS.map(({ name }) => name).join(',') },
    runs: { type: 'string', default: '10' },
    'partition-sets': { type: 'string', default: '16' },
    json: { type: 'boolean', default: false },
  },
});
const runs = Number(values.runs);
const chosen = values.faults.split(',').map((name) => {
  const fault = FAULTS.find((one) => one.name === name);
  if (fault === undefined) throw new Error(`There is no fault ${name}.`);
  return fault;
});

let documents = 0;
const rows: Row[] = [];
progress('starting three regions and five acceptors');
const ground = await Ground.start(Number(values['partition-sets']));
try {
  await ground.calm();
  const client = await BatonClient.connect({
    account: ground.cluster.config.account.name,
    endpoints: ground.endpointsFrom(HOME),
    cacheDirectory: false,
  });
  const container = client.container('items');
  const { name: partitionSet, ids } = oneSet();
  const latency = await steady(container, partitionSet, ids);
  for (const fault of chosen) rows.push(await measure(fault, container, partitionSet, ids));
  await client.close();
  process.stdout.write(values.json ? `${JSON.stringify({ rows, latency })}\n` : report(rows, latency));
} finally {
  await ground.cluster.stop();
}

/** A partition-set, and ids that it owns. */
function oneSet(): { name: string; ids: () => string } {
  const sets = partitionSetsOf(ground.cluster.config);
  const [first] = sets;
  if (first === undefined) throw new Error('There is no partition-set.');
  const ids = (): string => {
    for (;;) {
      documents += 1;
      const id = `document-${documents}`;
      const epk = epkOf([id]);
      if (epk >= first.from && epk < first.to) return id;
    }
  };
  return { name: first.name, ids };
}

async function measure(
  fault: Fault,
  container: Container,
  partitionSet: string,
  ids: () => string,
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
  const sorted = gaps.toSorted((a, b) => a - b);
  return {
    fault: fault.name,
    runs,
    medianMs: median(sorted),
    worstMs: sorted.at(-1)!,
    lostWrites,
    gapsMs: gaps,
  };
}

/** A write through the client, against one that is sent straight to the node that writes. */
async function steady(
  container: Container,
  partitionSet: string,
  ids: () => string,
): Promise<{ client: Latency; direct: Latency }> {
  progress('measuring writes when nothing is wrong');
  const client = await latencyOf(() => container.create({ id: ids(), number: 0 }));
  const direct = await directLatency(ground, partitionSet, ids);
  return { client, direct };
}

function median(sorted: readonly number[]): number {
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : Math.round((sorted[middle - 1]! + sorted[middle]!) / 2);
}

function progress(text: string): void {
  process.stderr.write(`${text}\n`);
}

function report(all: readonly Row[], { client, direct }: { client: Latency; direct: Latency }): string {
  const lines = all.map(({ fault, runs: count, medianMs, worstMs, lostWrites }) => {
    const { what } = FAULTS.find(({ name }) => name === fault)!;
    return [
      what.padEnd(44),
      String(count).padStart(5),
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
