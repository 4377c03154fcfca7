/** A real cluster and a real browser, for tests that look at the page as people do. */
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type Browser, type BrowserContextOptions, chromium } from 'playwright-core';
import { formatAddress, nodesOf } from '../../src/server/config/index.ts';
import { LocalCluster } from '../../src/server/local/index.ts';
import { BATON } from '../../src/server/local/programs.ts';
import { findProgram } from '../support/programs.ts';
import { eventually, WAIT_MS, WatchedPage } from './watched-page.ts';

export const SETS = 16;
/** The preferred region, where the writes are at the beginning of each test. */
export const HOME = 'west';

/** Undefined where there is no browser: then its tests say so themselves. */
export async function startBrowser(): Promise<Browser | undefined> {
  const program = findProgram('chromium');
  if (program.path === undefined) return undefined;
  // One that was fetched finds its libraries by its environment.
  return chromium.launch({
    executablePath: program.path,
    env: { ...process.env, ...program.env },
    args: ['--no-sandbox', '--disable-gpu'],
  });
}

export class PageScene {
  readonly directory = mkdtempSync(join(tmpdir(), 'baton-dashboard-'));
  readonly cluster: LocalCluster;
  readonly #browser: Browser;

  private constructor(browser: Browser) {
    this.#browser = browser;
    this.cluster = new LocalCluster({
      directory: this.directory,
      regions: 3,
      acceptors: 3,
      partitionSets: SETS,
      portBase: 'free',
    });
  }

  static async start(browser: Browser): Promise<PageScene> {
    const scene = new PageScene(browser);
    try {
      await scene.cluster.start();
      await scene.cluster.waitForWriters([HOME], WAIT_MS);
    } catch (error) {
      await scene.end();
      throw error;
    }
    return scene;
  }

  async end(): Promise<void> {
    await this.cluster.killAll();
    rmSync(this.directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
  }

  /** Undoes whatever a test did to the cluster, also when the test failed half-way. */
  async heal(): Promise<void> {
    if (this.cluster.state.load.on) await this.cluster.load(false);
    await this.cluster.heal();
    await this.cluster.waitForWriters(this.#regions, WAIT_MS);
    await this.#unpin();
    await this.cluster.waitForWriters([HOME], WAIT_MS);
  }

  async #unpin(): Promise<void> {
    const { partitionSets } = (await this.#ask('/v1/partition-sets')) as {
      partitionSets: { partitionSet: string; pin: string | null }[];
    };
    const pinned = partitionSets.filter(({ pin }) => pin !== null);
    for (const { partitionSet } of pinned)
      await this.#ask(`/v1/partition-sets/${partitionSet}/intents`, {
        intent: { kind: 'unpin' },
        id: `heal-${randomUUID()}`,
        who: 'test',
      });
  }

  async #ask(path: string, body?: object): Promise<unknown> {
    const response = await fetch(`${this.origins[0]}${path}`, {
      headers: {
        authorization: `Bearer ${this.cluster.operatorToken}`,
        'content-type': 'application/json',
      },
      ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
    });
    const answer = await response.text();
    if (!response.ok) throw new Error(`${path} was answered with status ${response.status}: ${answer}`);
    return JSON.parse(answer);
  }

  get #regions(): readonly string[] {
    return this.cluster.config.regions.map(({ name }) => name);
  }

  get viewerToken(): string {
    return readFileSync(join(this.directory, 'viewer.token'), 'utf8').trim();
  }

  /** Of the nodes, the first region's first. */
  get origins(): readonly string[] {
    return nodesOf(this.cluster.config).map(({ http }) => `http://${formatAddress(http!)}`);
  }

  /** With the token that `baton up` prints, unless told otherwise; served by the first region, which is the one that is killed. */
  async open(path?: string, options?: BrowserContextOptions): Promise<WatchedPage> {
    const watched = await WatchedPage.open(this.#browser, this.origins, options);
    await watched.page.goto(`${this.origins[0]}${path ?? `/${new URL(this.cluster.page!).hash}`}`);
    return watched;
  }

  /** With all nodes heard, and every partition-set written somewhere. */
  async openSettled(options?: BrowserContextOptions): Promise<WatchedPage> {
    const watched = await this.open(undefined, options);
    await watched.page.getByText('3 of 3 nodes').waitFor();
    const written = async (): Promise<number> => {
      const counts = await Promise.all(this.#regions.map((region) => watched.cells(region)));
      return counts.reduce((sum, count) => sum + count, 0);
    };
    await eventually(written).toBe(SETS);
    return watched;
  }

  /** What a command prints, in a file. */
  async fileOf(name: string, args: readonly string[]): Promise<string> {
    const { stdout } = await promisify(execFile)(process.execPath, [BATON, ...args], { maxBuffer: 2 ** 26 });
    const file = join(this.directory, name);
    writeFileSync(file, stdout);
    return file;
  }
}
