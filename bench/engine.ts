/**
 * `npm run bench:engine`: durable replicated writes and reads in systems that keep their replicas in step, one system after
 * the other in one run. Each system starts empty, is filled with every key (so every measured write replaces a document), and
 * is measured at each number of operations in flight. Then a region that was away copies what it missed; and with `--memory`
 * a million writes show whether memory grows.
 */
import { type CatchUp, measureCatchUp, measureMemory, type Memory } from './engine/catch-up.ts';
import { runClient } from './engine/client.ts';
import { LEAST_BYTES, USUAL_BYTES } from './engine/load.ts';
import type { SystemKind, Use } from './engine/system.ts';
import { SYSTEMS } from './engine/systems.ts';
import { type Bench, runBenchmark } from './support/benchmark.ts';
import { amount, count, counts, FlagError, someOf, toggle, type Values } from './support/flags.ts';
import { median } from './support/measure.ts';

interface Row {
  readonly system: string;
  readonly inFlight: number;
  readonly writesPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly readsPerSecond: number;
  readonly readP50Ms: number;
  readonly readP99Ms: number;
  /** Share of one core that the client used while it wrote. */
  readonly clientCpu: number;
}

const LOADERS = 256;
/** Of documents that are being loaded: servers refuse more than a connection's share. */
const LOADING_BYTES = 16 * 1024 * 1024;
const MEMORY_STEPS = 10;

const FLAGS = {
  systems: someOf(Object.keys(SYSTEMS), 'systems to measure', ['baton', 'etcd', 'postgres']),
  inFlight: counts('operations in flight', [1, 64, 1024]),
  seconds: amount('seconds of each measurement', 5),
  keys: count('documents that each system holds', 100_000),
  bytes: count('size of a document', USUAL_BYTES),
  repeat: count('rounds over all systems; the median is shown', 1),
  catchUp: counts('writes that a region of Baton misses before it copies them', [25_000, 50_000, 100_000]),
  noCatchUp: toggle('skip the measurement of --catch-up'),
  memory: count('also make so many writes to Baton and show its memory at every tenth of them', undefined),
};

type Load = Values<typeof FLAGS>;

await runBenchmark(
  {
    name: 'engine',
    about:
      'Writes and reads a second of documents, of 1 kB by default, and their latency, in three regions of Baton at Strong, three members of ' +
      'etcd, and PostgreSQL with a synchronous standby. An acknowledged write is durable on its replicas; a read returns the ' +
      'newest version. Everything is on this machine and its disk; the client is a process of its own. Then: the time in ' +
      'which a region of Baton copies the writes that it missed. ' +
      'Compare the ratios: servers, client and disk share one machine.',
    flags: FLAGS,
    example: '--systems baton,etcd --in-flight 64 --seconds 2 --keys 10000 --no-catch-up',
    programs: ['etcd', 'postgres'],
  },
  async (load, bench) => {
    if (load.bytes < LEAST_BYTES) throw new FlagError(`--bytes is at least ${LEAST_BYTES}.`);
    const rows = await measureSystems(load, bench);
    let catchUp: readonly CatchUp[] = [];
    if (!load.noCatchUp)
      await bench.attempt('catch-up', async () => {
        catchUp = await measureCatchUp(load.catchUp, bench.progress);
      });
    let memory: readonly Memory[] = [];
    const writes = load.memory;
    if (writes !== undefined)
      await bench.attempt('memory', async () => {
        memory = await measureMemory(writes, MEMORY_STEPS, bench.progress);
      });
    return {
      json: { rows, catchUp, memory },
      text: [table(rows), ...catchUpTable(catchUp), ...memoryTable(memory)].join('\n'),
    };
  },
);

/** The median of all rounds; a system that fails in one of them is left out. */
async function measureSystems(load: Load, bench: Bench): Promise<readonly Row[]> {
  let names = load.systems.filter((name) => bench.canRun(name, SYSTEMS[name]!.lacks()));
  const rows: Row[] = [];
  for (let round = 0; round < load.repeat; round += 1) {
    const done: string[] = [];
    for (const name of names) {
      const measure = async (): Promise<void> => {
        rows.push(...(await measureSystem(name, SYSTEMS[name]!, load, bench)));
      };
      if (await bench.attempt(name, measure)) done.push(name);
    }
    names = done;
  }
  return names.flatMap((name) => load.inFlight.map((inFlight) => middleRow(rows, name, inFlight)));
}

