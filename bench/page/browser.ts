/** The page in Chromium, with what it measures of itself and what the browser knows of its main thread. */
import { type Browser, type CDPSession, chromium, type Page } from 'playwright-core';
import { findProgram } from '../../test/support/programs.ts';

export interface WatchedUpdates {
  /** Milliseconds of each. */
  readonly updates: readonly number[];
  /** Processor time of the main thread. */
  readonly busyMs: number;
}

export interface OpenedPage {
  readonly page: Page;
  /** What happened while it ran. */
  readonly watch: (act: () => Promise<void>) => Promise<WatchedUpdates>;
}

/** Browsers keep only so many measures, and the page clears its own. */
const COLLECT = `globalThis.updates = [];
new PerformanceObserver((list) => {
  for (const { name, duration } of list.getEntries()) if (name === 'baton-update') updates.push(duration);
}).observe({ type: 'measure' });`;

export async function startBrowser(): Promise<Browser> {
  const program = findProgram('chromium');
  if (program.path === undefined) throw new Error(`Chromium is not available: ${program.why}.`);
  return chromium.launch({
    executablePath: program.path,
    env: { ...process.env, ...program.env },
    args: ['--no-sandbox', '--disable-gpu'],
  });
}

export async function openPage(browser: Browser, url: string): Promise<OpenedPage> {
  const page = await browser.newPage({ viewport: { width: 1280, height: 860 } });
  await page.addInitScript({ content: COLLECT });
  const cdp = await page.context().newCDPSession(page);
  await cdp.send('Performance.enable', { timeDomain: 'threadTicks' });
  await page.goto(url);
  return {
    page,
    watch: async (act) => {
      await page.evaluate('updates.length = 0');
      const before = await busySeconds(cdp);
      await act();
      const busyMs = ((await busySeconds(cdp)) - before) * 1000;
      return { updates: await page.evaluate<number[]>('updates'), busyMs };
    },
  };
}

/** How many cells have this write region, as the legend counts them. */
export async function cellsIn(page: Page, region: string): Promise<number> {
  const entry = page.locator('.legend li').filter({ hasText: region });
  return Number((await entry.first().locator('b').innerText()).replaceAll(',', ''));
}

/** Without what the benchmark asked of it. */
async function busySeconds(cdp: CDPSession): Promise<number> {
  const { metrics } = await cdp.send('Performance.getMetrics');
  const value = (wanted: string): number => metrics.find(({ name }) => name === wanted)!.value;
  return value('TaskDuration') - value('DevToolsCommandDuration');
}
