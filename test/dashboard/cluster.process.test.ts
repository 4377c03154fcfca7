/** The page in a real browser, on a real cluster whose regions die and return. */
import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { needProgram } from '../support/programs.ts';
import { PageScene, SETS, startBrowser } from './page-scene.ts';
import { WAIT_MS, type WatchedPage } from './watched-page.ts';

const HEAT = '.heat canvas';
const [WEST, EAST] = ['region-0', 'region-1'];
/** Of a cell, so much at least is neither letter nor gap. */
const MOST_OF_IT = 0.6;

let browser: Browser | undefined;
let scene: PageScene;
let open: WatchedPage | undefined;

beforeAll(async () => {
  browser = await startBrowser();
  if (browser !== undefined) scene = await PageScene.start(browser);
}, 2 * WAIT_MS);

afterAll(async () => {
  await browser?.close();
  await scene?.end();
});

beforeEach((context) => {
  needProgram(context, 'chromium');
});

/** Every test's page must have kept to the cluster, and have had nothing to complain of. */
afterEach(async () => {
  const page = open;
  open = undefined;
  await page?.close();
});

describe('the token', () => {
  test('of the address opens the page and leaves the address', async () => {
    open = await scene.openSettled();
    const { page } = open;
    expect(page.url()).toBe(`${scene.origins[0]}/#/`);
    expect(await open.evaluate('history.length')).toBeLessThanOrEqual(2);
    await page.getByText('operator', { exact: true }).waitFor();
    expect(await page.title()).toMatch(/^Fleet · /);
    await page.reload();
    await page.getByText('3 of 3 nodes').waitFor();
  });

  test('that is wrong or absent shows nothing of the cluster', async () => {
    open = await scene.open('/');
    const { page } = open;
    const nothing = async (): Promise<void> => {
      await page.getByLabel('Token').waitFor();
      const text = await page.locator('body').innerText();
      for (const secret of [scene.cluster.config.cluster, 'west', 'items'])
        expect(text).not.toContain(secret);
      expect(await page.locator('canvas, table, nav').count()).toBe(0);
    };
    await nothing();
    await page.getByLabel('Token').fill('not-the-token');
    await page.getByRole('button', { name: 'Open' }).click();
    await page.getByRole('alert').waitFor();
    await nothing();
    expect(await open.evaluate('sessionStorage.length')).toBe(0);
    await page.goto(`${scene.origins[1]}/#token=also-not-the-token`);
    await page.getByRole('alert').waitFor();
    await nothing();
    expect(page.url()).not.toContain('also-not-the-token');
  });

  test('of a viewer shows everything and moves nothing', async () => {
    open = await scene.open('/');
    const { page } = open;
    await page.getByLabel('Token').fill(scene.viewerToken);
    await page.getByRole('button', { name: 'Open' }).click();
    await open.untilCells('west', SETS);
    await page.getByText('viewer', { exact: true }).waitFor();
    expect(await isOffered(page.getByRole('button', { name: 'Kill west' }))).toBe(false);
    expect(await isOffered(page.getByRole('button', { name: 'Start a load' }))).toBe(false);
    await openSet(open);
    await page.getByRole('table').first().waitFor();
    for (const name of [/^Switch over/, /^Force a failover/, /^Pause automatic/])
      expect(await isOffered(page.getByRole('button', { name }))).toBe(false);
  });
});

type Button = ReturnType<WatchedPage['page']['getByRole']>;

async function isOffered(button: Button): Promise<boolean> {
  return (await button.count()) > 0 && (await button.first().isEnabled());
}

