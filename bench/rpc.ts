/** `npm run bench:rpc`: the transport between two processes on this machine. One echoes, the other keeps calls in flight. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { NODE_HOST } from 'baton/caspaxos';
import { type Connection, dial } from 'baton/transport';
import { identity, processorTime } from './rpc/common.ts';
import { runBenchmark } from './support/benchmark.ts';
import { amount, count, counts, type Values } from './support/flags.ts';

interface Row {
  readonly inFlight: number;
  readonly callsPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Processor time of a call, in microseconds. */
  readonly callerUs: number;
  readonly answererUs: number;
}

const ECHO = fileURLToPath(new URL('./rpc/echo-process.js', import.meta.url));
const CALL = { timeoutMs: 10_000 };
const WARM_UP_MS = 1000;

const FLAGS = {
  inFlight: counts('calls in flight', [1, 64, 1024]),
  bytes: count('size of a request and of its answer', 1024),
  seconds: amount('seconds of each measurement', 2),
};

type Load = Values<typeof FLAGS>;

await runBenchmark(
  {
    name: 'rpc',
    about:
      'Calls per second, latency and processor time of a call over the transport of a cluster, between two processes on this ' +
      'machine: one echoes requests, the other keeps a number of them in flight.',
    flags: FLAGS,
    example: '--in-flight 64 --seconds 1',
  },
  async (load, bench) => {
    const rows = await measure(load, bench.progress);
    return { json: { rows }, text: rows.map(lineOf).join('') };
  },
);

async function measure(load: Load, progress: (line: string) => void): Promise<readonly Row[]> {
  const child = fork(ECHO);
  const heard = async (): Promise<number> => ((await once(child, 'message')) as [number])[0];
  const port = await heard();
  const timeOfChild = (): Promise<number> => {
    const answer = heard();
    child.send('time');
    return answer;
  };
  const connection = await dial({
    host: NODE_HOST,
    address: { host: '127.0.0.1', port },
    self: identity('caller'),
  });
  await keepInFlight(connection, 64, load.bytes, WARM_UP_MS);
  const rows: Row[] = [];
  for (const inFlight of load.inFlight) {
    progress(`${inFlight} in flight`);
    const before = [processorTime(), await timeOfChild()] as const;
    const startedAt = performance.now();
    const latencies = await keepInFlight(connection, inFlight, load.bytes, load.seconds * 1000);
    const elapsed = performance.now() - startedAt;
    const calls = latencies.length;
    const at = (share: number): number => Number(latencies[Math.floor(share * calls)]!.toFixed(3));
    const each = (microseconds: number): number => Number((microseconds / calls).toFixed(1));
    rows.push({
      inFlight,
      callsPerSecond: Math.round((calls / elapsed) * 1000),
      p50Ms: at(0.5),
      p99Ms: at(0.99),
      callerUs: each(processorTime() - before[0]),
      answererUs: each((await timeOfChild()) - before[1]),
    });
  }
  await connection.close();
  child.disconnect();
  return rows;
}

/** The latencies of all calls, in order. */
async function keepInFlight(
  connection: Connection,
  inFlight: number,
  bytes: number,
  milliseconds: number,
): Promise<readonly number[]> {
  const payload = Buffer.alloc(bytes, 7);
  const latencies: number[] = [];
  const end = performance.now() + milliseconds;
  const caller = async (): Promise<void> => {
    for (let now = performance.now(); now < end;) {
      await connection.call(1, payload, CALL);
      const then = now;
      now = performance.now();
      latencies.push(now - then);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, caller));
  return latencies.sort((a, b) => a - b);
}

function lineOf({ inFlight, callsPerSecond, p50Ms, p99Ms, callerUs, answererUs }: Row): string {
  return (
    `${inFlight} in flight: ${callsPerSecond.toLocaleString('en')} calls/s, p50 ${p50Ms} ms, p99 ${p99Ms} ms, ` +
    `${callerUs} and ${answererUs} µs of processor time a call (caller and answerer)\n`
  );
}
