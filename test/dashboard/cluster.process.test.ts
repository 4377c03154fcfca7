/** The page in a real browser, on a real cluster whose regions die and return. */
import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { needProgram } from '../support/programs.ts';
import { HOME, PageScene, SETS, startBrowser } from './page-scene.ts';
import { eventually, WAIT_MS, type WatchedPage } from './watched-page.ts';

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

/** Every page must have asked nobody but the cluster and reported no error. The next test finds the cluster whole. */
afterEach(async () => {
  const page = open;
  open = undefined;
  try {
    await page?.close();
  } finally {
    if (browser !== undefined) await scene.heal();
  }
}, 3 * WAIT_MS);

describe('the token', () => {
  test('in the address opens the page and is removed from the address', async () => {
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
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('alert').waitFor();
    await nothing();
    expect(await open.evaluate('sessionStorage.length')).toBe(0);
    await page.goto(`${scene.origins[1]}/#token=also-not-the-token`);
    await page.getByRole('alert').waitFor();
    await nothing();
    expect(page.url()).not.toContain('also-not-the-token');
  });

  test('of a viewer shows everything and disables every action', async () => {
    open = await scene.open('/');
    const { page } = open;
    await page.getByLabel('Token').fill(scene.viewerToken);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await open.untilCells('west', SETS);
    await page.getByText('viewer', { exact: true }).waitFor();
    await page.getByText('These controls require the operator token.').waitFor();
    for (const name of ['Kill west', 'Start load'])
      expect(await page.getByRole('button', { name }).isDisabled()).toBe(true);
    await openSet(open);
    await page.getByText('These actions require the operator token.').waitFor();
    for (const name of [/^Switch over/, /^Force failover/, /^Pause automatic/])
      expect(await page.getByRole('button', { name }).isDisabled()).toBe(true);
  });
});