/** The first one, with the keyboard. */
async function openSet({ page }: WatchedPage): Promise<string> {
  await page.locator(HEAT).focus();
  await page.keyboard.press('Home');
  await page.keyboard.press('Enter');
  const title = page.getByRole('heading', { level: 1 });
  await page.waitForURL(/#\/set\//);
  return title.innerText();
}

describe('a region dies and returns', () => {
  test('by buttons; the page tells who writes, since when and why, though the node that served it is dead', async () => {
    open = await scene.openSettled({ viewport: { width: 1280, height: 1000 } });
    const { page } = open;
    expect(await open.shareOfColour(HEAT, WEST)).toBeGreaterThan(MOST_OF_IT);
    await page.getByRole('button', { name: 'Start a load' }).click();
    await page.getByText('writes acknowledged').waitFor();
    await expect.poll(() => open!.figure('Writes a second'), { timeout: WAIT_MS }).toMatch(/^[1-9]/);
    // On a busy machine one may have been late with its lease, and be on its way home: nothing would be seen of its failover.
    await open.untilCells('west', SETS);

    await kill(open, 'west');
    await expect
      .poll(() => open!.cells('nobody can write'), { timeout: WAIT_MS, interval: 50 })
      .toBeGreaterThan(0);
    await expect
      .poll(() => open!.cells('east'), { timeout: WAIT_MS, interval: 50 })
      .toBeGreaterThan(SETS / 4);
    await open.shoot('fleet');
    await open.untilCells('east', SETS);
    await page.getByText('2 of 3 nodes').waitFor();
    await expect
      .poll(() => open!.shareOfColour(HEAT, EAST), { timeout: WAIT_MS })
      .toBeGreaterThan(MOST_OF_IT);
    expect(await open.shareOfColour(HEAT, WEST)).toBe(0);

    const acknowledged = await acknowledgedWrites(open);
    await expect
      .poll(() => acknowledgedWrites(open!), { timeout: WAIT_MS })
      .toBeGreaterThan(acknowledged + 20);

    await toldInTimeline(open);
    await measuredInRecovery(open);
    await dippedInAvailability(open);

    await open.goTo('Fleet');
    await page.getByRole('button', { name: 'Bring back west' }).click();
    await page.getByText('3 of 3 nodes').waitFor();
    await open.untilCells('west', SETS);
    await expect
      .poll(() => open!.shareOfColour(HEAT, WEST), { timeout: WAIT_MS })
      .toBeGreaterThan(MOST_OF_IT);
    await open.goTo('Timeline');
    await page.getByText('The writes moved to west, nothing lost').first().waitFor();
    await open.shoot('timeline');
    await open.goTo('Fleet');
    await page.getByRole('button', { name: 'Stop the load' }).click();
    await page.getByRole('button', { name: 'Start a load' }).waitFor();
  });
});

async function acknowledgedWrites({ page }: WatchedPage): Promise<number> {
  const told = await page.getByText('writes acknowledged').locator('b').first().innerText();
  return Number(told.replaceAll(',', ''));
}

/** By the button, and by the one that confirms it where the page asks. */
async function kill({ page }: WatchedPage, region: string): Promise<void> {
  await page.getByRole('button', { name: `Kill ${region}` }).click();
  const dialog = page.getByRole('dialog');
  await dialog
    .or(page.getByRole('button', { name: `Bring back ${region}` }))
    .first()
    .waitFor();
  if (!(await dialog.isVisible())) return;
  expect(await dialog.innerText()).toMatch(/writes/);
  await dialog.getByRole('button', { name: `Kill ${region}` }).click();
}

async function toldInTimeline(watched: WatchedPage): Promise<void> {
  await watched.goTo('Timeline');
  const entries = watched.page.locator('ol.changes > li');
  await entries.filter({ hasText: 'east took over the writes' }).first().waitFor();
  const lost = entries.filter({ hasText: 'west lost the writes' }).first();
  expect(await lost.innerText()).toMatch(/silen|lease|heard/);
}

async function measuredInRecovery(watched: WatchedPage): Promise<void> {
  await watched.goTo('Recovery');
  const seen = async (): Promise<number> => Number.parseInt(await watched.figure('Seen'), 10);
  await expect.poll(seen, { timeout: WAIT_MS }).toBeGreaterThanOrEqual(SETS);
  expect(await watched.figure('Half within')).toMatch(/^\d+(?:\.\d)? (?:m?s)/);
  const bars = watched.card('How many took how long');
  await bars.locator('canvas').waitFor();
  await expect
    .poll(() => watched.shareOfColour('.chart canvas', 'accent'), { timeout: WAIT_MS })
    .toBeGreaterThan(0.005);
  await watched.shoot('recovery');
}

async function dippedInAvailability(watched: WatchedPage): Promise<void> {
  await watched.goTo('Availability');
  expect(await watched.figure('Worst moment')).toMatch(/^\d\d?\.\d %/);
  await expect
    .poll(() => watched.shareOfColour('.chart canvas', EAST), { timeout: WAIT_MS })
    .toBeGreaterThan(0);
  await watched.page.getByText('As numbers').click();
  const column = await watched.page.locator('tbody tr td:last-child').allInnerTexts();
  expect(Math.max(...column.map(Number))).toBeGreaterThan(0);
}

describe('a partition-set', () => {
  test('moves when an operator wants it, who is told first what that does; the audit trail has it', async () => {
    open = await scene.openSettled();
    const { page } = open;
    const name = await openSet(open);
    const table = open.card(/^Regions: assigned, reported/);
    await table.getByRole('row', { name: /^E?\s*east/ }).waitFor();
    for (const column of ['assigned', 'reported', 'measured'])
      await table.getByText(column).first().waitFor();
    await open.shoot('partition-set');

    await open.card('Actions').getByRole('combobox').selectOption('east');
    await page.getByRole('button', { name: /^Switch over/ }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('table').waitFor();
    expect(await dialog.innerText()).toMatch(/east/);
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'hidden' });
    expect(await open.figure('Write region')).toMatch(/west/);

    await page.getByRole('button', { name: /^Switch over/ }).click();
    await dialog.getByRole('button', { name: 'Switch over to east' }).click();
    await expect.poll(() => open!.figure('Write region'), { timeout: WAIT_MS }).toMatch(/east/);
    await expect.poll(() => open!.figure('Can be written'), { timeout: WAIT_MS }).toMatch(/yes/);

    await open.goTo('Audit');
    const row = page.getByRole('row').filter({ hasText: 'switchover east' }).filter({ hasText: 'done' });
    await row.waitFor();
    expect(await row.innerText()).toContain(name);
    expect(await row.innerText()).toContain('operator');
    for (const [what, on] of [
      ['kill', 'west'],
      ['start', 'west'],
      ['load on', ''],
    ] as const)
      await page.getByRole('row').filter({ hasText: what }).filter({ hasText: on }).first().waitFor();
    await open.goTo('Fleet');
    await openSet(open);
    await page.getByRole('button', { name: /^Let it fail back/ }).click();
    await dialog.getByRole('button', { name: 'Let it fail back' }).click();
    await expect.poll(() => open!.figure('Write region'), { timeout: WAIT_MS }).toMatch(/west/);
  });
});