async function measureSystem(name: string, kind: SystemKind, load: Load, bench: Bench): Promise<Row[]> {
  const system = kind.create();
  const client = (mode: Use['mode'], inFlight: number): ReturnType<typeof runClient> =>
    runClient(system, { ...load, mode, inFlight });
  const rows: Row[] = [];
  try {
    bench.progress(`${name}: starting`);
    await system.start();
    bench.progress(`${name}: writing ${load.keys} documents`);
    await client('load', Math.max(1, Math.min(LOADERS, Math.floor(LOADING_BYTES / load.bytes))));
    for (const inFlight of load.inFlight) {
      const writes = await client('write', inFlight);
      const reads = await client('read', inFlight);
      rows.push({
        system: name,
        inFlight,
        writesPerSecond: writes.operationsPerSecond,
        p50Ms: writes.p50Ms,
        p99Ms: writes.p99Ms,
        readsPerSecond: reads.operationsPerSecond,
        readP50Ms: reads.p50Ms,
        readP99Ms: reads.p99Ms,
        clientCpu: writes.clientCpu,
      });
      bench.progress(`${name}: ${inFlight} in flight, ${writes.operationsPerSecond} writes/s`);
    }
  } finally {
    await system.stop();
  }
  return rows;
}

function middleRow(rows: readonly Row[], system: string, inFlight: number): Row {
  const alike = rows.filter((row) => row.system === system && row.inFlight === inFlight);
  const of = (name: Exclude<keyof Row, 'system' | 'inFlight'>): number =>
    median(alike.map((row) => row[name]));
  return {
    system,
    inFlight,
    writesPerSecond: of('writesPerSecond'),
    p50Ms: of('p50Ms'),
    p99Ms: of('p99Ms'),
    readsPerSecond: of('readsPerSecond'),
    readP50Ms: of('readP50Ms'),
    readP99Ms: of('readP99Ms'),
    clientCpu: of('clientCpu'),
  };
}

function table(rows: readonly Row[]): string {
  if (rows.length === 0) return '';
  const systems = new Set(rows.map(({ system }) => system));
  const settings = [...systems].map((name) => `${name}: ${SYSTEMS[name]!.setting}`);
  const heading =
    'system    in flight   writes/s    p50 ms    p99 ms    reads/s    p50 ms    p99 ms  client CPU';
  const lines = rows.map((row) =>
    [
      row.system.padEnd(9),
      `${row.inFlight}`.padStart(9),
      row.writesPerSecond.toLocaleString('en').padStart(10),
      row.p50Ms.toFixed(2).padStart(9),
      row.p99Ms.toFixed(2).padStart(9),
      row.readsPerSecond.toLocaleString('en').padStart(10),
      row.readP50Ms.toFixed(2).padStart(9),
      row.readP99Ms.toFixed(2).padStart(9),
      row.clientCpu.toFixed(2).padStart(11),
    ].join(' '),
  );
  return `${[...settings, '', heading, ...lines].join('\n')}\n`;
}

function catchUpTable(rows: readonly CatchUp[]): readonly string[] {
  if (rows.length === 0) return [];
  const lines = rows.map(
    ({ missed, seconds, writesPerSecond }) =>
      `${missed.toLocaleString('en').padStart(13)}${seconds.toFixed(2).padStart(9)}${writesPerSecond.toLocaleString('en').padStart(11)}`,
  );
  return [['missed writes  seconds   writes/s', ...lines, ''].join('\n')];
}

function memoryTable(rows: readonly Memory[]): readonly string[] {
  if (rows.length === 0) return [];
  const lines = rows.map(
    ({ writes, writer, reader }) =>
      `${writes.toLocaleString('en').padStart(10)}${writer.toFixed(0).padStart(11)}${reader.toFixed(0).padStart(11)}`,
  );
  return [['    writes  writer MB  reader MB', ...lines, ''].join('\n')];
}
