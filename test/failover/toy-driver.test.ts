/** The toy of docs/driver.md: it is the code that the document shows, keeps the contract, and fails over. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { configurationFor, FailoverAgent, PROFILES, type RegionName } from 'baton/failover';
import { describe, expect, onTestFinished, test } from 'vitest';
import { memoryUrls } from '../caspaxos/clusters.ts';
import { CONFORMANCE_REGIONS, driverConformance, type PartitionSetUnderTest } from '../conformance/driver.ts';
import { until } from '../support/until.ts';
import { type Message, ToyDriver, ToyStore } from './toy-driver.ts';

/** Three copies in a directory of their own, and the links between them. */
class ToySet implements PartitionSetUnderTest {
  readonly #directory = mkdtempSync(join(tmpdir(), 'baton-toy-'));
  readonly #drivers = new Map<RegionName, ToyDriver>();
  readonly #stores = new Map<RegionName, ToyStore>();
  readonly #up = new Set<RegionName>();
  readonly #cut = new Set<string>();

  constructor() {
    for (const region of CONFORMANCE_REGIONS) this.#start(region);
  }

  driver(region: RegionName): ToyDriver {
    return this.#drivers.get(region)!;
  }

  write(region: RegionName, value: string): Promise<void> {
    return this.driver(region).write('k', value);
  }

  log(region: RegionName): { epoch: number; value: string }[] {
    return this.#stores.get(region)!.kept.log.map(({ epoch, value }) => ({ epoch, value }));
  }

  async crash(region: RegionName): Promise<void> {
    this.#up.delete(region);
    this.driver(region).close();
  }

  async restart(region: RegionName): Promise<void> {
    this.#start(region);
  }

  connect(a: RegionName, b: RegionName, isConnected: boolean): void {
    for (const link of [`${a}>${b}`, `${b}>${a}`]) {
      if (isConnected) this.#cut.delete(link);
      else this.#cut.add(link);
    }
  }

