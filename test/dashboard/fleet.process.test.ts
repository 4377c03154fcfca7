/**
 * The page in a real browser, before nodes that only play: how small it is, what can be done with the keyboard alone, whether it
 * fits a phone, and files. `cluster.process.test.ts` has the real cluster, `many-sets.process.test.ts` ten thousand partition-sets.
 */
import { execFile, execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { needProgram } from '../support/programs.ts';
import { FakeNodes, type FakeNodesOptions } from './fake-nodes.ts';
import { startBrowser } from './page-scene.ts';
import { eventually, WAIT_MS, WatchedPage } from './watched-page.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const BUDGET_BYTES = 60 * 1024;

let browser: Browser | undefined;
let nodes: FakeNodes | undefined;
let watched: WatchedPage | undefined;

beforeAll(async () => {
  execFileSync(process.execPath, [join(ROOT, 'scripts', 'dashboard.mjs')], { stdio: 'inherit' });
  browser = await startBrowser();
}, WAIT_MS);

afterAll(async () => {
  await browser?.close();
});

afterEach(async () => {
  const [page, playing] = [watched, nodes];
  watched = undefined;
  nodes = undefined;
  await playing?.stop();
  await page?.close();
});

async function open(options: FakeNodesOptions, fragment = ''): Promise<WatchedPage> {
  nodes = await FakeNodes.start(options);
  const origins = nodes.fleet.regions.map((region) => nodes!.urlOf(region));
  watched = await WatchedPage.open(browser!, origins);
  await watched.page.goto(`${nodes.url}/${fragment}`);
  return watched;
}

test('the whole page is small, and all of it is files', () => {
  const folder = join(ROOT, 'dist', 'dashboard');
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.includes('.'),
  );
  const sizes = files.map((name) => gzipSync(readFileSync(join(folder, name)), { level: 9 }).length);
  const bytes = sizes.reduce((sum, size) => sum + size, 0);
  console.log(`The page: ${(bytes / 1024).toFixed(1)} KB compressed.`);
  expect(bytes).toBeLessThan(BUDGET_BYTES);
  const page = readFileSync(join(folder, 'index.html'), 'utf8');
  expect(page).not.toMatch(/<style|<script>|style=|https?:|data:/);
});

describe('without a mouse', () => {
  test('a partition-set is found with the arrow keys and opened, and the way back is a link', async (context) => {
    needProgram(context, 'chromium');
    const { page } = await open({ sets: 16 });
    await watched!.untilCells('east', 16);
    await page.locator('.heat canvas').focus();
    const text = page.locator('#heat-cell');
    await eventually(() => text.innerText()).toMatch(/^items-0 \(items\): writable in east; GCN 1/);
    expect(await text.getAttribute('aria-live')).toBe('polite');
    await page.keyboard.press('ArrowRight');
    await eventually(() => text.innerText()).toMatch(/^items-1 /);
    await page.keyboard.press('ArrowRight');
    await eventually(() => text.innerText()).toMatch(/^items-2 /);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'items-2' }).waitFor();
    await page.getByRole('link', { name: 'Fleet' }).last().focus();
    await page.keyboard.press('Enter');
    await page.locator('.heat canvas').waitFor();
  });

  test('or by its name', async (context) => {
    needProgram(context, 'chromium');
    const { page } = await open({ sets: 16 });
    await watched!.untilCells('east', 16);
    await page.getByRole('searchbox').or(page.getByRole('combobox')).first().fill('items-7');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'items-7' }).waitFor();
  });

  test('a change is announced', async (context) => {
    needProgram(context, 'chromium');
    const { page } = await open({ sets: 16 });
    await watched!.untilCells('east', 16);
    await nodes!.order('kill', ['east']);
    const spoken = page.getByRole('status');
    await eventually(() => spoken.innerText()).toMatch(/partition-set/);
  });
});

