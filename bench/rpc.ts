/**
 * `npm run bench:rpc`: the transport between two processes on this machine. One echoes requests of 1 kB, the other keeps
 * so many of them in flight; both count the processor time that a call costs them.
 */
import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { NODE_HOST } from 'baton/caspaxos';
import { type Connection, dial, type Identity, Listener } from 'baton/transport';

const { values: flags } = parseArgs({
  options: {
    seconds: { type: 'string', default: '2' },
    bytes: { type: 'string', default: '1024' },
    echo: { type: 'boolean', default: false },
  },
});

const IN_FLIGHT = [1, 64, 1024];
const CALL = { timeoutMs: 10_000 };

function identity(node: string): Identity {
  return { role: 'node', cluster: 'bench', node, region: 'here', incarnation: 1 };
}

/** In microseconds. */
function processorTime(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}

async function echo(): Promise<void> {
  const listener = await Listener.listen({
    host: NODE_HOST,
    address: { host: '127.0.0.1', port: 0 },
    self: identity('echo'),
    onConnection: () => ({ onRequest: (_, payload) => payload }),
  });
  process.on('message', (message) => {
    if (message === 'time') process.send!(processorTime());
    else void listener.close().then(() => process.disconnect());
  });
  process.send!(listener.address.port);
}

async function keepInFlight(
  connection: Connection,
  inFlight: number,
  milliseconds: number,
): Promise<number[]> {
  const payload = Buffer.alloc(Number(flags.bytes), 7);
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

async function measure(): Promise<void> {
  const child = fork(fileURLToPath(import.meta.url), ['--echo']);
  const heard = () =>
    new Promise<number>((resolve) => child.once('message', (value) => resolve(value as number)));
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
  await keepInFlight(connection, 64, 1000);
  for (const inFlight of IN_FLIGHT) {
    const before = [processorTime(), await timeOfChild()] as const;
    const start = performance.now();
    const latencies = await keepInFlight(connection, inFlight, Number(flags.seconds) * 1000);
    const elapsed = performance.now() - start;
    const calls = latencies.length;
    const [caller, answerer] = [processorTime() - before[0], (await timeOfChild()) - before[1]];
    const rate = Math.round((calls / elapsed) * 1000).toLocaleString('en');
    const [p50, p99] = [0.5, 0.99].map((share) => latencies[Math.floor(share * calls)]!.toFixed(3));
    const cost = [caller, answerer].map((time) => (time / calls).toFixed(1)).join(' and ');
    process.stdout.write(
      `${inFlight} in flight: ${rate} calls/s, p50 ${p50} ms, p99 ${p99} ms, ${cost} µs of processor time a call (caller and answerer)\n`,
    );
  }
  child.send('stop');
  await connection.close();
}

await (flags.echo ? echo() : measure());
