/** A gateway from the cluster's file, before three real nodes. */
import { createHmac } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { Daemons } from '../../../test/server/daemons.ts';
import { until } from '../../../test/support/until.ts';
import { freePort } from '../local/free-port.ts';
import { GatewayDaemon } from './gateway-daemon.ts';

const SILENT = { debug() {}, info() {}, warn() {}, error() {} };
const keyOf = (byte: number): string => Buffer.alloc(64, byte).toString('base64');

let daemons: Daemons | undefined;
let gateways: GatewayDaemon[] = [];

afterEach(async () => {
  await Promise.all(gateways.map((gateway) => gateway.stop(0)));
  await daemons?.end();
  gateways = [];
  daemons = undefined;
});

interface Doors {
  readonly global: number;
  readonly west: number;
  readonly east: number;
  readonly status: number;
}

async function doors(): Promise<{ readonly ports: Doors; readonly more: string }> {
  const ports = {
    global: await freePort(),
    west: await freePort(),
    east: await freePort(),
    status: await freePort(),
  };
  const more = [
    'gateways:',
    `  - { name: gateway, listen: "127.0.0.1:${ports.global}", http: "127.0.0.1:${ports.status}" }`,
    `  - { name: east-gateway, region: east, listen: "127.0.0.1:${ports.east}" }`,
    `  - { name: west-gateway, region: west, listen: "127.0.0.1:${ports.west}" }`,
    'keys: { primary: { file: primary.key }, primaryReadOnly: { file: read.key } }',
  ].join('\n');
  return { ports, more };
}

async function laidOut(isRunning: boolean): Promise<Doors> {
  const { ports, more } = await doors();
  daemons = await Daemons.of({ more });
  writeFileSync(join(daemons.directory, 'primary.key'), keyOf(1));
  writeFileSync(join(daemons.directory, 'read.key'), keyOf(2));
  if (isRunning)
    await Promise.all((['west', 'east', 'north'] as const).map((region) => daemons!.start(region)));
  return ports;
}

async function open(name: string): Promise<GatewayDaemon> {
  const gateway = await GatewayDaemon.start(daemons!.config(), name, { logger: SILENT });
  gateways.push(gateway);
  return gateway;
}

interface Asked {
  readonly key?: string;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
}

async function ask(
  port: number,
  method: string,
  path: string,
  { key = keyOf(1), body, headers = {} }: Asked = {},
): Promise<{ readonly status: number; readonly json: Record<string, unknown> }> {
  const parts = path.split('/').filter((part) => part !== '');
  const isFeed = parts.length % 2 === 1;
  const type = (isFeed ? parts.at(-1) : parts.at(-2)) ?? '';
  const link = parts.slice(0, isFeed ? -1 : parts.length).join('/');
  const date = new Date().toUTCString();
  const text = `${method.toLowerCase()}\n${type}\n${link}\n${date.toLowerCase()}\n\n`;
  const sig = createHmac('sha256', Buffer.from(key, 'base64')).update(text).digest('base64');
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
    method,
    headers: {
      authorization: encodeURIComponent(`type=master&ver=1.0&sig=${sig}`),
      'x-ms-date': date,
      ...headers,
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(120_000),
  });
  const said = await answer.text();
  return { status: answer.status, json: said === '' ? {} : (JSON.parse(said) as Record<string, unknown>) };
}

