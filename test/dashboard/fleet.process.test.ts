/**
 * The page in a real browser, before nodes that only play: how small it is, what can be done with the keyboard alone, whether it
 * fits a phone, and files. `cluster.process.test.ts` has the real cluster, `many-sets.process.test.ts` how fast it is.
 */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { needProgram } from '../support/programs.ts';
import { FakeNodes, type FakeNodesOptions } from './fake-nodes.ts';
import { startBrowser } from './page-scene.ts';
import { WAIT_MS, WatchedPage } from './watched-page.ts';

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
  const page = watched;
  watched = undefined;
  await nodes?.stop();
  nodes = undefined;
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
    await expect.poll(() => text.innerText()).toMatch(/^items-0 \(items\): written in east; GCN 1/);
    expect(await text.getAttribute('aria-live')).toBe('polite');
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('ArrowRight');
    await expect.poll(() => text.innerText()).toMatch(/^items-2 /);
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
    await expect.poll(() => spoken.innerText(), { timeout: WAIT_MS }).toMatch(/partition-set/);
  });
});

const FITS = 'document.documentElement.scrollWidth <= document.documentElement.clientWidth';
const VIEWS = ['fleet', 'timeline', 'availability', 'recovery', 'regions', 'audit', 'file', 'set/items-3'];

test('every view fits a phone, and is dark for those who want that', async (context) => {
  needProgram(context, 'chromium');
  const { page } = await open({ sets: 16 });
  await watched!.untilCells('east', 16);
  await page.setViewportSize({ width: 390, height: 844 });
  await page.emulateMedia({ colorScheme: 'dark' });
  for (const view of VIEWS) {
    await page.evaluate(`location.hash = '#/${view}'`);
    await page.waitForTimeout(400);
    expect({ view, fits: await page.evaluate(FITS) }).toEqual({ view, fits: true });
    expect(await page.getByRole('heading', { level: 1 }).count()).toBe(1);
  }
  const ground = await page.evaluate('getComputedStyle(document.documentElement).backgroundColor');
  expect(ground).toBe('rgb(13, 18, 23)');
});

function simulated(...args: string[]): string {
  const program = join(ROOT, 'dist', 'cli', 'main.js');
  return execFileSync(process.execPath, [program, 'sim', ...args, '--json']).toString();
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
    await give('duel.json', simulated('duel', '--hours', '2', '--proposers', '3,9'));
    await page.getByRole('heading', { name: /Dueling proposers/ }).waitFor();
    await page.locator('.chart canvas').waitFor();
    expect(await page.getByRole('alert').count()).toBe(0);
    await give('outage.json', simulated('outage', '--partition-sets', '4', '--outages', '1'));
    await page.getByText('What a recovery consists of').waitFor();
    await page.locator('.chart canvas').first().waitFor();
  });
});
