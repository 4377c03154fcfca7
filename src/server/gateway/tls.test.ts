/** A gateway over https: its clients show signatures, not certificates. */
import { createHmac, randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { NODE_HOST } from '../../caspaxos/index.ts';
import type { RpcTls } from '../../transport/index.ts';
import { initAuthority, issueInto } from '../certs/index.ts';
import { Secret } from '../config/index.ts';
import { GatewayServer, type GatewayServerOptions } from './gateway-server.ts';
import { AccountKeys } from './keys.ts';

const KEY = randomBytes(64);
const certs = mkdtempSync(join(tmpdir(), 'baton-gateway-tls-'));

beforeAll(async () => {
  await initAuthority(certs);
  for (const name of ['old', 'new']) await issueInto(certs, { name, hosts: ['127.0.0.1'] });
});
afterAll(() => rmSync(certs, { recursive: true }));

function tlsOf(name: string): RpcTls {
  const read = (file: string): string => readFileSync(join(certs, file), 'utf8');
  return { ca: read('ca.pem'), cert: read(`${name}.pem`), key: read(`${name}.key`) };
}

function options(more: Partial<GatewayServerOptions>): GatewayServerOptions {
  return {
    address: { host: '127.0.0.1', port: 0 },
    keys: () => new AccountKeys({ primary: new Secret(KEY.toString('base64')) }),
    handle: () => Promise.resolve({ status: 200 }),
    host: NODE_HOST,
    ...more,
  };
}

interface Seen {
  readonly status: number | undefined;
  readonly by: string;
}

function ask(server: GatewayServer): Promise<Seen> {
  const date = new Date().toUTCString();
  const sig = createHmac('sha256', KEY).update(`get\n\n\n${date.toLowerCase()}\n\n`).digest('base64');
  const headers = { authorization: encodeURIComponent(`type=master&ver=1.0&sig=${sig}`), 'x-ms-date': date };
  const { ca } = tlsOf('old');
  return new Promise((resolve, reject) => {
    const asking = request(
      { host: '127.0.0.1', port: server.address.port, path: '/', ca, headers, agent: false },
      (answer) => {
        const { subject } = (answer.socket as TLSSocket).getPeerCertificate();
        answer.resume();
        resolve({ status: answer.statusCode, by: String(subject.CN) });
      },
    );
    asking.on('error', reject).end();
  });
}

test('it speaks https, asks for no certificate, and shows a new one when it is given one', async () => {
  const server = await GatewayServer.listen(options({ tls: tlsOf('old') }));
  expect(await ask(server)).toEqual({ status: 200, by: 'old' });
  server.tls = tlsOf('new');
  expect(await ask(server)).toEqual({ status: 200, by: 'new' });
  await server.close(0);
});

test('beyond loopback it does not listen without', async () => {
  const address = { host: '0.0.0.0', port: 0 };
  await expect(GatewayServer.listen(options({ address }))).rejects.toMatchObject({
    code: 'HTTP_LISTEN_REFUSED',
  });
});
