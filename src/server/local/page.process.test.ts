/** What the web page stands on: tokens, orders that go through a node, and the built-in load. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { until } from '../../../test/support/until.ts';
import { formatAddress, nodesOf } from '../config/index.ts';
import { LocalCluster, type LocalClusterOptions, readState } from './index.ts';

const SHAPE = { regions: 3, acceptors: 3, partitionSets: 2, portBase: 'free' } as const;
const SECRETS = ['operator.token', 'viewer.token'];
const WAIT_MS = 120_000;

let directory: string;
let cluster: LocalCluster | undefined;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'baton-page-'));
});

afterEach(async () => {
  await cluster?.killAll();
  cluster = undefined;
  rmSync(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
});

async function start(options: Partial<LocalClusterOptions>): Promise<LocalCluster> {
  cluster = new LocalCluster({ ...options, directory });
  await cluster.start();
  return cluster;
}

const contentsOf = (name: string): string => readFileSync(join(directory, name), 'utf8').trim();

/** Of the node of a region. */
async function ask(region: string, path: string, token?: string, order?: object): Promise<Response> {
  const { http } = nodesOf(cluster!.config).find((node) => node.region === region)!;
  return fetch(`http://${formatAddress(http!)}${path}`, {
    headers: {
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(order && { 'content-type': 'application/json' }),
    },
    ...(order && { method: 'POST', body: JSON.stringify(order) }),
  });
}

describe('the tokens of a cluster', () => {
  test('come to a directory that has none at the next start, and stay; they are for its owner', async () => {
    const small = { regions: 1, acceptors: 1, partitionSets: 1, portBase: 'free' } as const;
    const before = await start(small);
    expect(before.operatorToken).toBeUndefined();
    expect(before.page).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/$/);
    expect((await ask('west', '/v1/partition-sets')).status).toBe(200);
    expect((await ask('west', '/v1/local')).status).toBe(404);
    await before.killAll();

    const after = await start({ tokens: true });
    const [operator, viewer] = SECRETS.map(contentsOf) as [string, string];
    expect(operator).not.toBe(viewer);
    expect(after.operatorToken).toBe(operator);
    expect(after.page).toBe(`${before.page}#token=${operator}`);
    for (const name of SECRETS) expect(statSync(join(directory, name)).mode & 0o777).toBe(0o600);
    const file = contentsOf('baton.yaml');
    for (const name of SECRETS) expect(file).toContain(`{ file: ./${name} }`);
    expect((await ask('west', '/v1/partition-sets')).status).toBe(401);
    expect((await ask('west', '/v1/partition-sets', viewer)).status).toBe(200);
    await after.waitForWriters(['west'], WAIT_MS);
    await after.killAll();

    const again = await start({});
    expect([again.operatorToken, ...SECRETS.map(contentsOf)]).toEqual([operator, operator, viewer]);
  });
});

describe('an order from the page', () => {
  test('goes through any node, from operators only; the load goes on while a region is lost', async () => {
    const running = await start({ ...SHAPE, tokens: true });
    await running.waitForWriters(['west'], WAIT_MS);
    const operator = running.operatorToken!;
    const order = (body: object, token = operator): Promise<Response> =>
      ask('east', '/v1/local/orders', token, body);
    const look = async () =>
      (await (await ask('north', '/v1/local', operator)).json()) as typeof running.state;
    expect(await look()).toMatchObject({
      processes: running.processes.map(({ name, role }) => ({ name, role, state: 'running' })),
      load: { on: false, acknowledged: 0 },
      canCut: false,
    });
    expect((await order({ action: 'kill', targets: ['west'] }, contentsOf('viewer.token'))).status).toBe(403);

    expect((await order({ action: 'load', on: true, perSecond: 50 })).status).toBe(200);
    const acknowledged = async (): Promise<number> => (await look()).load.acknowledged;
    await until('writes are acknowledged', async () => (await acknowledged()) > 20);
    const killed = await order({ action: 'kill', targets: ['west'] });
    expect([killed.status, await killed.json()]).toEqual([200, { processes: ['west-1'] }]);
    expect(running.healthyRegions).toEqual(['east', 'north']);
    await running.waitForWriters(['east', 'north'], WAIT_MS);
    const meanwhile = await acknowledged();
    await until('more are acknowledged', async () => (await acknowledged()) > meanwhile + 20);
    const off = (await (await order({ action: 'load', on: false })).json()) as { load: { on: boolean } };
    expect(off.load.on).toBe(false);
    const unknown = await order({ action: 'kill', targets: ['south'] });
    expect([unknown.status, await unknown.json()]).toMatchObject([409, { error: { code: 'NAME_UNKNOWN' } }]);
  });

  test('needs a secret that neither logs nor arguments have, and a load ends with its cluster', async () => {
    const running = await start({ ...SHAPE, regions: 1, minimumDurability: 1, tokens: true });
    await running.waitForWriters(['west'], WAIT_MS);
    await running.load(true);
    await until('writes are acknowledged', () => running.state.load.acknowledged > 0);
    const { control, processes } = (await readState(directory))!;
    const secrets = [control!.token, running.operatorToken!];
    for (const { pid } of processes) {
      const words = execFileSync('ps', ['-ww', '-o', 'args=', '-p', String(pid)], { encoding: 'utf8' });
      expect(words).toContain('--config');
      for (const secret of secrets) expect(words).not.toContain(secret);
    }
    await running.stop();
    expect(running.state.load.on).toBe(false);
    for (const name of readdirSync(join(directory, 'logs')))
      for (const secret of secrets) expect(contentsOf(join('logs', name))).not.toContain(secret);
  });
});
