/** Whoever watches must be able to see: a page that does what it should not is noticed. */
import { afterEach, expect, test } from 'vitest';
import type { Browser } from 'playwright-core';
import { needProgram } from '../support/programs.ts';
import { FakeNodes } from './fake-nodes.ts';
import { startBrowser } from './page-scene.ts';
import { WatchedPage } from './watched-page.ts';

let browser: Browser | undefined;
let nodes: FakeNodes | undefined;

afterEach(async () => {
  await browser?.close();
  await nodes?.stop();
});

test('a watched page that asks strangers, complains, throws or breaks its policy fails its test', async (context) => {
  needProgram(context, 'chromium');
  browser = await startBrowser();
  nodes = await FakeNodes.start({ sets: 4 });
  const [first, ...others] = nodes.fleet.regions.map((region) => nodes!.urlOf(region));
  const watched = await WatchedPage.open(browser!, [first!]);
  await watched.page.goto(first!);
  await watched.untilCells(nodes.fleet.regions[0]!, 4);
  const thrown = watched.page.waitForEvent('pageerror');
  await watched.evaluate(`new Promise((resolve) => {
    addEventListener('securitypolicyviolation', resolve);
    console.error('a complaint');
    document.body.insertAdjacentHTML('beforeend', '<b style="color: red">red</b>');
    setTimeout(() => { throw new Error('a mistake'); });
  }).then(() => 0)`);
  await thrown;
  const troubles = await watched.close().then(
    () => '',
    (error: Error) => error.message,
  );
  for (const what of [
    'said: a complaint',
    'thrown: a mistake',
    'policy: style-src',
    `asked for: ${others[0]}`,
  ])
    expect(troubles).toContain(what);
});
