/** Orders from other processes: only from those who can read the token. */
import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { thisProcess } from '../../caspaxos/index.ts';
import { ControlServer, type LocalState, sendOrder } from './control.ts';
import { writeState } from './directory.ts';
import { LocalClusterError } from './errors.ts';
import type { AnyOrder } from './orders.ts';

const STATE: LocalState = {
  processes: [
    { name: 'a1', role: 'acceptor', state: 'running' },
    { name: 'west-1', role: 'node', region: 'west', state: 'paused' },
  ],
  load: { on: true, perSecond: 100, acknowledged: 7, failed: 1, worstGapMs: 20 },
  canCut: false,
};

let directory: string;
let server: ControlServer;
let access: { readonly url: string; readonly token: string };
const orders: AnyOrder[] = [];

beforeEach(async () => {
  orders.length = 0;
  directory = mkdtempSync(join(tmpdir(), 'baton-control-'));
  server = new ControlServer({
    obey: (order) => {
      orders.push(order);
      if (order.action === 'load') return Promise.resolve({ processes: [], load: STATE.load });
      if (order.targets?.includes('nobody'))
        throw new LocalClusterError('NAME_UNKNOWN', 'There is no "nobody".');
      return Promise.resolve({ processes: ['west-1'] });
    },
    state: () => STATE,
  });
  access = await server.listen();
  await keep(access.token);
});

afterEach(async () => {
  await server.close();
  rmSync(directory, { recursive: true });
});

function keep(token: string): Promise<void> {
  return writeState(directory, {
    version: 1,
    cluster: 'demo',
    config: 'baton.yaml',
    portBase: null,
    namespaces: false,
    supervisor: thisProcess(),
    control: { url: access.url, token },
    processes: [],
  });
}

function post(body: string, headers: Record<string, string> = {}): Promise<Response> {
  const authorization = `Bearer ${access.token}`;
  return fetch(`${access.url}/v1/orders`, { method: 'POST', body, headers: { authorization, ...headers } });
}

describe('an order', () => {
  test('is carried out and answered', async () => {
    const order: AnyOrder = { action: 'cut', targets: ['west', 'a1'], from: 'acceptors', direction: 'out' };
    expect(await sendOrder(directory, order)).toEqual({ processes: ['west-1'] });
    expect(orders).toEqual([order]);
  });

  test('that cannot be carried out says why, with its code', async () => {
    await expect(sendOrder(directory, { action: 'kill', targets: ['nobody'] })).rejects.toMatchObject({
      code: 'NAME_UNKNOWN',
      message: 'There is no "nobody".',
    });
  });

  test('with a wrong token is refused', async () => {
    await keep('x'.repeat(access.token.length));
    await expect(sendOrder(directory, { action: 'heal' })).rejects.toMatchObject({ code: 'CONTROL_REFUSED' });
    expect((await post('{"action":"heal"}', { authorization: '' })).status).toBe(401);
    expect(orders).toEqual([]);
  });

  test.each([
    '',
    '{',
    '[]',
    '{"action":"explode"}',
    '{"action":"kill","targets":"west"}',
    '{"action":"load"}',
    '{"action":"load","on":true,"perSecond":0}',
    '{"action":"load","on":true,"perSecond":5001}',
    `{"action":"heal","targets":["${'x'.repeat(20_000)}"]}`,
  ])('that is none is refused: %#', async (body) => {
    expect((await post(body)).status).toBe(400);
    expect(orders).toEqual([]);
  });

  test('to load the cluster is answered with what the load has come to', async () => {
    const order: AnyOrder = { action: 'load', on: true, perSecond: 100 };
    expect(await sendOrder(directory, order)).toEqual({ processes: [], load: STATE.load });
    expect(orders).toEqual([order]);
  });

  test('to a cluster that does not run is refused', async () => {
    await expect(sendOrder(join(directory, 'none'), { action: 'heal' })).rejects.toMatchObject({
      code: 'CLUSTER_NOT_RUNNING',
    });
  });
});

describe('a question', () => {
  const ask = (path: string, token = access.token, method = 'GET'): Promise<Response> =>
    fetch(`${access.url}${path}`, { method, headers: { authorization: `Bearer ${token}` } });

  test('is answered with the processes, the load, and whether links can be cut', async () => {
    const answer = await ask('/v1/local');
    expect([answer.status, await answer.json()]).toEqual([200, STATE]);
  });

  test('may have its target in absolute form, and no more header fields than are read', async () => {
    const { port } = new URL(access.url);
    const raw = async (target: string, fields: number): Promise<string> => {
      const socket = connect({ host: '127.0.0.1', port: Number(port) });
      socket.write(
        `GET ${target} HTTP/1.1\r\nHost: x\r\n${'a:\r\n'.repeat(fields)}Authorization: Bearer ${access.token}\r\n\r\n`,
      );
      return Buffer.concat((await socket.toArray()) as Buffer[]).toString();
    };
    expect(await raw('/v1/local', 1998)).toMatch(/^HTTP\/1.1 200 /);
    expect(await raw(`${access.url}/v1/local`, 0)).toMatch(/^HTTP\/1.1 200 /);
    expect(await raw('/v1/local', 2000)).toMatch(/^HTTP\/1.1 431 /);
  });

  test('with a wrong token, or for something else, is refused', async () => {
    expect((await ask('/v1/local', 'x'.repeat(access.token.length))).status).toBe(401);
    expect((await ask('/v1/orders')).status).toBe(404);
    expect((await ask('/v1/local', access.token, 'POST')).status).toBe(404);
  });
});
