import { renameSync, rmSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { createServer, type Server, type Socket } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { errorOf } from '../../../test/caspaxos/clusters.ts';
import { TestService } from '../../../test/caspaxos/services.ts';
import { accept, promise, query, typesOf } from '../../../test/conformance/messages.ts';
import { failNextCommit } from '../../../test/support/failing-disk.ts';
import { until } from '../../../test/support/until.ts';
import { ServiceAcceptor } from './client.ts';
import { pack } from './codec.ts';
import { frame } from './frames.ts';

function clientAt(url: string, timeoutMs = 60_000): ServiceAcceptor {
  const client = new ServiceAcceptor(new URL(url), { timeoutMs });
  onTestFinished(() => client.close());
  return client;
}

async function portOf(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await until('the server listens', () => server.listening);
  onTestFinished(() => void server.close());
  return (server.address() as { port: number }).port;
}

/** A server that upgrades, and then says what it likes. */
async function pretender(say: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.once('data', () => {
      socket.write(
        'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: baton-acceptor/1\r\n\r\n',
      );
      say(socket);
    });
  });
  onTestFinished(() => sockets.forEach((socket) => socket.destroy()));
  return `http://127.0.0.1:${await portOf(server)}`;
}

const greeting = frame(pack([0, 1, { id: 'me', set: 0 }]));

