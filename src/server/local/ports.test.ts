import { once } from 'node:events';
import { type AddressInfo, createServer, Server } from 'node:net';
import { expect, onTestFinished, test, vi } from 'vitest';
import { demandFreePorts } from './ports.ts';

test('a port that another process has is refused with both ways out', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await expect(
    demandFreePorts([{ who: 'node a', address: { host: '127.0.0.1', port } }]),
  ).rejects.toMatchObject({
    code: 'PORT_TAKEN',
    message: `Port ${port} on 127.0.0.1, needed for node a, is in use by another process; stop that process, or choose other ports for the whole cluster, for example with \`baton up --port-base 5100\`.`,
  });
});

test('a port that nobody has, and that cannot be had, is not blamed on another process', async () => {
  // An address for documentation (RFC 5737): no machine has it.
  const address = { host: '192.0.2.1', port: 4101 };
  await expect(demandFreePorts([{ who: 'node a', address }])).rejects.toMatchObject({
    code: 'PORT_TAKEN',
    message: `Port 4101 on 192.0.2.1, needed for node a, cannot be used (EADDRNOTAVAIL); choose other ports for the whole cluster, for example with \`baton up --port-base 5100\`.`,
  });
});

test('a port that only an administrator may have is refused with that reason', async () => {
  const listen = vi.spyOn(Server.prototype, 'listen').mockImplementation(function (this: Server) {
    const error = Object.assign(new Error('listen EACCES'), { code: 'EACCES' });
    setImmediate(() => this.emit('error', error));
    return this;
  });
  onTestFinished(() => listen.mockRestore());
  const address = { host: '127.0.0.1', port: 80 };
  await expect(demandFreePorts([{ who: 'gateway west', address }])).rejects.toMatchObject({
    code: 'PORT_TAKEN',
    message:
      'Port 80 on 127.0.0.1, needed for gateway west, cannot be used: permission denied; choose other ports for the whole cluster, for example with `baton up --port-base 5100`.',
  });
});