describe('the connection', () => {
  test('to all nodes is lost, the page says so and keeps what it had; it comes back by itself', async () => {
    open = await scene.openSettled();
    const { page } = open;
    const nodes = scene.cluster.processes.filter(({ role }) => role === 'node').map(({ name }) => name);
    await scene.cluster.pause(nodes);
    await page.getByRole('alert').filter({ hasText: 'No node can be reached' }).waitFor();
    await page.getByText('0 of 3 nodes').waitFor();
    await scene.cluster.resume(nodes);
    await page.getByText('3 of 3 nodes').waitFor();
    await page.getByRole('alert').waitFor({ state: 'detached' });
    await open.untilCells('west', SETS);
  });
});

describe('results of simulations', () => {
  test('open in the page with the charts of the live one; what is none is refused in a sentence', async () => {
    const outage = scene.fileOf('outage.json', [
      'sim',
      'outage',
      '--partition-sets',
      '10',
      '--outages',
      '1',
      '--minutes',
      '2',
      '--json',
    ]);
    const duel = scene.fileOf('duel.json', [
      'sim',
      'duel',
      '--hours',
      '2',
      '--proposers',
      '3,5',
      '--policy',
      'baton,initial',
      '--json',
    ]);
    const none = scene.fileOf('version.json', ['--version']);
    open = await scene.open();
    const { page } = open;
    await open.goTo('Open a file');
    const chooser = page.locator('input[type=file]');

    await chooser.setInputFiles(await outage);
    await page.getByRole('heading', { name: /^10 partition-sets/ }).waitFor();
    for (const [chart, colour] of [
      ['.chart canvas', 'region-0'],
      ['.pair .chart canvas', 'accent'],
    ] as const)
      await expect
        .poll(() => open!.shareOfColour(chart, colour), { timeout: WAIT_MS })
        .toBeGreaterThan(0.001);
    await open.shoot('outage-file');

    await chooser.setInputFiles(await duel);
    await open.card('Lease renewals that failed').locator('canvas').waitFor();
    expect(await open.card('All rows').getByRole('row').count()).toBeGreaterThan(4);

    await chooser.setInputFiles(await none);
    await page.getByRole('alert').waitFor();
    expect(await page.locator('.chart').count()).toBe(0);
  });
});

