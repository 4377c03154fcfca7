/**
 * The client, in a process of its own: opens a store, loads it, prints one JSON line. It never outlives its parent (the
 * channel to it closes) nor its time.
 *
 *   node client-process.js --system etcd --mode write --in-flight 64 [--keys N] [--bytes N] [--seconds S] [--warm-up S] -- ADDRESS...
 */
import { parseArgs } from 'node:util';
import { openStore } from './stores.ts';
import { runLoad, USUAL_BYTES } from './load.ts';
import type { Use } from './system.ts';

const PATIENCE_SECONDS = 30;
const LOAD_PATIENCE_SECONDS = 300;
const MODES: readonly string[] = ['load', 'write', 'read'] satisfies readonly Use['mode'][];

const { values: flags, positionals: clientArgs } = parseArgs({
  allowPositionals: true,
  options: {
    system: { type: 'string', default: '' },
    mode: { type: 'string', default: 'write' },
    'in-flight': { type: 'string', default: '1' },
    keys: { type: 'string', default: '100000' },
    seconds: { type: 'string', default: '5' },
    bytes: { type: 'string', default: `${USUAL_BYTES}` },
    'warm-up': { type: 'string', default: '1' },
  },
});

function fail(why: string): never {
  process.stderr.write(`The client of ${flags.system}: ${why}\n`);
  process.exit(1);
}

const orphaned = (): never => process.exit(1);
process.once('disconnect', orphaned);
// It may have been lost before we listened. In a client that was started by hand it is undefined.
const { connected } = process as { readonly connected?: boolean };
if (connected === false) orphaned();

const seconds = Number(flags.seconds);
const warmUpSeconds = Number(flags['warm-up']);
const inFlight = Number(flags['in-flight']);
const bytes = Number(flags.bytes);
if (!MODES.includes(flags.mode)) fail(`--mode is one of ${MODES.join(', ')}.`);
const mode = flags.mode as Use['mode'];
const patience = mode === 'load' ? LOAD_PATIENCE_SECONDS : warmUpSeconds + seconds + PATIENCE_SECONDS;
setTimeout(() => fail(`not done after ${patience} s.`), patience * 1000).unref();

try {
  const store = await openStore(flags.system, clientArgs, { mode, inFlight, bytes });
  const keys = Number(flags.keys);
  const report = await runLoad(store, { mode, inFlight, bytes, keys, warmUpSeconds, seconds });
  store.close();
  process.stdout.write(`${JSON.stringify(report)}\n`);
  process.removeListener('disconnect', orphaned);
  if (process.connected) process.disconnect();
} catch (error) {
  fail((error as Error).message);
}
