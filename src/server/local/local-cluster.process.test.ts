/** A cluster of real processes: what it survives, what it refuses, and what it leaves behind. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { until } from '../../../test/support/until.ts';
import { isRunning } from '../../caspaxos/index.ts';
import { BatonClient } from '../../client/index.ts';
import { nodesOf } from '../config/index.ts';
import { freePort, LocalCluster, type LocalClusterOptions, type LocalEvent, readState } from './index.ts';

const SHAPE = { regions: 3, acceptors: 3, partitionSets: 4 } as const;
const WAIT_MS = 120_000;

let directory: string;
let cluster: LocalCluster | undefined;
let client: BatonClient | undefined;
let events: LocalEvent[] = [];

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'baton-local-'));
  events = [];
});

afterEach(async () => {
  await client?.close();
  await cluster?.killAll();
  [client, cluster] = [undefined, undefined];
  rmSync(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
});

async function start(
  options: Partial<LocalClusterOptions> = { ...SHAPE, portBase: 'free' },
): Promise<LocalCluster> {
  cluster = new LocalCluster({ ...options, directory, onEvent: (event) => events.push(event) });
  await cluster.start();
  await cluster.waitForWriters(regionsOf(cluster), WAIT_MS);
  return cluster;
}

const regionsOf = ({ config }: LocalCluster): string[] => config.regions.map(({ name }) => name);

async function items({ connectOptions }: LocalCluster) {
  await client?.close();
  client = await BatonClient.connect({ ...connectOptions, timeoutMs: WAIT_MS });
  return client.container<{ id: string; value: number }>('items');
}

const stopped = (): string[] => events.flatMap((event) => (event.type === 'stopped' ? [event.process] : []));

describe('a cluster', () => {
  test('loses its write region and writes on; healed, the region writes again; the next run finds it all', async () => {
    const first = await start();
    const before = await items(first);
    for (let value = 0; value < 20; value += 1) await before.upsert({ id: `d${value}`, value });

    await first.kill('west');
    expect(first.healthyRegions).toEqual(['east', 'north']);
    await first.waitForWriters(['east', 'north'], WAIT_MS);
    await before.upsert({ id: 'after', value: 1 });

    await first.heal('west');
    expect(first.healthyRegions).toEqual(['west', 'east', 'north']);
    await first.waitForWriters(['west'], WAIT_MS);

    const { path } = first.config;
    const file = readFileSync(path, 'utf8');
    await first.stop();
    const second = await start({});
    expect(readFileSync(path, 'utf8')).toBe(file);
    const again = await items(second);
    for (let value = 0; value < 20; value += 1)
      expect((await again.read(`d${value}`)).document.value).toBe(value);
    expect((await again.read('after')).document.value).toBe(1);
  });

  test('stops its regions from the last to the first, then the acceptors, then DNS, and says in its file that it is gone', async () => {
    const { processes } = await start();
    const running = await readState(directory);
    const ids = running!.processes.map(({ pid, started }) => ({ pid: pid!, started: started! }));
    expect(ids).toHaveLength(processes.length);
    expect(ids.every(isRunning)).toBe(true);
    await cluster!.stop();
    expect(stopped().slice(0, 3)).toEqual(['north-1', 'east-1', 'west-1']);
    expect(stopped().slice(3, 6).toSorted()).toEqual(['a1', 'a2', 'a3']);
    expect(stopped().slice(6)).toEqual(['dns']);
    expect(ids.some(isRunning)).toBe(false);
    const after = await readState(directory);
    expect(after).toMatchObject({ supervisor: null, control: null });
    expect(after!.processes.every(({ state, pid }) => state === 'stopped' && pid === undefined)).toBe(true);
  });

  test('can be told of a paused region, a lost process, and of names that it has not', async () => {
    const running = await start();
    await running.pause('east-1');
    expect(running.healthyRegions).toEqual(['west', 'north']);
    await running.resume('east');
    expect(running.healthyRegions).toEqual(['west', 'east', 'north']);

    const { identity } = running.processes.find(({ name }) => name === 'a2')!;
    process.kill(identity!.pid, 'SIGKILL');
    const lost = await until('it is lost', () => events.find(({ type }) => type === 'lost'));
    expect(lost).toMatchObject({ process: 'a2', how: 'SIGKILL' });
    const written = async (): Promise<string | undefined> =>
      (await readState(directory))!.processes.find(({ name }) => name === 'a2')?.state;
    await until('it is written down as stopped', async () => (await written()) === 'stopped');
    await running.startAgain('a2');
    await until('it is written down as running', async () => (await written()) === 'running');

    await expect(running.kill('south')).rejects.toMatchObject({ code: 'NAME_UNKNOWN' });
    await expect(running.cut('west')).rejects.toMatchObject({ code: 'CUT_UNAVAILABLE' });
  });
});

describe('a directory', () => {
  test('has one cluster at a time, of one shape, that may move to other ports', async () => {
    const first = await start();
    const before = await items(first);
    await before.upsert({ id: 'kept', value: 7 });
    const other = new LocalCluster({ directory, portBase: 'free' });
    await expect(other.start()).rejects.toMatchObject({ code: 'CLUSTER_RUNNING' });
    await first.stop();

    const larger = new LocalCluster({ directory, acceptors: 5 });
    await expect(larger.start()).rejects.toMatchObject({
      code: 'OPTIONS_DIFFER',
      message: expect.stringContaining('acceptors 3, not 5') as string,
    });
    const ports = nodesOf(first.config).map(({ listen }) => listen.port);
    const moved = await start({ portBase: 'free' });
    for (const { listen } of nodesOf(moved.config)) expect(ports).not.toContain(listen.port);
    expect((await (await items(moved)).read('kept')).document.value).toBe(7);
  });

  test('whose ports are taken is told which, and nothing is left running', async () => {
    const portBase = await freePort();
    const server = createServer();
    await once(server.listen(portBase + 202, '127.0.0.1'), 'listening');
    try {
      const blocked = new LocalCluster({ ...SHAPE, directory, portBase });
      await expect(blocked.start()).rejects.toMatchObject({
        code: 'PORT_TAKEN',
        message: `Port ${portBase + 202} on 127.0.0.1, needed for acceptor a2, is in use by another process; stop that process, or choose other ports for the whole cluster, for example with \`baton up --port-base 5100\`.`,
      });
    } finally {
      server.close();
    }
    expect((await readState(directory))?.supervisor ?? null).toBeNull();
  });

  test('on a disk that is too small is refused', async () => {
    const small = new LocalCluster({ ...SHAPE, directory, minimumFreeBytes: 2 ** 60 });
    await expect(small.start()).rejects.toMatchObject({ code: 'DISK_TOO_SMALL' });
  });
});