describe('people', () => {
  test('who have only a keyboard reach everything, in the order in which they see it', async () => {
    open = await scene.openSettled();
    const { page } = open;
    const stops: string[] = [];
    for (let i = 0; i < 40 && stops.at(-1) !== 'All'; i += 1) {
      await page.keyboard.press('Tab');
      stops.push(await open.evaluate<string>(NAME_OF_FOCUSED));
      expect(await open.evaluate<boolean>(IS_FOCUS_SEEN), stops.at(-1)).toBe(true);
    }
    const places = [
      'To the content',
      'Fleet',
      'Open a file',
      'Find',
      'partition-sets by write region',
      'Start a load',
      'Kill west',
    ];
    const found = places.map((place) => stops.findIndex((stop) => stop.includes(place)));
    expect(found).toEqual(found.toSorted((a, b) => a - b));
    expect(found[0]).toBe(0);
    expect(found).not.toContain(-1);

    await page.locator(HEAT).focus();
    const cell = page.locator('#heat-cell');
    const seen = [];
    for (const key of ['Home', 'ArrowRight', 'ArrowDown', 'ArrowLeft', 'ArrowUp', 'End']) {
      const before = await cell.innerText();
      await page.keyboard.press(key);
      await expect.poll(() => cell.innerText()).not.toBe(key === 'Home' ? '' : before);
      seen.push(await cell.innerText());
    }
    expect(seen.every((text) => text.includes('written in west'))).toBe(true);
    expect(seen[4]).toBe(seen[0]);
    expect(new Set(seen).size).toBe(5);
  });

  test('see it light or dark, as their system is, with letters that can be read', async () => {
    open = await scene.openSettled({ colorScheme: 'dark' });
    const { page } = open;
    for (const colorScheme of ['dark', 'light'] as const) {
      await page.emulateMedia({ colorScheme });
      await expect
        .poll(() => open!.shareOfColour(HEAT, WEST), { timeout: WAIT_MS })
        .toBeGreaterThan(MOST_OF_IT);
      const [behind, ...letters] = await open.evaluate<number[]>(LIGHTNESSES);
      expect(behind! > 0.5).toBe(colorScheme === 'light');
      for (const letter of letters)
        expect(contrast(letter, behind!), `${colorScheme} ${letter}`).toBeGreaterThan(4.5);
      await page.locator('.chart canvas').waitFor();
      if (colorScheme === 'dark') await open.shoot('dark');
    }
  });

  test('read it on a phone without scrolling sideways', async () => {
    open = await scene.openSettled({
      viewport: { width: 390, height: 844 },
      isMobile: true,
      hasTouch: true,
    });
    const { page } = open;
    await open.shoot('phone');
    expect(await open.tooWide(), 'Fleet').toEqual([]);
    await openSet(open);
    await page.getByRole('table').first().waitFor();
    expect(await open.tooWide(), 'set').toEqual([]);
    for (const view of ['Timeline', 'Availability', 'Recovery', 'Regions', 'Audit', 'Open a file']) {
      await open.goTo(view);
      await page.getByRole('heading', { level: 1, name: view }).waitFor();
      expect(await open.tooWide(), view).toEqual([]);
    }
  });
});

const NAME_OF_FOCUSED = `(() => {
  const { activeElement: on } = document;
  return on.getAttribute('aria-label') ?? (on.innerText || on.placeholder || on.value || on.tagName);
})()`;

/** Something must tell the focused element from the others. */
const IS_FOCUS_SEEN = `(() => {
  const style = getComputedStyle(document.activeElement);
  return style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0;
})()`;

/** Of the background, then of letters on it, 0 to 1 as WCAG computes it. */
const LIGHTNESSES = `['surface', 'ink', 'muted', 'accent'].map((name) => {
  const probe = document.createElement('canvas').getContext('2d');
  probe.fillStyle = getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim();
  probe.fillRect(0, 0, 1, 1);
  const [red, green, blue] = [...probe.getImageData(0, 0, 1, 1).data].map((part) =>
    part / 255 <= 0.04045 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4);
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
})`;

function contrast(a: number, b: number): number {
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
}
