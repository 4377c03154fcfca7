/**
 * `npm run bench:page`: how long the web page takes for an update, in a real browser and with very many partition-sets, while
 * writes go on and while a region fails over. The nodes only play (`test/dashboard/fake-nodes.ts`). Two figures: the page's own
 * measure `baton-update`, which covers taking an event in and drawing what it changed, and the processor time of the browser's
 * main thread for each update, which includes reading the stream and layout.
 *
 *   npm run bench:page [-- --partition-sets 10000 --writes 2000 --updates 40 --json]
 */
import { parseArgs } from 'node:util';
import type { Page } from 'playwright-core';
import { FakeNodes } from '../test/dashboard/fake-nodes.ts';
import { findProgram } from '../test/support/programs.ts';
import { cellsIn, openPage, startBrowser, type WatchedUpdates } from './page/browser.ts';

interface Row {
  readonly what: 'writes' | 'failover';
  readonly partitionSets: number;
  readonly updates: number;
  readonly p50Ms: number;
  readonly p90Ms: number;
  readonly maxMs: number;
  readonly processorMs: number;
}

class UsageError extends Error {}

const OPTIONS = {
  'partition-sets': { type: 'string', default: '10000' },
  writes: { type: 'string', default: '2000' },
  updates: { type: 'string', default: '40' },
  json: { type: 'boolean', default: false },
  help: { type: 'boolean', short: 'h', default: false },
} as const;

const HELP = `npm run bench:page -- [--partition-sets N] [--writes N] [--updates N] [--json]

Measures the web page in Chromium: the time to process and draw an update, while writes go on and while a region fails over.

  --partition-sets N  partition-sets on the page (default: ${OPTIONS['partition-sets'].default})
  --writes N          writes per second, spread over all partition-sets (default: ${OPTIONS.writes.default})
  --updates N         updates to measure while only writes happen (default: ${OPTIONS.updates.default})
  --json              print the figures as JSON
  --help              print this text
`;

function progress(text: string): void {
  process.stderr.write(`${text}\n`);
}

async function main(): Promise<void> {
  const { values: flags } = readFlags();
  if (flags.help) {
    process.stdout.write(HELP);
    return;
  }
  const [sets, writes, updates] = [
    positive('partition-sets', flags['partition-sets']),
    positive('writes', flags.writes),
    positive('updates', flags.updates),
  ];
  const program = findProgram('chromium');
  const leftOut =
    program.path === undefined ? [{ name: 'chromium', why: program.why, how: program.how }] : [];
  const rows = program.path === undefined ? [] : await measurePage({ sets, writes, updates });
  process.stdout.write(flags.json ? `${JSON.stringify({ rows, leftOut })}\n` : table(rows));
  for (const { name, why, how } of leftOut) progress(`Left out: ${name}: ${why}. To get it: ${how}`);
}

function readFlags() {
  try {
    return parseArgs({ options: OPTIONS });
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

function positive(name: string, text: string): number {
  const value = Number(text);
  if (Number.isSafeInteger(value) && value > 0) return value;
  throw new UsageError(`--${name} needs a whole number above 0, not "${text}".`);
}

interface Scene {
  readonly sets: number;
  /** In a second. */
  readonly writes: number;
  readonly updates: number;
}

async function measurePage({ sets, writes, updates: wanted }: Scene): Promise<readonly Row[]> {
  const browser = await startBrowser();
  const nodes = await FakeNodes.start({ sets, writesPerTick: Math.ceil(writes / 4) });
  try {
    progress(`opening the page with ${sets} partition-sets`);
    const { page, watch } = await openPage(browser, nodes.url);
    const [first, second] = nodes.fleet.regions as [string, string];
    await until(async () => (await cellsIn(page, first)) === sets);
    progress('writes');
    const quiet = await watch(() => until(async () => (await updateCount(page)) > wanted));
    progress('failover');
    const failover = await watch(async () => {
      await nodes.order('kill', [first]);
      await until(async () => (await cellsIn(page, second)) === sets);
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

const WAIT_MS = 120_000;
const LOOK_MS = 100;

async function until(isSo: () => Promise<boolean>): Promise<void> {
  const latest = performance.now() + WAIT_MS;
  while (!(await isSo())) {
    if (performance.now() > latest) throw new Error(`The page did not get there within ${WAIT_MS / 1000} s.`);
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
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
  if (rows.length === 0) return '';
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

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => process.exit(130));

try {
  await main();
} catch (error) {
  progress(`bench:page: ${(error as Error).message}`);
  process.exitCode = error instanceof UsageError ? 2 : 1;
}
