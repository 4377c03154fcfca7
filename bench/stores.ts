/**
 * `npm run bench:stores`: what a change costs in each kind of store that an acceptor can live in. Each store's server is started
 * here, alone, with its data on this machine's disk, and is the only acceptor of a cluster: so the latency is the store's, and
 * the requests for one change are what a provider would bill for it. Compare the ratios: server and client share one machine,
 * and emulators stand for what can only be had in a cloud.
 *
 *   npm run bench:stores [-- --stores lmdb,http,postgres --seconds 3 --one-round-trip --json]
 */
import { parseArgs } from 'node:util';
import { KINDS, lacks, type StoreKind } from './stores/kinds.ts';
import { BATCH, type Figures, IN_FLIGHT, measureStore, TURN_TAKERS } from './stores/load.ts';
import { dataPlace } from './stores/servers.ts';

interface Row extends Figures {
  readonly store: string;
}

interface Skipped {
  readonly store: string;
  readonly why: string;
}

class UsageError extends Error {}

/** All but `memory`, which is nobody's store. */
const DEFAULT_STORES = Object.keys(KINDS).filter((name) => name !== 'memory');

const { values: flags } = parseArgs({
  options: {
    stores: { type: 'string', default: DEFAULT_STORES.join(',') },
    seconds: { type: 'string', default: '3' },
    'one-round-trip': { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

function progress(text: string): void {
  process.stderr.write(`${text}\n`);
}

function storesOf(text: string): readonly (readonly [string, StoreKind])[] {
  return text.split(',').map((name) => {
    const kind = Object.hasOwn(KINDS, name) ? KINDS[name] : undefined;
    if (kind === undefined)
      throw new UsageError(`There is no store "${name}"; known: ${Object.keys(KINDS).join(', ')}.`);
    return [name, kind];
  });
}

function secondsOf(text: string): number {
  const seconds = Number(text);
  if (!(seconds > 0)) throw new UsageError(`--seconds takes a positive number, not "${text}".`);
  return seconds;
}

async function main(): Promise<void> {
  const stores = storesOf(flags.stores);
  const seconds = secondsOf(flags.seconds);
  const { directory, isInMemory } = dataPlace();
  if (isInMemory)
    progress(`${directory} is in memory: no figure here includes a disk. Set TMPDIR to a directory on one.`);
  const rows: Row[] = [];
  const skipped: Skipped[] = [];
  const skip = (store: string, what: 'is skipped' | 'failed', why: string): void => {
    progress(`${store} ${what}: ${why}`);
    skipped.push({ store, why });
  };
  for (const [store, kind] of stores) {
    const lacking = lacks(kind);
    if (lacking !== undefined) {
      skip(store, 'is skipped', lacking);
      continue;
    }
    try {
      rows.push({ store, ...(await measureOne(store, kind, seconds)) });
    } catch (error) {
      skip(store, 'failed', (error as Error).message);
      process.exitCode = 1;
    }
  }
  process.stdout.write(flags.json ? `${JSON.stringify({ rows, skipped })}\n` : table(rows));
}

async function measureOne(store: string, kind: StoreKind, seconds: number): Promise<Figures> {
  progress(`${store}: starting`);
  const place = await kind.start();
  try {
    return await measureStore(place.url, {
      seconds,
      oneRoundTrip: flags['one-round-trip'],
      onProgress: (what) => progress(`${store}: ${what}`),
    });
  } finally {
    await place.stop();
  }
}

const COLUMNS: readonly (readonly [heading: string, width: number, cell: (row: Row) => string])[] = [
  ['p50 ms', 8, ({ p50Ms }) => p50Ms.toFixed(2)],
  ['p99 ms', 8, ({ p99Ms }) => p99Ms.toFixed(2)],
  ['requests', 9, ({ requestsPerChange }) => requestsPerChange.toFixed(2)],
  ['changes/s', 12, ({ changesPerSecond }) => whole(changesPerSecond)],
  ['requests', 9, ({ inFlight }) => inFlight.requestsPerChange.toFixed(2)],
  ['ms', 10, ({ batch }) => batch.ms.toFixed(1)],
  ['changes/s', 10, ({ batch }) => whole(batch.changesPerSecond)],
  ['requests', 9, ({ batch }) => batch.requests.toFixed(0)],
  ['p50 ms', 10, ({ turns }) => turns.p50Ms.toFixed(2)],
  ['requests', 9, ({ turns }) => turns.requestsPerChange.toFixed(2)],
];

const GROUPS: readonly (readonly [title: string, columns: number])[] = [
  ['one at a time', 3],
  [`${IN_FLIGHT} in flight`, 2],
  [`batch of ${whole(BATCH)}`, 3],
  [`${TURN_TAKERS} in turns`, 2],
];

function table(rows: readonly Row[]): string {
  let from = 0;
  const titles = GROUPS.map(([title, columns]) => {
    const width = COLUMNS.slice(from, (from += columns)).reduce((sum, [, one]) => sum + one, 0);
    return title.padStart(width);
  });
  const line = (name: string, cells: readonly string[]): string =>
    name.padEnd(10) + cells.map((cell, at) => cell.padStart(COLUMNS[at]![1])).join('');
  return `${[
    ''.padEnd(10) + titles.join(''),
    line(
      'store',
      COLUMNS.map(([heading]) => heading),
    ),
    ...rows.map((row) =>
      line(
        row.store,
        COLUMNS.map(([, , cell]) => cell(row)),
      ),
    ),
    '',
    ...legend(rows),
  ].join('\n')}\n`;
}

function legend(rows: readonly Row[]): readonly string[] {
  const { directory, isInMemory } = dataPlace();
  const phases = flags['one-round-trip']
    ? 'A change is one phase (its ballot was prepared along with the change before).'
    : 'A change is two phases, as those of the failover agents are.';
  return [
    `Each store is the only acceptor of a cluster. ${phases} Every register holds a counter.`,
    `Data is in ${directory}${isInMemory ? ', which is in memory: no figure includes a disk' : ''}.`,
    'one at a time  one register; the next change starts when the last one ended. Requests: to the store, for one change.',
    `${IN_FLIGHT} in flight   ${IN_FLIGHT} registers, each changed again and again; they share requests where the store has batches. Requests: for one change.`,
    `batch          ${whole(BATCH)} registers, each changed once at the same moment. Milliseconds (median) and requests: for all of them.`,
    `${TURN_TAKERS} in turns     two proposers change one register in turns, as regions do: each looks what the other wrote before it writes. Requests: for one change.`,
    ...rows.map(({ store }) => `${store.padEnd(14)} ${KINDS[store]!.about}.`),
  ];
}

function whole(value: number): string {
  return value.toLocaleString('en');
}

// An exit, unlike a signal's end, takes the servers and their directories along.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));

if (flags.help) {
  process.stdout.write(
    'npm run bench:stores [-- --stores NAME,NAME] [--seconds N] [--one-round-trip] [--json]\n' +
      `Stores: ${Object.keys(KINDS).join(', ')}\n`,
  );
} else {
  try {
    await main();
  } catch (error) {
    progress((error as Error).message);
    process.exitCode = error instanceof UsageError ? 2 : 1;
  }
}