test('the recovery view counts every failover while it is open', async (context) => {
  needProgram(context, 'chromium');
  const { page } = await open({ sets: 40 });
  await watched!.untilCells('east', 40);
  await watched!.goTo('Recovery');
  await page.getByText('No failovers since this page was opened.').waitFor();
  await nodes!.order('kill', ['east']);
  await eventually(() => watched!.figure('Observed')).toMatch(/^40\b/);
  expect(await page.getByText('still interrupted').count()).toBe(0);
});

const FITS = 'document.documentElement.scrollWidth <= document.documentElement.clientWidth';
/** Each view, its heading, and the last of its content to arrive. */
const VIEWS = [
  ['fleet', 'Fleet', '.heat canvas'],
  ['timeline', 'Timeline', '.empty'],
  ['availability', 'Availability', '.chart canvas'],
  ['recovery', 'Recovery', '.empty'],
  ['regions', 'Regions and acceptors', 'tbody tr'],
  ['audit', 'Audit', '.empty:text("No operator actions yet.")'],
  ['file', 'Open a file', 'input[type=file]'],
  ['set/items-3', 'items-3', 'tbody tr'],
] as const;

test('every view fits a phone, and is dark for those who want that', async (context) => {
  needProgram(context, 'chromium');
  const { page } = await open({ sets: 16 });
  await watched!.untilCells('east', 16);
  await page.setViewportSize({ width: 390, height: 844 });
  await page.emulateMedia({ colorScheme: 'dark' });
  for (const [view, heading, content] of VIEWS) {
    await page.evaluate(`location.hash = '#/${view}'`);
    await page.getByRole('heading', { level: 1, name: heading }).waitFor();
    await page.locator(content).first().waitFor();
    expect({ view, fits: await page.evaluate(FITS) }).toEqual({ view, fits: true });
    expect(await page.getByRole('heading', { level: 1 }).count()).toBe(1);
  }
  const ground = await page.evaluate('getComputedStyle(document.documentElement).backgroundColor');
  expect(ground).toBe('rgb(13, 18, 23)');
});

test('colours follow the system when it changes in a view without a chart', async (context) => {
  needProgram(context, 'chromium');
  const { page } = await open({ sets: 16 });
  await watched!.untilCells('east', 16);
  await watched!.goTo('Open a file');
  await page.emulateMedia({ colorScheme: 'dark' });
  await watched!.goTo('Fleet');
  await eventually(() => watched!.shareOfColour('.heat canvas', 'region-0')).toBeGreaterThan(0.5);
});

const run = promisify(execFile);

/** While it computes, the nodes of this process go on serving the page. */
async function simulated(...args: string[]): Promise<string> {
  const program = join(ROOT, 'dist', 'cli', 'main.js');
  const options = { maxBuffer: 2 ** 26 };
  const { stdout } = await run(process.execPath, [program, 'sim', ...args, '--json'], options);
  return stdout;
}

describe('files', () => {
  test('that are no result say so, and a result is drawn', async (context) => {
    needProgram(context, 'chromium');
    const { page } = await open({ sets: 16 }, '#/file');
    const give = (name: string, text: string): Promise<void> =>
      page
        .locator('input[type=file]')
        .setInputFiles({ name, mimeType: 'application/json', buffer: Buffer.from(text) });
    await give('no.json', '{');
    await page.getByRole('alert').filter({ hasText: 'not JSON' }).waitFor();
    await give('duel.json', await simulated('duel', '--hours', '2', '--proposers', '3,9'));
    await page.getByRole('heading', { name: /Dueling proposers/ }).waitFor();
    await page.locator('.chart canvas').waitFor();
    await page.getByRole('alert').waitFor({ state: 'detached' });
    await give('outage.json', await simulated('outage', '--partition-sets', '4', '--outages', '1'));
    await page.getByText('Phases of a recovery').waitFor();
    await page.locator('.chart canvas').first().waitFor();
  });
});
