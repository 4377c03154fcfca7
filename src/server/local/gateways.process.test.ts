/** A local cluster with gateways: when they start and stop, what is done to them, their keys, and how they reload. */
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { until } from '../../../test/support/until.ts';
import { KEY_NAMES } from '../config/index.ts';
import { LocalCluster, type LocalClusterOptions, type LocalEvent, readState } from './index.ts';

const SHAPE = { regions: 2, acceptors: 3, partitionSets: 1, minimumDurability: 1 } as const;
const DOORS = ['gateway', 'west-gateway', 'east-gateway'];

let directory: string;
let cluster: LocalCluster | undefined;
let events: LocalEvent[] = [];

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'baton-doors-'));
  events = [];
});

afterEach(async () => {
  await cluster?.killAll();
  cluster = undefined;
  rmSync(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
});

async function start(options: Partial<LocalClusterOptions>): Promise<LocalCluster> {
  cluster = new LocalCluster({ ...options, directory, onEvent: (event) => events.push(event) });
  await cluster.start();
  return cluster;
}

const namesOf = (type: LocalEvent['type']): string[] =>
  events.flatMap((event) => (event.type === type && 'process' in event ? [event.process] : []));
const stateOf = (name: string): string => cluster!.processes.find((one) => one.name === name)!.state;
const keyFile = (name: string): string => join(directory, 'keys', name);

function statusAt(port: number, path: string): Promise<number> {
  return new Promise((resolve, reject) => {
    request({ host: '127.0.0.1', port, path, agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode!);
    })
      .on('error', reject)
      .end();
  });
}

async function logHas(name: string, text: string): Promise<void> {
  const log = join(directory, 'logs', `${name}.log`);
  await until(`${name} says "${text}"`, () => readFileSync(log, 'utf8').includes(text));
}

describe('gateways', () => {
  test('start after the nodes and stop before them; a region is its nodes, and a gateway has a name', async () => {
    const running = await start({ ...SHAPE, portBase: 'free', gateways: true });
    const ready = namesOf('ready');
    expect(ready.slice(-3).toSorted()).toEqual(DOORS.toSorted());
    const started = events.findIndex((event) => event.type === 'starting' && event.process === 'gateway');
    const nodes = events.findIndex((event) => event.type === 'ready' && event.process === 'east-1');
    expect(started).toBeGreaterThan(nodes);
    for (const { http } of running.config.gateways) expect(await statusAt(http!.port, '/health')).toBe(200);

    expect(await running.kill('west')).toEqual({ processes: ['west-1'] });
    expect(stateOf('west-gateway')).toBe('running');
    expect(running.healthyRegions).toEqual(['east']);
    expect(await running.kill(['west-gateway', 'a2', 'west'])).toEqual({
      processes: ['west-gateway', 'a2', 'west-1'],
    });
    expect(stateOf('west-gateway')).toBe('stopped');
    await running.pause('gateway');
    const { processes } = await running.heal();
    expect(processes.toSorted()).toEqual(['a2', 'gateway', 'west-1', 'west-gateway']);
    for (const name of DOORS) expect(stateOf(name)).toBe('running');
    const { processes: kept } = (await readState(directory))!;
    expect(kept.find(({ name }) => name === 'west-gateway')).toMatchObject({
      role: 'gateway',
      region: 'west',
      address: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/$/) as string,
    });

    await running.stop();
    const stopped = namesOf('stopped');
    expect(stopped.slice(0, 3).toSorted()).toEqual(DOORS.toSorted());
    expect(stopped.slice(3, 5)).toEqual(['east-1', 'west-1']);
  });

  test('read new keys when they are told to; their files are for nobody else, and outlive them', async () => {
    const small = { regions: 1, acceptors: 1, partitionSets: 1 } as const;
    const running = await start({ ...small, portBase: 'free', gateways: true });
    for (const name of KEY_NAMES) expect(statSync(keyFile(name)).mode & 0o777).toBe(0o600);
    const keys = KEY_NAMES.map((name) => readFileSync(keyFile(name), 'utf8'));
    expect(new Set(keys).size).toBe(4);

    const { pid } = running.processes.find(({ name }) => name === 'west-gateway')!.identity!;
    writeFileSync(keyFile('primary'), `${Buffer.alloc(48, 9).toString('base64')}\n`);
    process.kill(pid, 'SIGHUP');
    await logHas('west-gateway', 'configuration is read again');
    writeFileSync(keyFile('primary'), 'short\n');
    process.kill(pid, 'SIGHUP');
    await logHas('west-gateway', 'keeping the old configuration: cannot reload');
    expect(stateOf('west-gateway')).toBe('running');
    writeFileSync(keyFile('primary'), keys[0]!);
    await running.killAll();

    const without = await start({ gateways: false });
    expect(without.processes.map(({ role }) => role)).toEqual(['acceptor', 'node', 'dns']);
    expect(KEY_NAMES.map((name) => readFileSync(keyFile(name), 'utf8'))).toEqual(keys);
  });
});