/** The first one, with the keyboard. */
async function openSet({ page }: WatchedPage): Promise<string> {
  await page.locator(HEAT).focus();
  await page.keyboard.press('Home');
  await page.keyboard.press('Enter');
  await page.waitForURL(/#\/set\//);
  const name = decodeURIComponent(page.url().split('#/set/')[1]!);
  await page.getByRole('heading', { level: 1, name }).waitFor();
  return name;
}

describe('a region dies and returns', () => {
  test('by buttons: the page shows who writes, since when and why, although the node that served it is dead', async () => {
    open = await scene.openSettled({ viewport: { width: 1280, height: 1000 } });
    const { page } = open;
    await eventually(() => open!.shareOfColour(HEAT, WEST)).toBeGreaterThan(MOST_OF_IT);
    await page.getByRole('button', { name: 'Start load' }).click();
    await page.getByText('writes acknowledged').waitFor();
    await eventually(() => open!.figure('Writes per second')).toMatch(/^[1-9]/);
    // From here on, a partition-set that leaves west is a failover that the page must count.
    await open.untilCells(HOME, SETS);

    await page.getByRole('button', { name: 'Kill west' }).click();
    // That nothing was writable for a moment, Availability says afterwards.
    await eventually(() => open!.cells('east')).toBeGreaterThan(SETS / 4);
    await open.shoot('fleet');
    await open.untilCells('east', SETS);
    await page.getByText('2 of 3 nodes').waitFor();
    await eventually(() => open!.shareOfColour(HEAT, EAST)).toBeGreaterThan(MOST_OF_IT);
    await eventually(() => open!.shareOfColour(HEAT, WEST)).toBe(0);

    const acknowledged = await acknowledgedWrites(open);
    await eventually(() => acknowledgedWrites(open!)).toBeGreaterThan(acknowledged + 20);

    await toldInTimeline(open);
    await measuredInRecovery(open);
    await dippedInAvailability(open);

    await open.goTo('Fleet');
    await page.getByRole('button', { name: 'Start west' }).click();
    await page.getByText('3 of 3 nodes').waitFor();
    await open.untilCells(HOME, SETS);
    await eventually(() => open!.shareOfColour(HEAT, WEST)).toBeGreaterThan(MOST_OF_IT);
    await open.goTo('Timeline');
    await page.getByText('Writes moved to west without loss').first().waitFor();
    await open.shoot('timeline');
    await open.goTo('Fleet');
    await page.getByRole('button', { name: 'Stop load' }).click();
    await page.getByRole('button', { name: 'Start load' }).waitFor();
    await keptInAudit(open);
  });
});

async function acknowledgedWrites({ page }: WatchedPage): Promise<number> {
  const told = await page.getByText('writes acknowledged').locator('b').first().innerText();
  return Number(told.replaceAll(',', ''));
}

async function toldInTimeline(watched: WatchedPage): Promise<void> {
  await watched.goTo('Timeline');
  const entries = watched.page.locator('ol.changes > li');
  await entries.filter({ hasText: 'east was elected write region' }).first().waitFor();
  await entries
    .filter({ hasText: 'west is no longer the write region' })
    .filter({ hasText: 'lease expired' })
    .first()
    .waitFor();
}

async function measuredInRecovery(watched: WatchedPage): Promise<void> {
  await watched.goTo('Recovery');
  const observed = async (): Promise<number> => Number.parseInt(await watched.figure('Observed'), 10);
  await eventually(observed).toBeGreaterThanOrEqual(SETS);
  expect(await watched.figure('Median')).toMatch(/^\d+(?:\.\d)? (?:m?s)/);
  const bars = watched.card('Distribution of recovery times');
  await bars.locator('canvas').waitFor();
  await eventually(() => watched.shareOfColour('.chart canvas', 'accent')).toBeGreaterThan(0.005);
  await watched.shoot('recovery');
}

async function dippedInAvailability(watched: WatchedPage): Promise<void> {
  await watched.goTo('Availability');
  await eventually(() => watched.figure('Lowest')).toMatch(/^\d\d?\.\d %/);
  await eventually(() => watched.shareOfColour('.chart canvas', EAST)).toBeGreaterThan(0);
  await watched.page.getByText('Show as table').click();
  const notWritable = async (): Promise<number> => {
    const column = await watched.page.locator('tbody tr td:last-child').allInnerTexts();
    return Math.max(0, ...column.map(Number));
  };
  await eventually(notWritable).toBeGreaterThan(0);
}

async function keptInAudit(watched: WatchedPage): Promise<void> {
  await watched.goTo('Audit');
  const rows = watched.page.getByRole('row');
  for (const [action, target] of [
    ['kill', 'west'],
    ['start', 'west'],
    ['load on', ''],
    ['load off', ''],
  ] as const)
    await rows.filter({ hasText: action }).filter({ hasText: target }).first().waitFor();
}

describe('a partition-set', () => {
  test('is switched over after a dry run and a confirmation; the audit trail records it', async () => {
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
    await eventually(() => open!.figure('Write region')).toMatch(/west/);

    await page.getByRole('button', { name: /^Switch over/ }).click();
    await dialog.getByRole('button', { name: 'Switch over to east' }).click();
    await eventually(() => open!.figure('Write region')).toMatch(/east/);
    await eventually(() => open!.figure('Writable')).toMatch(/yes/);

    await open.goTo('Audit');
    const row = page
      .getByRole('row')
      .filter({ hasText: 'switchover east' })
      .filter({ hasText: 'done' })
      .first();
    await row.waitFor();
    expect(await row.innerText()).toContain(name);
    expect(await row.innerText()).toContain('operator');
    await open.goTo('Fleet');
    await openSet(open);
    await page.getByRole('button', { name: /^Allow failback/ }).click();
    await dialog.getByRole('button', { name: 'Allow failback' }).click();
    await eventually(() => open!.figure('Write region')).toMatch(/west/);
  });
});

describe('the connection', () => {
  test('to all nodes is lost: the page says so, keeps its data and reconnects', async () => {
    open = await scene.openSettled();
    const { page } = open;
    const nodes = scene.cluster.processes.filter(({ role }) => role === 'node').map(({ name }) => name);
    await scene.cluster.pause(nodes);
    await page.getByRole('alert').filter({ hasText: 'No node can be reached' }).waitFor();
    await page.getByText('0 of 3 nodes').waitFor();
    await scene.cluster.resume(nodes);
    await page.getByText('3 of 3 nodes').waitFor();
    await page.getByRole('alert').waitFor({ state: 'detached' });
    await open.untilCells(HOME, SETS);
  });
});

describe('results of simulations', () => {
  test('open with the charts of the live views; any other file is rejected with an error message', async () => {
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
      await eventually(() => open!.shareOfColour(chart, colour)).toBeGreaterThan(0.001);
    await open.shoot('outage-file');

    await chooser.setInputFiles(await duel);
    await open.card('Failed lease renewals').locator('canvas').waitFor();
    expect(await open.card('All rows').getByRole('row').count()).toBeGreaterThan(4);

    await chooser.setInputFiles(await none);
    await page.getByRole('alert').waitFor();
    expect(await page.locator('.chart').count()).toBe(0);
  });
});

describe('accessibility', () => {
  test('every control is reachable with the keyboard, in visual order', async () => {
    open = await scene.openSettled();
    const { page } = open;
    const stops: string[] = [];
    for (let i = 0; i < 40 && stops.at(-1) !== 'All'; i += 1) {
      await page.keyboard.press('Tab');
      stops.push(await open.evaluate<string>(NAME_OF_FOCUSED));
      expect(await open.evaluate<boolean>(IS_FOCUS_SEEN), stops.at(-1)).toBe(true);
    }
    const places = [
      'Skip to content',
      'Fleet',
      'Open a file',
      'Find',
      'partition-sets by write region',
      'Start load',
      'Kill west',
    ];
    const found = places.map((place) => stops.findIndex((stop) => stop.includes(place)));
    expect(found).toEqual(found.toSorted((a, b) => a - b));
    expect(found[0]).toBe(0);
    expect(found).not.toContain(-1);

    await page.locator(HEAT).focus();
    const cell = async (): Promise<string> =>
      /^(?<name>\S+) \(items\): /.exec(await page.locator('#heat-cell').innerText())?.groups?.['name'] ?? '';
    await eventually(cell).not.toBe('');
    const seen = [await cell()];
    for (const key of ['ArrowRight', 'ArrowDown', 'ArrowLeft', 'ArrowUp', 'End']) {
      await page.keyboard.press(key);
      await eventually(cell).not.toBe(seen.at(-1));
      seen.push(await cell());
    }
    expect(seen[4]).toBe(seen[0]);
    expect(new Set(seen).size).toBe(5);
    await page.keyboard.press('Home');
    await eventually(cell).toBe(seen[0]);
  });

  test('colours follow the system, light or dark, and text has enough contrast', async () => {
    open = await scene.openSettled({ colorScheme: 'dark' });
    const { page } = open;
    for (const colorScheme of ['dark', 'light'] as const) {
      await page.emulateMedia({ colorScheme });
      await eventually(() => open!.shareOfColour(HEAT, WEST)).toBeGreaterThan(MOST_OF_IT);
      const [behind, ...letters] = await open.evaluate<number[]>(LIGHTNESSES);
      expect(behind! > 0.5).toBe(colorScheme === 'light');
      for (const letter of letters)
        expect(contrast(letter, behind!), `${colorScheme} ${letter}`).toBeGreaterThan(4.5);
      await page.locator('.chart canvas').waitFor();
      if (colorScheme === 'dark') await open.shoot('dark');
    }
  });

  test('every view fits a phone without horizontal scrolling', async () => {
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
    for (const [view, content] of [
      ['Timeline', 'ol.changes > li, .empty'],
      ['Availability', '.chart canvas'],
      ['Recovery', '.tiles'],
      ['Regions', 'tbody tr'],
      ['Audit', 'tbody tr, .empty:not(:text("Loading"))'],
      ['Open a file', 'input[type=file]'],
    ] as const) {
      await open.goTo(view);
      await page.getByRole('heading', { level: 1, name: view }).waitFor();
      await page.locator(content).first().waitFor();
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
