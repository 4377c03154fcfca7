/** A gateway over https: its clients show signatures, not certificates. */
import { createHmac, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { until } from '../../../test/support/until.ts';
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
  /** Of the connection: the same as before, if it was kept. */
  readonly port: number | undefined;
}

function ask(server: GatewayServer, agent?: Agent): Promise<Seen> {
  const date = new Date().toUTCString();
  const sig = createHmac('sha256', KEY).update(`get\n\n\n${date.toLowerCase()}\n\n`).digest('base64');
  const headers = { authorization: encodeURIComponent(`type=master&ver=1.0&sig=${sig}`), 'x-ms-date': date };
  const { ca } = tlsOf('old');
  return new Promise((resolve, reject) => {
    const asking = request(
      { host: '127.0.0.1', port: server.address.port, path: '/', ca, headers, agent: agent ?? false },
      (answer) => {
        const { subject } = (answer.socket as TLSSocket).getPeerCertificate();
        const seen = { status: answer.statusCode, by: String(subject.CN), port: answer.socket.localPort };
        answer.resume().once('end', () => resolve(seen));
      },
    );
    asking.on('error', reject).end();
  });
}

test('it speaks https, asks for no certificate, and shows a new one when it is given one', async () => {
  const server = await GatewayServer.listen(options({ tls: tlsOf('old') }));
  expect(await ask(server)).toMatchObject({ status: 200, by: 'old' });
  server.tls = tlsOf('new');
  expect(await ask(server)).toMatchObject({ status: 200, by: 'new' });
  await server.close(0);
});

test('strangers who begin no TLS session crowd out each other, and nobody who has signed a request', async () => {
  let crowdedOut = 0;
  const server = await GatewayServer.listen(
    options({ tls: tlsOf('old'), limits: { strangers: 4 }, onCrowdedOut: () => (crowdedOut += 1) }),
  );
  const sockets: Socket[] = [];
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    await server.close(0);
  });
  const crowd = async (): Promise<void> => {
    for (let number = 0; number < 10; number += 1) {
      const socket = connect(server.address.port, '127.0.0.1');
      socket.on('error', () => {});
      sockets.push(socket);
      await once(socket, 'connect');
    }
  };
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  onTestFinished(() => agent.destroy());
  await crowd();
  const first = await ask(server, agent);
  await crowd();
  await until('sixteen had to go', () => crowdedOut === 16);
  expect(await ask(server, agent)).toEqual(first);
  expect(first.status).toBe(200);
});

test('beyond loopback it does not listen without', async () => {
  const address = { host: '0.0.0.0', port: 0 };
  await expect(GatewayServer.listen(options({ address }))).rejects.toMatchObject({
    code: 'HTTP_LISTEN_REFUSED',
  });
});
