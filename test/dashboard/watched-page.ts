/**
 * A page in a real browser, watched: what it asks of anybody but the cluster, what it throws, what it complains of and what its
 * content policy refuses are collected, and have to be nothing in the end.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type {
  Browser,
  BrowserContext,
  BrowserContextOptions,
  ConsoleMessage,
  Locator,
  Page,
} from 'playwright-core';
import { expect } from 'vitest';

/** How long a test waits for an event. Nothing is asserted about how soon it comes. */
export const WAIT_MS = 60_000;

/** What the page shows is polled until it is as expected. */
export function eventually(look: () => unknown): ReturnType<typeof expect.poll> {
  return expect.poll(look, { timeout: WAIT_MS });
}

const IMAGES = fileURLToPath(new URL('../../docs/img', import.meta.url));
const DESKTOP = { width: 1280, height: 860 };

export class WatchedPage {
  readonly page: Page;
  readonly #context: BrowserContext;
  readonly #origins: readonly string[];
  readonly #troubles: string[] = [];
  #requests = 0;

  private constructor(context: BrowserContext, page: Page, origins: readonly string[]) {
    this.#context = context;
    this.page = page;
    this.#origins = origins;
    page.setDefaultTimeout(WAIT_MS);
    page.on('request', (request) => this.#asked(request.url()));
    page.on('console', (message) => this.#said(message));
    page.on('pageerror', (error) => this.#troubles.push(`thrown: ${error.message}`));
  }

  /** `origins`: of all nodes; nobody else may be asked for anything. */
  static async open(
    browser: Browser,
    origins: readonly string[],
    options: BrowserContextOptions = {},
  ): Promise<WatchedPage> {
    const context = await browser.newContext({ viewport: DESKTOP, reducedMotion: 'reduce', ...options });
    const watched = new WatchedPage(context, await context.newPage(), origins);
    await watched.page.exposeFunction('noteRefusal', (what: string) =>
      watched.#troubles.push(`policy: ${what}`),
    );
    await watched.page.addInitScript({
      content: `addEventListener('securitypolicyviolation', (event) =>
        noteRefusal(event.violatedDirective + ' ' + event.blockedURI));`,
    });
    return watched;
  }

  #asked(url: string): void {
    this.#requests += 1;
    const { origin, protocol } = new URL(url);
    if (!this.#origins.includes(origin) && protocol !== 'data:') this.#troubles.push(`asked for: ${url}`);
  }

  /** A node that cannot be reached, or refuses, is what some tests are about; the browser notes each one. */
  #said(message: ConsoleMessage): void {
    const isNetwork = message.text().startsWith('Failed to load resource: ');
    if (message.type() === 'error' && !isNetwork) this.#troubles.push(`said: ${message.text()}`);
  }

  /** Ends it; whatever was wrong fails the test. */
  async close(): Promise<void> {
    await this.#context.close();
    expect(this.#troubles, this.#troubles.join('\n')).toEqual([]);
    expect(this.#requests).toBeGreaterThan(0);
  }

  async goTo(view: string): Promise<void> {
    await this.page.getByRole('navigation').getByRole('link', { name: view }).click();
    await this.page.getByRole('main').waitFor();
  }

  card(title: string | RegExp): Locator {
    return this.page.getByRole('region', { name: title });
  }

  /** What stands under the name, in the row of figures. */
  async figure(name: string): Promise<string> {
    const tile = this.page.locator('.tile').filter({ has: this.page.locator('dt', { hasText: name }) });
    return tile.first().locator('dd').innerText();
  }

  /** How many cells have this write region, as the legend counts them. */
  async cells(name: string): Promise<number> {
    const entry = this.page.locator('.legend li').filter({ hasText: name });
    return Number((await entry.first().locator('b').innerText()).replaceAll(',', ''));
  }

  async untilCells(name: string, count: number): Promise<void> {
    await eventually(() => this.cells(name)).toBe(count);
  }

  /** The share of a canvas's points that have a colour of the style sheet: what was really drawn. */
  async shareOfColour(canvas: string, colour: string): Promise<number> {
    return this.evaluate<number>(`(() => {
      const probe = document.createElement('canvas').getContext('2d');
      probe.fillStyle = getComputedStyle(document.documentElement).getPropertyValue('--${colour}').trim();
      probe.fillRect(0, 0, 1, 1);
      const [red, green, blue] = probe.getImageData(0, 0, 1, 1).data;
      const drawn = document.querySelector(${JSON.stringify(canvas)});
      const { data } = drawn.getContext('2d').getImageData(0, 0, drawn.width, drawn.height);
      let same = 0;
      for (let at = 0; at < data.length; at += 4)
        if (data[at] === red && data[at + 1] === green && data[at + 2] === blue && data[at + 3] === 255) same += 1;
      return (same * 4) / data.length;
    })()`);
  }

  async evaluate<T>(script: string): Promise<T> {
    return (await this.page.evaluate(script)) as T;
  }

  /** What makes the page wider than the window; nothing, if nothing does. */
  async tooWide(): Promise<readonly string[]> {
    return this.evaluate<string[]>(`(() => {
      const { scrollWidth, clientWidth } = document.documentElement;
      if (scrollWidth <= clientWidth && innerWidth <= screen.width) return [];
      return [...document.querySelectorAll('body *')]
        .filter((element) => element.getBoundingClientRect().right > clientWidth + 1)
        .map((element) => element.tagName + '.' + element.className);
    })()`);
  }

  /** For README and docs, when somebody asked for new ones. */
  async shoot(name: string): Promise<void> {
    if (process.env['UPDATE_SCREENSHOTS'] !== '1') return;
    mkdirSync(IMAGES, { recursive: true });
    await this.page.screenshot({
      path: join(IMAGES, `dashboard-${name}.png`),
      animations: 'disabled',
      caret: 'hide',
    });
  }
}
