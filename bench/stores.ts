/**
 * `npm run bench:stores`: what a change costs in each kind of store that an acceptor can live in. Each store's server is started
 * here, alone, and is the only acceptor of a cluster: so the latency is the store's, and the requests for one change are what a
 * provider would bill for it.
 */
import { type Bench, runBenchmark } from './support/benchmark.ts';
import { amount, someOf, toggle, type Values } from './support/flags.ts';
import { KINDS, lackOfStore, type StoreName } from './stores/kinds.ts';
import { BATCH, type Figures, IN_FLIGHT, measureStore, TURN_TAKERS } from './stores/load.ts';
import { dataPlace } from './stores/servers.ts';

interface Row extends Figures {
  readonly store: StoreName;
}

const STORES = Object.keys(KINDS) as StoreName[];

const FLAGS = {
  stores: someOf(
    STORES,
    'stores to measure',
    STORES.filter((name) => name !== 'memory'),
  ),
  seconds: amount('seconds of each measurement', 3),
  oneRoundTrip: toggle('prepare the next ballot along with each change, so that a change is one phase'),
};

type Load = Values<typeof FLAGS>;

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

await runBenchmark(
  {
    name: 'stores',
    about:
      'Latency, requests and changes per second of a change in each kind of store that an acceptor can live in. The server of ' +
      'each is started here, alone, with its data on the disk that holds TMPDIR, as the only acceptor of a cluster. Compare ' +
      'the ratios: server and client share one machine, and emulators stand for what can only be had in a cloud.',
    flags: FLAGS,
    example: '--stores lmdb,http,redis --seconds 1',
    programs: ['postgres', 'redis-server', 'etcd', 'azurite', 'dynalite'],
  },
  async (load, bench) => {
    const { directory, isInMemory } = dataPlace();
    if (isInMemory)
      bench.progress(
        `${directory} is in memory: no figure here includes a disk. Set TMPDIR to a directory on one.`,
      );
    const rows: Row[] = [];
    for (const store of load.stores) {
      if (!bench.canRun(store, lackOfStore(KINDS[store]))) continue;
      await bench.attempt(store, async () => {
        rows.push({ store, ...(await measure(store, load, bench)) });
      });
    }
    return { json: { rows }, text: rows.length === 0 ? '' : table(rows, load) };
  },
);

async function measure(store: StoreName, { seconds, oneRoundTrip }: Load, bench: Bench): Promise<Figures> {
  bench.progress(`${store}: starting`);
  const place = await KINDS[store].start();
  try {
    return await measureStore(place.url, {
      seconds,
      oneRoundTrip,
      onProgress: (what) => bench.progress(`${store}: ${what}`),
    });
  } finally {
    await place.stop();
  }
}

function table(rows: readonly Row[], load: Load): string {
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
    ...legend(rows, load),
  ].join('\n')}\n`;
}

function legend(rows: readonly Row[], { oneRoundTrip }: Load): readonly string[] {
  const { directory, isInMemory } = dataPlace();
  const phases = oneRoundTrip
    ? 'A change is one phase (its ballot was prepared along with the change before).'
    : 'A change is two phases, as those of the failover agents are.';
  return [
    `Each store is the only acceptor of a cluster. ${phases} Every register holds a counter.`,
    `Data is in ${directory}${isInMemory ? ', which is in memory: no figure includes a disk' : ''}.`,
    'one at a time  one register; the next change starts when the last one ended. Requests: to the store, for one change.',
    `${IN_FLIGHT} in flight   ${IN_FLIGHT} registers, each changed again and again; they share requests where the store has batches. Requests: for one change.`,
    `batch          ${whole(BATCH)} registers, each changed once at the same moment. Milliseconds (median) and requests: for all of them.`,
    `${TURN_TAKERS} in turns     two proposers change one register in turns, as regions do: each looks what the other wrote before it writes. Requests: for one change.`,
    ...rows.map(({ store }) => `${store.padEnd(14)} ${KINDS[store].about}.`),
  ];
}

function whole(value: number): string {
  return value.toLocaleString('en');
}