describe('a gateway', () => {
  test('listens at once, says 503 until it has found acceptors and nodes, and then serves', async () => {
    const ports = await laidOut(false);
    const starting = open('gateway');
    const status = (path: string): Promise<Response> => fetch(`http://127.0.0.1:${ports.status}${path}`);
    await until('it answers 503', async () => (await ask(ports.global, 'GET', '/')).status === 503);
    expect((await status('/health')).status).toBe(200);
    expect((await status('/readiness')).status).toBe(503);
    for (const region of ['west', 'east', 'north'] as const) await daemons!.start(region);
    await starting;
    expect((await ask(ports.global, 'GET', '/')).status).toBe(200);
    expect(await (await status('/readiness')).json()).toEqual({ status: 'ok', reasons: [] });
    expect(await (await status('/openapi.json')).json()).toMatchObject({ openapi: '3.1.0' });
    const metrics = await (await status('/metrics')).text();
    expect(metrics).toContain('baton_gateway_requests_total{resource="account",method="GET",status="200"} 1');
    expect(metrics).toContain('baton_gateway_ready 1');
  });

  test('makes containers that can be written and read at once, at every door', async () => {
    const ports = await laidOut(true);
    await Promise.all([open('gateway'), open('west-gateway'), open('east-gateway')]);
    const account = (await ask(ports.east, 'GET', '/')).json;
    const [west, east] = [ports.west, ports.east].map((port) => `http://127.0.0.1:${port}/`);
    expect(account).toMatchObject({
      id: 'demo',
      writableLocations: [{ name: 'west', databaseAccountEndpoint: west }],
      readableLocations: [
        { name: 'west', databaseAccountEndpoint: west },
        { name: 'east', databaseAccountEndpoint: east },
      ],
    });
    expect((await ask(ports.global, 'POST', '/dbs', { body: { id: 'shop' } })).status).toBe(201);
    const container = { id: 'orders', partitionKey: { paths: ['/pk'], kind: 'Hash', version: 2 } };
    expect((await ask(ports.east, 'POST', '/dbs/shop/colls', { body: container })).status).toBe(201);
    const ranges = (await ask(ports.west, 'GET', '/dbs/shop/colls/orders/pkranges')).json;
    expect(ranges['_count']).toBe(4);
    const headers = { 'x-ms-documentdb-partitionkey': '["a"]' };
    const body = { id: 'one', pk: 'a', n: 7 };
    const written = await ask(ports.global, 'POST', '/dbs/shop/colls/orders/docs', { body, headers });
    expect([written.status, written.json]).toEqual([201, expect.objectContaining(body) as object]);
    for (const port of [ports.global, ports.west, ports.east]) {
      const read = await ask(port, 'GET', '/dbs/shop/colls/orders/docs/one', { headers });
      expect([read.status, read.json]).toEqual([200, written.json]);
    }
    expect((await ask(ports.west, 'DELETE', '/dbs/shop/colls/orders')).status).toBe(204);
    await until('it is gone at the other door too', async () => {
      const { status } = await ask(ports.east, 'GET', '/dbs/shop/colls/orders/docs/one', { headers });
      return status === 404;
    });
  });

  test('takes new keys with a reload, and not the old ones any more', async () => {
    const ports = await laidOut(true);
    const gateway = await open('gateway');
    expect((await ask(ports.global, 'GET', '/dbs')).status).toBe(200);
    expect((await ask(ports.global, 'POST', '/dbs', { key: keyOf(2), body: { id: 'x' } })).status).toBe(403);
    writeFileSync(join(daemons!.directory, 'primary.key'), keyOf(3));
    expect(gateway.reload(daemons!.config())).toEqual({ live: [], restart: [], refused: [] });
    expect((await ask(ports.global, 'GET', '/dbs')).status).toBe(401);
    expect((await ask(ports.global, 'GET', '/dbs', { key: keyOf(3) })).status).toBe(200);
    writeFileSync(join(daemons!.directory, 'primary.key'), 'no key');
    expect(() => gateway.reload(daemons!.config())).toThrow();
    expect((await ask(ports.global, 'GET', '/dbs', { key: keyOf(3) })).status).toBe(200);
  });

  test('does not start without keys, or under a name that the file does not have', async () => {
    await laidOut(false);
    await expect(open('none')).rejects.toMatchObject({ code: 'GATEWAY_UNKNOWN' });
    const config = { ...daemons!.config(), keys: {} };
    await expect(GatewayDaemon.start(config, 'gateway', { logger: SILENT })).rejects.toMatchObject({
      code: 'GATEWAY_KEYS_MISSING',
    });
  });

  test('a start that waits can be given up', async () => {
    await laidOut(false);
    const giveUp = new AbortController();
    const starting = GatewayDaemon.start(daemons!.config(), 'gateway', {
      logger: { ...SILENT, warn: () => giveUp.abort(new Error('enough')) },
      signal: giveUp.signal,
    });
    await expect(starting).rejects.toThrow('enough');
  });
});