  async close(): Promise<void> {
    for (const driver of this.#drivers.values()) driver.close();
    this.#up.clear();
    rmSync(this.#directory, { recursive: true });
  }

  #start(region: RegionName): void {
    this.#up.add(region);
    const others = CONFORMANCE_REGIONS.filter((other) => other !== region);
    const store = new ToyStore(join(this.#directory, `${region}.json`));
    this.#stores.set(region, store);
    const send = (to: RegionName, message: Message) => this.#carry(region, to, message);
    this.#drivers.set(region, new ToyDriver({ region, others, store, send }));
  }

  async #carry(from: RegionName, to: RegionName, message: Message): Promise<number | undefined> {
    await new Promise((resolve) => setTimeout(resolve, 1));
    if (this.#cut.has(`${from}>${to}`) || !this.#up.has(to) || !this.#up.has(from))
      throw new Error('no answer');
    return this.driver(to).receive(structuredClone(message));
  }
}

/** Three real agents on a real cluster, in one process. */
class Fleet {
  readonly set = new ToySet();
  readonly agents = new Map<RegionName, FailoverAgent>();
  readonly acknowledged: string[] = [];
  readonly #urls = memoryUrls(3);
  #writes = 0;

  async start(region: RegionName): Promise<void> {
    const agent = await FailoverAgent.start({
      acceptors: this.#urls,
      region,
      partitionSet: 'toys',
      driver: this.set.driver(region),
      configuration: configurationFor(CONFORMANCE_REGIONS, { timings: PROFILES.fast }),
    });
    this.agents.set(region, agent);
  }

  async kill(region: RegionName): Promise<void> {
    const agent = this.agents.get(region)!;
    this.agents.delete(region);
    await this.set.crash(region);
    await agent.crash();
  }

  async comeBack(region: RegionName): Promise<void> {
    await this.set.restart(region);
    await this.start(region);
  }

  /** Writes wherever it is taken until that region has taken and acknowledged one. */
  async writesAt(region: RegionName): Promise<void> {
    let most = 0;
    await until(`a write is acknowledged in ${region}`, async () => {
      const takers = [...this.agents].filter(([, agent]) => agent.mayWrite()).map(([name]) => name);
      most = Math.max(most, takers.length);
      return takers[0] !== undefined && (await this.#write(takers[0])) && takers[0] === region;
    });
    expect(most, 'regions that take writes at once').toBe(1);
  }

  async #write(region: RegionName): Promise<boolean> {
    this.#writes += 1;
    const value = `w${this.#writes}`;
    const late = new Promise<false>((resolve) => setTimeout(() => resolve(false), 500));
    const note = (): true => {
      this.acknowledged.push(value);
      return true;
    };
    return Promise.race([this.set.write(region, value).then(note, () => false), late]);
  }

  async end(): Promise<void> {
    await Promise.all([...this.agents.values()].map((agent) => agent.crash()));
    await this.set.close();
  }
}

driverConformance('of the tutorial', () => new ToySet(), { settleMs: 150 });

describe('the driver of the tutorial', () => {
  test('is the one in docs/driver.md', () => {
    const read = (path: string): string => readFileSync(new URL(path, import.meta.url), 'utf8');
    const lines = (text: string): string[] => text.split('\n').filter((line) => line !== '');
    const [, part] = read('../../docs/driver.md').split('\n## A toy, step by step\n');
    const [own] = part!.split('\n## ');
    const shown = [...own!.matchAll(/```ts\n(?<code>[^]*?)```\n/g)].map(({ groups }) => groups!['code']!);
    expect(lines(shown.join('\n'))).toEqual(lines(read('toy-driver.ts')).slice(1));
  });

  test('serves strong reads only when the log that it took over is committed again (rule 6)', async () => {
    const set = new ToySet();
    onTestFinished(() => set.close());
    const east = set.driver('east');
    const agent = { mayWrite: () => true, grant: () => 0, changed: () => {} };
    for (const region of CONFORMANCE_REGIONS) {
      await set.driver(region).incarnation();
      set.driver(region).attach(agent);
    }
    await east.assume({
      role: 'writer',
      serves: { level: 'Strong' },
      keeps: { level: 'Strong' },
      epoch: 1,
      accepts: true,
      commitSet: ['east'],
    });
    await set.write('east', 'v');
    expect(east.read('k')).toBe('v');
    await set
      .driver('north')
      .assume({ role: 'reader', serves: { level: 'Strong' }, epoch: 1, writer: 'east' });
    await east.assume({
      role: 'writer',
      serves: { level: 'Strong' },
      keeps: { level: 'Strong' },
      epoch: 1,
      accepts: true,
      commitSet: ['east', 'north'],
    });
    await set.write('east', 'w');
    // North has both, but has been told of no commit since; nobody follows it yet.
    await set.driver('north').assume({
      role: 'writer',
      serves: { level: 'Strong' },
      keeps: { level: 'Strong' },
      epoch: 2,
      accepts: true,
      commitSet: ['north', 'west'],
    });
    expect(() => set.driver('north').read('k')).toThrow('not committed yet');
    await set
      .driver('west')
      .assume({ role: 'reader', serves: { level: 'Strong' }, epoch: 2, writer: 'north' });
    await until('it is committed', () => set.driver('north').status().gclsn === 2);
    expect(set.driver('north').read('k')).toBe('w');
  });

  test('keeps what it has acknowledged when an older message comes late (rule 5)', async () => {
    const set = new ToySet();
    onTestFinished(() => set.close());
    const east = set.driver('east');
    await east.incarnation();
    await east.assume({ role: 'reader', serves: { level: 'Strong' }, epoch: 1, writer: 'west' });
    const log = ['a', 'b'].map((value) => ({ epoch: 1, key: 'k', value }));
    const message = { from: 'west', epoch: 1, gclsn: 0 };
    expect(east.receive({ ...message, log })).toBe(2);
    expect(east.receive({ ...message, log: log.slice(0, 1) })).toBe(1);
    expect(east.status().progress).toEqual({ epoch: 1, lsn: 2 });
  });

  test('says that it cannot commit when its disk fails (rule 8)', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'baton-toy-'));
    const store = new ToyStore(join(directory, 'west.json'));
    const send = (): Promise<never> => Promise.reject(new Error('no answer'));
    const driver = new ToyDriver({ region: 'west', others: [], store, send });
    onTestFinished(() => driver.close());
    await driver.incarnation();
    let changes = 0;
    driver.attach({
      mayWrite: () => true,
      grant: () => 0,
      changed: () => {
        changes += 1;
      },
    });
    expect(driver.status().canCommit).toBe(true);
    rmSync(directory, { recursive: true });
    await until('it says so', () => !driver.status().canCommit);
    expect(changes).toBe(1);
  });

  test('fails over when its writer is killed, and back when that returns; nothing acknowledged is lost', async () => {
    const fleet = new Fleet();
    onTestFinished(() => fleet.end());
    await Promise.all(CONFORMANCE_REGIONS.map((region) => fleet.start(region)));
    await fleet.writesAt('west');
    await fleet.kill('west');
    await fleet.writesAt('east');
    await fleet.comeBack('west');
    await fleet.writesAt('west');
    const log = new Set(fleet.set.log('west').map(({ value }) => value));
    expect(fleet.acknowledged.filter((value) => !log.has(value))).toEqual([]);
    expect(fleet.agents.get('west')!.state).toMatchObject({ writer: 'west' });
  }, 300_000);
});
