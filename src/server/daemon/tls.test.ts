/** Mutual TLS from the file: nodes, clients and operators with certificates of one authority, and whoever has none. */
import { readFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Daemons, REGIONS, START_MS } from '../../../test/server/daemons.ts';
import { until } from '../../../test/support/until.ts';
import { NODE_HOST } from '../../caspaxos/index.ts';
import { decodeMap, METHODS, packed } from '../../client/index.ts';
import { type Connection, dial, type RpcTls } from '../../transport/index.ts';
import { initAuthority, issueInto } from '../certs/index.ts';

const VIEWER = 'viewer-token-0123456789';
const MORE = `tls: { ca: certs/ca.pem, cert: "certs/{name}.pem", key: "certs/{name}.key" }
tokens: { viewer: ${VIEWER} }`;

let there: Daemons;
let certs: string;

beforeAll(async () => {
  there = await Daemons.of({ more: MORE });
  certs = join(there.directory, 'certs');
  await initAuthority(certs);
  for (const name of [...REGIONS.map((region) => `${region}-1`), 'app'])
    await issueInto(certs, { name, hosts: ['127.0.0.1'] });
  for (const region of REGIONS) await there.start(region);
  await until('the west is ready', async () => (await ask('/readiness', tlsOf('app'))) === 200);
}, START_MS);
afterAll(() => there.end());

function tlsOf(name: string): RpcTls {
  const read = (file: string): string => readFileSync(join(certs, file), 'utf8');
  return { ca: read('ca.pem'), cert: read(`${name}.pem`), key: read(`${name}.key`) };
}

function ask(path: string, { ca, cert, key }: RpcTls, token?: string, method = 'GET'): Promise<number> {
  return new Promise((resolve, reject) => {
    const options = {
      method,
      headers: {
        'content-type': 'application/json',
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
      },
      host: '127.0.0.1',
      port: there.ports.http['west'],
      path,
      ca,
      cert,
      key,
      agent: false as const,
    };
    request(options, (response) => {
      response.resume();
      resolve(response.statusCode!);
    })
      .on('error', reject)
      .end();
  });
}

function serialShownAt(port: number): Promise<string> {
  const { ca, cert, key } = tlsOf('app');
  return new Promise((resolve, reject) => {
    const socket = connectTls({ host: '127.0.0.1', port, ca, cert, key }, () => {
      resolve(socket.getPeerCertificate().serialNumber);
      socket.destroy();
    });
    socket.on('error', reject);
  });
}

function connect(tls: RpcTls | undefined, role: 'client' | 'node' = 'client'): Promise<Connection> {
  const self = { role, cluster: 'demo', node: 'east-1', region: 'east', incarnation: 1 };
  return dial({ host: NODE_HOST, address: { host: '127.0.0.1', port: there.ports.rpc['west']! }, self, tls });
}

describe('mutual TLS', () => {
  test('nodes find each other, and a client with a certificate is served', async () => {
    await until('the west writes', async () => (await ask('/primary', tlsOf('app'))) === 200);
    const connection = await connect(tlsOf('app'));
    const map = decodeMap(await connection.call(METHODS.map, packed([]), { timeoutMs: 60_000 }));
    expect(map.cluster).toBe('demo');
  });

  test('whoever shows no certificate, or one of somebody else, gets nothing', async () => {
    const { ca } = tlsOf('app');
    await expect(connect({ ca })).rejects.toThrow();
    await expect(connect(undefined)).rejects.toThrow();
    const other = join(there.directory, 'other');
    await initAuthority(other);
    const files = await issueInto(other, { name: 'app', hosts: [] });
    const [cert, key] = [readFileSync(files.cert, 'utf8'), readFileSync(files.key, 'utf8')];
    await expect(connect({ ca, cert, key })).rejects.toThrow();
    expect(await ask('/v1/node', { ca, cert, key })).toBe(401);
  });

  test("a client's certificate does not make a node of it", async () => {
    await expect(connect(tlsOf('app'), 'node')).rejects.toMatchObject({ code: 'NOT_AUTHORIZED' });
  });

  test('operators need a certificate, health and metrics none', async () => {
    const { ca } = tlsOf('app');
    expect(await ask('/v1/node', { ca })).toBe(401);
    expect(await ask('/health', { ca })).toBe(200);
    expect(await ask('/v1/node', tlsOf('app'))).toBe(200);
  });

  test('a token for viewers opens what only looks, without a certificate', async () => {
    const { ca } = tlsOf('app');
    const intents = '/v1/partition-sets/items-00/intents';
    expect(await ask('/v1/node', { ca }, VIEWER)).toBe(200);
    expect(await ask(intents, { ca }, VIEWER, 'POST')).toBe(403);
    expect(await ask('/v1/node', { ca }, 'another-token-0123456789')).toBe(401);
    expect(await ask(intents, tlsOf('app'), undefined, 'POST')).toBe(400);
  });

  test('certificates are read again by a reload: the next caller sees them, who is connected stays', async () => {
    const before = await connect(tlsOf('app'));
    const [rpc, http] = [there.ports.rpc['west']!, there.ports.http['west']!];
    const old = await serialShownAt(rpc);
    await issueInto(certs, { name: 'west-1', hosts: ['127.0.0.1'], force: true });
    expect(await serialShownAt(rpc)).toBe(old);
    expect(there.daemon('west').reload(there.config())).toEqual({ live: [], restart: [], refused: [] });
    const now = await serialShownAt(rpc);
    expect(now).not.toBe(old);
    expect(await serialShownAt(http)).toBe(now);
    expect(before.isOpen).toBe(true);
    await before.call(METHODS.map, packed([]), { timeoutMs: 60_000 });
  });

  test('a certificate without its key is not taken, and the old one stays', async () => {
    const rpc = there.ports.rpc['west']!;
    const old = await serialShownAt(rpc);
    const [file, key] = [join(certs, 'west-1.key'), readFileSync(join(certs, 'west-1.key'))];
    writeFileSync(file, readFileSync(join(certs, 'app.key')));
    expect(() => there.daemon('west').reload(there.config())).toThrow();
    writeFileSync(file, key);
    expect(await serialShownAt(rpc)).toBe(old);
  });
});