describe('the client of an acceptor service', () => {
  test('uses it again when it is back at an address where another one was for a while', async () => {
    const service = await TestService.start();
    const client = clientAt(service.url);
    await client.handle([accept('k', 1, 'v')], 0);
    const away = `${service.directory}.away`;
    onTestFinished(() => rmSync(away, { recursive: true, force: true }));
    const exchange = async (code: string, change: () => void): Promise<void> => {
      await service.stop();
      change();
      await service.start();
      await until(`the client says ${code}`, async () =>
        expect(await errorOf(client.handle([query('k')], 0))).toMatchObject({ code }),
      );
    };
    await exchange('ACCEPTOR_EMPTY', () => renameSync(service.directory, away));
    await service.disk.handle([accept('other', 1, 'of another')], 0);
    await exchange('ACCEPTOR_FOREIGN', () => {});
    await service.stop();
    rmSync(service.directory, { recursive: true });
    renameSync(away, service.directory);
    await service.start();
    await until('the client uses it', async () =>
      expect(await client.handle([query('k')], 0)).toMatchObject([{ type: 'state', value: 'v' }]),
    );
  });

  test('is told when the disk fails to take a reservation or a configuration, as that and nothing else', async () => {
    const service = await TestService.start();
    const client = clientAt(service.url);
    const failed = { code: 'STORE_FAILED', message: expect.stringContaining('the disk says no') };
    failNextCommit('the disk says no');
    expect(await errorOf(client.reserve('c'))).toMatchObject(failed);
    const configuration = { cluster: 'c', number: 1, acceptors: [{ id: service.disk.id, url: service.url }] };
    failNextCommit('the disk says no');
    expect(await errorOf(client.install(configuration))).toMatchObject(failed);
    expect(service.disk.configuration).toBeUndefined();
    await client.reserve('c');
    await client.install(configuration);
    expect(service.disk.configuration).toEqual(configuration);
  });

  test('takes it from an acceptor of an earlier version that it knows no reservations, and nothing else', async () => {
    const refusing = (message: string): Promise<string> =>
      pretender((socket) => {
        socket.write(greeting);
        socket.on('data', () => socket.write(frame(pack([1, 1, null, 'PROTOCOL_MISMATCH', message]))));
      });
    await clientAt(await refusing('There is no call reserve.')).reserve('c');
    expect(await errorOf(clientAt(await refusing('The call reserve failed.')).reserve('c'))).toMatchObject({
      code: 'PROTOCOL_MISMATCH',
    });
  });

  test('has all its calls share one stream', async () => {
    const service = await TestService.start();
    const client = clientAt(service.url);
    await Promise.all(Array.from({ length: 20 }, (_, at) => client.handle([promise(`k${at}`, 1)], 0)));
    const text = await (await fetch(`${service.url}/metrics`)).text();
    expect(text).toMatch(/^baton_acceptor_streams 1$/m);
  });

  test('connects again after the service has come back', async () => {
    const service = await TestService.start();
    const client = clientAt(service.url);
    await client.handle([accept('k', 1, 'v')], 0);
    await service.stop();
    expect(await errorOf(client.handle([query('k')], 0))).toMatchObject({ code: 'UNREACHABLE' });
    await service.start();
    await until('the client is connected again', () =>
      client.handle([query('k')], 0).then(
        (replies) => typesOf(replies)[0] === 'state',
        () => false,
      ),
    );
  });

  test('says that nobody is there', async () => {
    expect(await errorOf(clientAt('http://127.0.0.1:1').describe())).toMatchObject({ code: 'UNREACHABLE' });
  });

  test('says that a host has no address', async () => {
    expect(await errorOf(clientAt('http://no-such-host.invalid:7400').describe())).toMatchObject({
      code: 'UNREACHABLE',
    });
  });

  test.each([
    [200, 'PROTOCOL_MISMATCH'],
    [404, 'PROTOCOL_MISMATCH'],
    [500, 'PROTOCOL_MISMATCH'],
    [401, 'UNAUTHORIZED'],
    [503, 'UNREACHABLE'],
  ])('takes a web server that answers %i for what it is: %s', async (status, code) => {
    const server = createHttpServer((_, response) => response.writeHead(status).end('hello'));
    const client = clientAt(`http://127.0.0.1:${await portOf(server)}`);
    expect(await errorOf(client.handle([promise('k', 1)], 0))).toMatchObject({ code });
  });

  test.each([
    ['says nothing', () => undefined],
    ['says garbage', (socket: Socket) => socket.write('garbage that is no frame at all')],
    ['greets with garbage', (socket: Socket) => socket.write(frame(Buffer.from([0xc1])))],
    ['greets as nobody', (socket: Socket) => socket.write(frame(pack([0, 0, null])))],
    ['hangs up', (socket: Socket) => socket.end()],
    ['greets and hangs up', (socket: Socket) => socket.end(greeting)],
    ['greets and says no more', (socket: Socket) => socket.write(greeting)],
    [
      'greets and says garbage',
      (socket: Socket) => socket.write(Buffer.concat([greeting, Buffer.alloc(100, 0x7f)])),
    ],
  ])('fails in time when the other side %s', async (_, say) => {
    const client = clientAt(await pretender((socket) => void say(socket)), 150);
    expect((await errorOf(client.handle([promise('k', 1)], 0))).code).toBeDefined();
    expect((await errorOf(client.describe())).code).toBeDefined();
  });

  test('fails every call that is under way when the stream breaks', async () => {
    const sockets: Socket[] = [];
    const url = await pretender((socket) => {
      socket.write(greeting);
      // What comes after the greeting are the calls.
      socket.on('data', () => sockets.push(socket));
    });
    const client = clientAt(url);
    const calls = Array.from({ length: 5 }, (_, at) => errorOf(client.handle([promise(`k${at}`, 1)], 0)));
    await until('the calls are under way', () => sockets.length > 0);
    for (const socket of sockets) socket.destroy();
    for (const error of await Promise.all(calls)) expect(error).toMatchObject({ code: 'UNREACHABLE' });
  });

  test('says that it was closed', async () => {
    const service = await TestService.start();
    const client = clientAt(service.url);
    await client.describe();
    await client.close();
    expect(await errorOf(client.describe())).toMatchObject({ code: 'CLOSED' });
    await client.close();
  });

  test('notices an answer that does not fit the question', async () => {
    const url = await pretender((socket) => {
      socket.write(greeting);
      socket.on('data', () => socket.write(frame(pack([1, 1, [1, 2, 3]]))));
    });
    const { message } = await errorOf(clientAt(url).handle([promise('k', 1)], 0));
    expect(message).toContain('malformed');
  });
});
