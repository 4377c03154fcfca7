/** A node and whoever runs its cluster, over real HTTP. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type ControlClient, controlIn, LOCAL_ORDER } from './local-control.ts';

const STATE = {
  processes: [{ name: 'a1', role: 'acceptor', state: 'running' }],
  load: { on: false, perSecond: 0, acknowledged: 0, failed: 0, worstGapMs: 0 },
  canCut: true,
};

let parent: Server;
let client: ControlClient;
let reply: { status: number; text: string };
let asked: { method: string; path: string; token: string; body: string };

beforeEach(async () => {
  reply = { status: 200, text: JSON.stringify(STATE) };
  parent = createServer((request, response) => {
    let body = '';
    request.on('data', (bytes: Buffer) => (body += bytes.toString()));
    request.on('end', () => {
      const { method = '', url: path = '', headers } = request;
      asked = { method, path, token: headers.authorization ?? '', body };
      response.writeHead(reply.status, { connection: 'close' }).end(reply.text);
    });
  });
  await new Promise<void>((resolve) => {
    parent.listen(0, '127.0.0.1', resolve);
  });
  const { port } = parent.address() as AddressInfo;
  client = controlIn({
    BATON_LOCAL_CONTROL: `http://127.0.0.1:${port}`,
    BATON_LOCAL_CONTROL_TOKEN: 'parent-token',
  })!;
});

afterEach(() => {
  parent.close();
});

test('without its address there is none', () => {
  expect(controlIn({})).toBeUndefined();
  expect(controlIn({ BATON_LOCAL_CONTROL: '' })).toBeUndefined();
});

test('it is asked with its token, and orders go without the name of who gave them', async () => {
  expect(await client.look()).toEqual(STATE);
  expect(asked).toEqual({ method: 'GET', path: '/v1/local', token: 'Bearer parent-token', body: '' });
  reply.text = '{"processes":["west-1"]}';
  expect(await client.order({ action: 'kill', targets: ['west'], who: 'me' })).toEqual({
    processes: ['west-1'],
  });
  expect(asked).toMatchObject({ method: 'POST', path: '/v1/orders', token: 'Bearer parent-token' });
  expect(JSON.parse(asked.body)).toEqual({ action: 'kill', targets: ['west'] });
});

test.each([
  [409, '{"error":{"code":"CUT_UNAVAILABLE","message":"Not here."}}', 409, 'CUT_UNAVAILABLE'],
  [400, '{"error":{"code":"CONTROL_REFUSED","message":"No order."}}', 400, 'CONTROL_REFUSED'],
  [401, '{"error":{"code":"CONTROL_REFUSED","message":"The token is wrong."}}', 503, 'LOCAL_AWAY'],
  [500, 'broken', 503, 'LOCAL_AWAY'],
  [200, '{"processes":7}', 503, 'LOCAL_AWAY'],
])('what it answers with %i %s becomes %i %s', async (status, text, expected, code) => {
  reply = { status, text };
  await expect(client.order({ action: 'heal' })).rejects.toMatchObject({ status: expected, code });
});

test('that nobody is there is one sentence', async () => {
  parent.close();
  await expect(client.look()).rejects.toMatchObject({
    status: 503,
    code: 'LOCAL_AWAY',
    message: expect.stringMatching(/^The process that runs this cluster does not answer: .*\.$/) as string,
  });
});

test.each([
  [{ action: 'kill', targets: ['west'] }, true],
  [{ action: 'cut', targets: ['a1'], from: 'regions', direction: 'in', who: 'me' }, true],
  [{ action: 'load', on: true }, true],
  [{ action: 'load', on: false, perSecond: 10 }, true],
  [{ action: 'load' }, false],
  [{ action: 'load', on: true, targets: ['west'] }, false],
  [{ action: 'kill', target: 'west' }, false],
  [{ action: 'dance' }, false],
])('%j is an order: %s', (body, is) => {
  expect(LOCAL_ORDER.safeParse(body).success).toBe(is);
});
