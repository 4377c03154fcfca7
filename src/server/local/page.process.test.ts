/** What the web page stands on: tokens, orders that go through a node, and the built-in load. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { until } from '../../../test/support/until.ts';
import { NODE_HOST, openAcceptor } from '../../caspaxos/index.ts';
import { BatonClient } from '../../client/index.ts';
import { dial } from '../../transport/index.ts';
import { formatAddress, nodesOf } from '../config/index.ts';
import { LocalCluster, type LocalClusterOptions, readState } from './index.ts';

const SHAPE = { regions: 3, acceptors: 3, partitionSets: 2, portBase: 'free' } as const;
const SECRETS = ['node', 'client', 'operator', 'viewer', 'acceptor'].map((name) => `${name}.token`);
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
    await before.killAll();
    // As a version of Baton left it that made none.
    const file = join(directory, 'baton.yaml');
    writeFileSync(file, contentsOf('baton.yaml').replace(/^tokens:\n(?: .*\n?)*/m, ''));
    for (const name of SECRETS) rmSync(join(directory, name));

    const after = await start({});
    const secrets = SECRETS.map(contentsOf);
    expect(new Set(secrets).size).toBe(SECRETS.length);
    expect(after.operatorToken).toBe(contentsOf('operator.token'));
    expect(after.page).toMatch(new RegExp(`^http://127\\.0\\.0\\.1:\\d+/#token=${after.operatorToken}$`));
    for (const name of SECRETS) expect(statSync(join(directory, name)).mode & 0o777).toBe(0o600);
    for (const name of SECRETS) expect(contentsOf('baton.yaml')).toContain(`{ file: ./${name} }`);
    await after.waitForWriters(['west'], WAIT_MS);
    await after.killAll();

    await start({});
    expect(SECRETS.map(contentsOf)).toEqual(secrets);
  });
});

describe('without its token', () => {
  test('no port does anything for anybody; and no token opens the door of another', async () => {
    const running = await start({ ...SHAPE, gateways: true });
    await running.waitForWriters(['west'], WAIT_MS);
    const { config, connectOptions, clientToken, operatorToken } = running;
    const nodeToken = contentsOf('node.token');
    for (const { address, region } of nodesOf(config)) {
      const other = nodesOf(config).find((node) => node.region !== region)!;
      for (const token of [undefined, nodeToken, operatorToken]) {
        const connecting = BatonClient.connect({
          ...connectOptions,
          token,
          endpoints: [formatAddress(address)],
          timeoutMs: 1000,
        });
        await expect(connecting).rejects.toMatchObject({ code: 'NOT_AUTHENTICATED' });
      }
      for (const token of [undefined, clientToken, operatorToken]) {
        const peer = {
          role: 'node',
          cluster: config.cluster,
          node: other.name,
          region: other.region,
        } as const;
        const dialling = dial({ address, self: { ...peer, incarnation: 2 ** 40 }, host: NODE_HOST, token });
        await expect(dialling).rejects.toMatchObject({ code: 'NOT_AUTHORIZED' });
      }
      for (const path of ['/v1/partition-sets', '/v1/local', '/v1/node', '/v1/events'])
        for (const token of [undefined, clientToken, nodeToken])
          expect((await ask(region, path, token)).status).toBe(401);
      expect((await ask(region, '/v1/local/orders', undefined, { action: 'heal' })).status).toBe(401);
    }
    for (const { url } of config.acceptors) {
      expect((await fetch(`${url}/metrics`)).status).toBe(401);
      for (const token of [undefined, clientToken, operatorToken, nodeToken]) {
        const acceptor = openAcceptor(url, { token, timeoutMs: 2000 });
        await expect(acceptor.describe()).rejects.toMatchObject({ code: 'UNAUTHORIZED' });
        await acceptor.close();
      }
    }
    for (const gateway of config.gateways)
      expect((await fetch(`http://${formatAddress(gateway.address)}/dbs`)).status).toBe(401);
    const client = await BatonClient.connect(connectOptions);
    await client.container('items').upsert({ id: 'with the token' });
    await client.close();
  });
});

describe('an order from the page', () => {
  test('goes through any node, from operators only; the load goes on while a region is lost', async () => {
    const running = await start({ ...SHAPE });
    await running.waitForWriters(['west'], WAIT_MS);
    const operator = running.operatorToken;
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
    const running = await start({ ...SHAPE, regions: 1, minimumDurability: 1 });
    await running.waitForWriters(['west'], WAIT_MS);
    await running.load(true);
    await until('writes are acknowledged', () => running.state.load.acknowledged > 0);
    const { control, processes } = (await readState(directory))!;
    const secrets = [control!.token, ...SECRETS.map(contentsOf)];
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
