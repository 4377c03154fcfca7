/**
 * `npm run bench:engine`: durable replicated writes of 1 kB documents, and point reads of the newest, in systems that keep
 * their replicas in step: one after the other in one run, on loopback, all on the same disk, the client in a process of its
 * own. Each system starts empty, is filled with every key (so every measured write replaces a document), and is measured at
 * each number of operations in flight. Compare the ratios: the servers, the client and the disk share one machine.
 *
 * Then a region that was away copies what it missed; and with `--memory` a million writes show whether memory grows.
 *
 *   npm run bench:engine [-- --systems baton,etcd,postgres --in-flight 1,64,1024 --seconds 5 --keys 100000 --repeat 1
 *     --catch-up 25000,50000,100000 --memory 1000000 --json]
 */
import { parseArgs } from 'node:util';
import { median } from './support/measure.ts';
import { type CatchUp, measureCatchUp, measureMemory, type Memory } from './engine/catch-up.ts';
import { runClient } from './engine/client.ts';
import type { System, Use } from './engine/system.ts';
import { SYSTEMS } from './engine/systems.ts';

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
const MEMORY_STEPS = 10;

const { values: flags } = parseArgs({
  options: {
    systems: { type: 'string', default: 'baton,etcd,postgres' },
    'in-flight': { type: 'string', default: '1,64,1024' },
    seconds: { type: 'string', default: '5' },
    keys: { type: 'string', default: '100000' },
    repeat: { type: 'string', default: '1' },
    'catch-up': { type: 'string', default: '25000,50000,100000' },
    memory: { type: 'string', default: '' },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

class UsageError extends Error {}

function count(
  name: 'in-flight' | 'seconds' | 'keys' | 'repeat' | 'catch-up' | 'memory',
  text: string,
): number {
  const value = Number(text);
  const whole = name === 'seconds' || Number.isInteger(value);
  if (!(value > 0) || !whole) throw new UsageError(`--${name} takes positive numbers, not "${text}".`);
  return value;
}

function progress(text: string): void {
  process.stderr.write(`${text}\n`);
}

async function main(): Promise<void> {
  const inFlights = flags['in-flight'].split(',').map((text) => count('in-flight', text));
  const repeat = count('repeat', flags.repeat);
  const names = flags.systems.split(',').filter((name) => name !== '');
  const missed = flags['catch-up']
    .split(',')
    .filter((text) => text !== '')
    .map((text) => count('catch-up', text));
  const soak = flags.memory === '' ? 0 : count('memory', flags.memory);
  for (const name of names) {
    if (SYSTEMS[name] === undefined)
      throw new UsageError(`There is no system "${name}"; known: ${Object.keys(SYSTEMS).join(', ')}.`);
  }
  count('seconds', flags.seconds);
  count('keys', flags.keys);
  const skipped = names.flatMap((system) => {
    const why = SYSTEMS[system]!.lacks();
    return why === undefined ? [] : [{ system, why }];
  });
  for (const { system, why } of skipped) progress(`${system} is skipped: ${why}`);
  const able = names.filter((name) => skipped.every(({ system }) => system !== name));
  const rows: Row[] = [];
  for (let round = 0; round < repeat; round += 1) {
    for (const name of able) rows.push(...(await measureSystem(name, inFlights)));
  }
  const middle = able.flatMap((name) => inFlights.map((inFlight) => middleRow(rows, name, inFlight)));
  const catchUp = missed.length === 0 ? [] : await measureCatchUp(missed, progress);
  const memory = soak === 0 ? [] : await measureMemory(soak, MEMORY_STEPS, progress);
  const text = flags.json
    ? `${JSON.stringify({ rows: middle, catchUp, memory, skipped })}\n`
    : [table(able, middle), ...catchUpTable(catchUp), ...memoryTable(memory)].join('\n');
  process.stdout.write(text);
}

async function measureSystem(name: string, inFlights: readonly number[]): Promise<Row[]> {
  const system = SYSTEMS[name]!.create();
  const rows: Row[] = [];
  try {
    progress(`${name}: starting`);
    await system.start();
    progress(`${name}: writing ${flags.keys} documents`);
    await client(system, 'load', LOADERS);
    for (const inFlight of inFlights) {
      const writes = await client(system, 'write', inFlight);
      const reads = await client(system, 'read', inFlight);
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
      progress(`${name}: ${inFlight} in flight, ${writes.operationsPerSecond} writes/s`);
    }
  } finally {
    await system.stop();
  }
  return rows;
}

function client(system: System, mode: Use['mode'], inFlight: number): ReturnType<typeof runClient> {
  return runClient(system, { mode, inFlight, keys: Number(flags.keys), seconds: Number(flags.seconds) });
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

function table(systems: readonly string[], rows: readonly Row[]): string {
  const settings = systems.map((name) => `${name}: ${SYSTEMS[name]!.setting}`);
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

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

if (flags.help) {
  process.stdout.write(
    'npm run bench:engine [-- --systems baton,etcd,postgres] [--in-flight 1,64,1024] [--seconds N] [--keys N] [--repeat N] ' +
      '[--catch-up 25000,50000,100000] [--memory 1000000] [--json]\n',
  );
} else {
  try {
    await main();
  } catch (error) {
    progress((error as Error).message);
    process.exitCode = error instanceof UsageError ? 2 : 1;
  }
}
