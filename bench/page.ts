/**
 * `npm run bench:page`: how long the web page takes for an update, in a real browser and with very many partition-sets, while
 * writes go on and while a region fails over. The nodes only play (`test/dashboard/fake-nodes.ts`). Two figures: the page's own
 * measure `baton-update`, which covers taking an event in and drawing what it changed, and the processor time of the browser's
 * main thread for each update, which includes reading the stream and layout.
 *
 *   npm run bench:page [-- --partition-sets 10000 --writes 2000 --updates 40 --json]
 */
import type { Page } from 'playwright-core';
import { FakeNodes } from '../test/dashboard/fake-nodes.ts';
import { until } from '../test/support/until.ts';
import { cellsIn, openPage, startBrowser, type WatchedUpdates } from './page/browser.ts';
import { type Bench, runBenchmark } from './support/benchmark.ts';
import { count } from './support/flags.ts';
import { lackOf } from './support/programs.ts';

interface Row {
  readonly what: 'writes' | 'failover';
  readonly partitionSets: number;
  readonly updates: number;
  readonly p50Ms: number;
  readonly p90Ms: number;
  readonly maxMs: number;
  readonly processorMs: number;
}

await runBenchmark(
  {
    name: 'page',
    about:
      'The web page in Chromium: the time to process and draw an update, while writes go on and while a region fails over. ' +
      'The nodes are simulated.',
    flags: {
      'partition-sets': count('partition-sets on the page', 10_000),
      writes: count('writes per second, spread over all partition-sets', 2000),
      updates: count('updates to measure while only writes happen', 40),
    },
    example: '--partition-sets 1000',
    programs: ['chromium'],
  },
  async ({ 'partition-sets': sets, writes, updates }, bench) => {
    const canRun = bench.canRun('page', lackOf(['chromium']));
    const rows = canRun ? await measurePage({ sets, writes, updates }, bench) : [];
    return { json: { rows }, text: rows.length === 0 ? '' : table(rows) };
  },
);

interface Scene {
  readonly sets: number;
  /** In a second. */
  readonly writes: number;
  readonly updates: number;
}

async function measurePage(
  { sets, writes, updates: wanted }: Scene,
  { progress }: Bench,
): Promise<readonly Row[]> {
  const browser = await startBrowser();
  const nodes = await FakeNodes.start({ sets, writesPerTick: Math.ceil(writes / 4) });
  try {
    progress(`opening the page with ${sets} partition-sets`);
    const { page, watch } = await openPage(browser, nodes.url);
    const [first, second] = nodes.fleet.regions as [string, string];
    await until('every cell is drawn', async () => (await cellsIn(page, first)) === sets);
    progress('writes');
    const quiet = await watch(async () => {
      await until('enough updates', async () => (await updateCount(page)) > wanted);
    });
    progress('failover');
    const failover = await watch(async () => {
      await nodes.order('kill', [first]);
      await until('every cell shows the failover', async () => (await cellsIn(page, second)) === sets);
    });
    return [rowOf('writes', sets, quiet), rowOf('failover', sets, failover)];
  } finally {
    await browser.close();
    await nodes.stop();
  }
}

async function updateCount(page: Page): Promise<number> {
  return page.evaluate('updates.length');
}

function rowOf(what: Row['what'], partitionSets: number, { updates, busyMs }: WatchedUpdates): Row {
  const sorted = updates.toSorted((a, b) => a - b);
  const at = (share: number): number => rounded(sorted[Math.floor(share * (sorted.length - 1))] ?? 0);
  return {
    what,
    partitionSets,
    updates: sorted.length,
    p50Ms: at(0.5),
    p90Ms: at(0.9),
    maxMs: at(1),
    processorMs: rounded(busyMs / Math.max(1, sorted.length)),
  };
}

function rounded(value: number): number {
  return Math.round(value * 10) / 10;
}

function table(rows: readonly Row[]): string {
  const lines = rows.map(
    ({ what, partitionSets, updates, p50Ms, p90Ms, maxMs, processorMs }) =>
      what.padEnd(10) +
      partitionSets.toLocaleString('en').padStart(14) +
      [updates, ...[p50Ms, p90Ms, maxMs, processorMs].map((ms) => ms.toFixed(1))]
        .map((cell) => `${cell}`.padStart(10))
        .join(''),
  );
  return `${[
    `${'during'.padEnd(10)}${'partition-sets'.padStart(14)}${[
      'updates',
      'p50 ms',
      'p90 ms',
      'max ms',
      'CPU ms',
    ]
      .map((name) => name.padStart(10))
      .join('')}`,
    ...lines,
    '',
    'p50, p90, max  milliseconds from an event to the finished drawing of what it changed; a frame lasts 16.7 ms',
    "CPU            processor time of the browser's main thread for each update",
  ].join('\n')}\n`;
}
