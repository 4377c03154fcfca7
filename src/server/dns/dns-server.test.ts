import { createSocket } from 'node:dgram';
import { Resolver } from 'node:dns/promises';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { decode, encode } from 'dns-packet';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type AccountRecord, encodeAccountRecord } from '../../client/index.ts';
import { SimHost } from '../../../test/failover/sim-host.ts';
import { DnsServer, type DnsServerOptions } from './dns-server.ts';

function account(name: string, nodes: number): AccountRecord {
  const addresses = Array.from({ length: nodes }, (_, index) => `127.0.0.1:${4000 + index}`);
  return { account: name, serial: 5, consistency: 'Session', regions: [{ region: 'west', addresses }] };
}

const RECORDS = new Map([
  ['demo', account('demo', 2)],
  ['big', account('big', 200)],
]);

async function listen(options: Partial<DnsServerOptions> = {}): Promise<DnsServer> {
  const server = await DnsServer.listen({
    host: '127.0.0.1',
    port: 0,
    zone: 'baton.local',
    records: () => RECORDS,
    ...options,
  });
  onTestFinished(() => server.close().catch(() => {}));
  return server;
}

function resolver({ address: { host, port } }: DnsServer): Resolver {
  const made = new Resolver({ timeout: 5000, tries: 3 });
  made.setServers([host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`]);
  return made;
}

function textQuery(name: string, id = 1): Buffer {
  return encode({ type: 'query', id, questions: [{ name, type: 'TXT' }] });
}

function framed(message: Buffer): Buffer {
  const length = Buffer.alloc(2);
  length.writeUInt16BE(message.length);
  return Buffer.concat([length, message]);
}

async function dialTo({ address }: DnsServer): Promise<Socket> {
  const socket = connect(address.port, address.host);
  onTestFinished(() => {
    socket.destroy();
  });
  socket.on('error', () => {});
  await once(socket, 'connect');
  return socket;
}

/** Also if it is a reset. */
function closeOf(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    socket.resume().once('close', () => resolve());
  });
}

/** So many answers from a TCP connection. */
async function answersFrom(socket: Socket, count: number): Promise<Buffer[]> {
  const answers: Buffer[] = [];
  let bytes = Buffer.alloc(0);
  for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
    bytes = Buffer.concat([bytes, chunk as Buffer]);
    while (bytes.length >= 2 && bytes.length >= 2 + bytes.readUInt16BE(0)) {
      answers.push(bytes.subarray(2, 2 + bytes.readUInt16BE(0)));
      bytes = bytes.subarray(2 + bytes.readUInt16BE(0));
    }
    if (answers.length >= count) break;
  }
  return answers;
}

describe("Node's resolver", () => {
  it('finds the record over UDP', async () => {
    const server = await listen();
    const [strings] = await resolver(server).resolveTxt('demo.baton.local');
    expect(strings!.join('')).toBe(encodeAccountRecord(RECORDS.get('demo')!));
    expect(server.counters).toMatchObject({ udp: 1, tcp: 0, answers: { NOERROR: 1 } });
  });

  it('goes on to TCP for a record that is too large', async () => {
    const server = await listen();
    const [strings] = await resolver(server).resolveTxt('big.baton.local');
    expect(strings!.join('')).toBe(encodeAccountRecord(RECORDS.get('big')!));
    expect(strings!.length).toBeGreaterThan(1);
    expect(server.counters).toMatchObject({ truncated: 1, tcp: 1 });
  });

  it('finds it over IPv6', async () => {
    const server = await listen({ host: '::1' });
    expect(await resolver(server).resolveTxt('demo.baton.local')).toHaveLength(1);
    expect(await resolver(server).resolve6('ns.baton.local')).toEqual(['::1']);
  });

  it('is told what there is not', async () => {
    const server = await listen();
    const asking = resolver(server);
    await expect(asking.resolveTxt('nobody.baton.local')).rejects.toMatchObject({ code: 'ENOTFOUND' });
    await expect(asking.resolve4('demo.baton.local')).rejects.toMatchObject({ code: 'ENODATA' });
    await expect(asking.resolveTxt('demo.example.com')).rejects.toMatchObject({ code: 'EREFUSED' });
    expect(await asking.resolveSoa('baton.local')).toMatchObject({ serial: 10, nsname: 'ns.baton.local' });
    expect(await asking.resolveNs('baton.local')).toEqual(['ns.baton.local']);
    expect(server.counters.answers).toMatchObject({ NXDOMAIN: 1 });
  });

  it('sees a new record at once', async () => {
    let records = RECORDS;
    const server = await listen({ records: () => records });
    await resolver(server).resolveTxt('demo.baton.local');
    records = new Map([['demo', account('demo', 3)]]);
    const [strings] = await resolver(server).resolveTxt('demo.baton.local');
    expect(strings!.join('')).toContain('127.0.0.1:4002');
  });
});

describe('a DNS server', () => {
  it('says so when its port is taken, for UDP as for TCP', async () => {
    const { port } = (await listen()).address;
    const failed = { code: 'LISTEN_FAILED', message: expect.stringContaining('the port is taken') as string };
    await expect(listen({ port })).rejects.toMatchObject(failed);
    const udp = createSocket('udp4');
    onTestFinished(() => {
      udp.close();
    });
    udp.bind(0, '127.0.0.1');
    await once(udp, 'listening');
    await expect(listen({ port: udp.address().port })).rejects.toMatchObject(failed);
    await expect(listen({ host: 'no.such.host.invalid' })).rejects.toMatchObject({ code: 'LISTEN_FAILED' });
  });

  it('outlives garbage over UDP and over TCP', async () => {
    const server = await listen();
    const udp = createSocket('udp4');
    onTestFinished(() => {
      udp.close();
    });
    const { port, host } = server.address;
    for (const bytes of fc.sample(fc.uint8Array({ maxLength: 2000 }), { numRuns: 200, seed: 5 })) {
      udp.send(bytes, port, host);
      const socket = await dialTo(server);
      socket.end(bytes);
      await closeOf(socket);
    }
    expect(await resolver(server).resolveTxt('demo.baton.local')).toHaveLength(1);
    expect(await resolver(server).resolveTxt('big.baton.local')).toHaveLength(1);
    expect(server.counters.connectionsEnded).toBeGreaterThan(20);
  });

  it('answers many questions of one connection, in pieces as they come', async () => {
    const server = await listen();
    const socket = await dialTo(server);
    const bytes = Buffer.concat([1, 2, 3].map((id) => framed(textQuery('big.baton.local', id))));
    socket.setNoDelay(true);
    for (let at = 0; at < bytes.length; at += 7) {
      socket.write(bytes.subarray(at, at + 7));
      await new Promise(setImmediate);
    }
    const answers = await answersFrom(socket, 3);
    expect(answers.map((answer) => decode(answer).id)).toEqual([1, 2, 3]);
  });

  it('ends connections that send no whole question in time', async () => {
    const clock = new SimHost();
    const server = await listen({ clock, limits: { idleMs: 1000 } });
    const socket = await dialTo(server);
    socket.write(framed(textQuery('demo.baton.local')));
    await answersFrom(socket, 1);
    clock.run(900);
    socket.write(framed(textQuery('demo.baton.local')));
    await answersFrom(socket, 1);
    clock.run(1800);
    expect(server.counters.connections).toBe(1);
    const before = server.counters.tcp;
    socket.write(framed(textQuery('demo.baton.local')).subarray(0, 9));
    await new Promise(setImmediate);
    clock.run(1900);
    await closeOf(socket);
    expect(server.counters).toMatchObject({ connections: 0, connectionsEnded: 1, tcp: before });
  });

  it('lets the connection that was silent for longest make room for a new one', async () => {
    const server = await listen({ limits: { maxConnections: 2 } });
    const first = await dialTo(server);
    const second = await dialTo(server);
    for (const socket of [second, first]) {
      socket.write(framed(textQuery('demo.baton.local')));
      await answersFrom(socket, 1);
    }
    const ended = closeOf(second);
    const third = await dialTo(server);
    await ended;
    for (const socket of [first, third]) {
      socket.write(framed(textQuery('demo.baton.local')));
      expect(await answersFrom(socket, 1)).toHaveLength(1);
    }
    expect(server.counters).toMatchObject({ connections: 2, connectionsEnded: 1 });
  });

  it('closes with its connections', async () => {
    const server = await listen();
    const socket = await dialTo(server);
    const ended = closeOf(socket);
    await server.close();
    await ended;
  });
});
