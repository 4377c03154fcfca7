/**
 * Ten thousand partition-sets in the page, by nodes that only play: an update costs what has changed, not what there is. Work is
 * counted, in cells painted and in elements; `npm run bench:page` has the times.
 */
import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { needProgram } from '../support/programs.ts';
import { FakeNodes } from './fake-nodes.ts';
import { startBrowser } from './page-scene.ts';
import { eventually, WatchedPage } from './watched-page.ts';

const SETS = 10_000;
const TOKEN = 'only-played';

let browser: Browser | undefined;
let nodes: FakeNodes | undefined;
let watched: WatchedPage | undefined;

beforeAll(async () => {
  browser = await startBrowser();
});

afterAll(async () => {
  await browser?.close();
});

beforeEach((context) => {
  needProgram(context, 'chromium');
});

afterEach(async () => {
  const [page, playing] = [watched, nodes];
  watched = undefined;
  nodes = undefined;
  await playing?.stop();
  await page?.close();
});

/** With all cells painted, and writes in some hundreds of partition-sets a tick. */
async function open(): Promise<WatchedPage> {
  nodes = await FakeNodes.start({ sets: SETS, token: TOKEN, writesPerTick: 500 });
  const { regions } = nodes.fleet;
  watched = await WatchedPage.open(
    browser!,
    regions.map((region) => nodes!.urlOf(region)),
  );
  await watched.page.addInitScript({ content: COUNT });
  await watched.page.goto(`${nodes.url}/#token=${TOKEN}`);
  await watched.untilCells(regions[0]!, SETS);
  await eventually(() => watched!.evaluate<number>('new Set(painted).size')).toBe(SETS);
  await watched.evaluate(UNTIL_PAINTED);
  return watched;
}

/** Cells as they are painted, each by its place, and the updates that the page notes itself. */
const COUNT = `globalThis.painted = [];
const { fillRect } = CanvasRenderingContext2D.prototype;
CanvasRenderingContext2D.prototype.fillRect = function (x, y, width, height) {
  if (this.canvas.matches('.heat canvas')) painted.push(x + ' ' + y);
  return fillRect.call(this, x, y, width, height);
};
globalThis.updates = 0;
new PerformanceObserver((list) => {
  updates += list.getEntries().filter(({ name }) => name === 'baton-update').length;
}).observe({ type: 'measure' });`;

/** As long as cells are waiting, every frame paints some. */
const UNTIL_PAINTED = `(async () => {
  for (let before = -1; before !== painted.length; ) {
    before = painted.length;
    for (let frame = 0; frame < 3; frame += 1) await new Promise(requestAnimationFrame);
  }
})()`;

const UPDATES = 40;

test('writes paint no cell, and a move paints the cell of its partition-set alone', async () => {
  const page = await open();
  const [first, second] = nodes!.fleet.regions;
  await page.evaluate('painted.length = 0, updates = 0');
  await eventually(() => page.evaluate<number>('updates')).toBeGreaterThan(UPDATES);
  nodes!.fleet.move('orders-7', second!, 'operator');
  await page.untilCells(second!, 1);
  await page.untilCells(first!, SETS - 1);
  // What the writes before it would have painted comes before its own cell.
  await eventually(() => page.evaluate<number>('painted.length')).toBeGreaterThan(0);
  await page.evaluate(UNTIL_PAINTED);
  expect(await page.evaluate<number>('new Set(painted).size')).toBe(1);
});

test('a failover of all partition-sets paints a cell once for each change, in a document that does not grow', async () => {
  const page = await open();
  const [first, second] = nodes!.fleet.regions;
  const elements = (): Promise<number> => page.evaluate('document.querySelectorAll("*").length');
  expect(await elements()).toBeLessThan(500);
  await page.evaluate('painted.length = 0');
  nodes!.isTimeStopped = true;
  await nodes!.order('kill', [first!]);
  await page.untilCells('not writable', SETS);
  nodes!.isTimeStopped = false;
  await eventually(() => page.cells(second!)).toBeGreaterThan(SETS / 4);
  await page.shoot('many');
  await page.untilCells(second!, SETS);
  await eventually(() => page.evaluate<number>('new Set(painted).size')).toBe(SETS);
  await page.evaluate(UNTIL_PAINTED);
  // Not writable, moving, not moving any more, writable.
  expect(await page.evaluate<number>('painted.length')).toBeLessThanOrEqual(4 * SETS);
  expect(await elements()).toBeLessThan(500);
});
