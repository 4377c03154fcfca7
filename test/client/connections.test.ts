/** The client's connections: how many there are, how they come back, and how it follows an account that moves. */
import { connect as connectSocket, createServer, type Server, type Socket } from 'node:net';
import { BatonClient, BatonError, type ConnectOptions } from 'baton/client';
import { issueCertificate, makeAuthority } from 'baton/server';
import { expect, onTestFinished, test } from 'vitest';
import { until } from '../support/until.ts';
import { done, FakeAccount, found } from './fake-node.ts';

async function connect(options: ConnectOptions): Promise<BatonClient> {
  const client = await BatonClient.connect(options);
  onTestFinished(() => client.close());
  return client;
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}

async function listening(server: Server): Promise<string> {
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  onTestFinished(() => {
    server.close();
  });
  return `127.0.0.1:${(server.address() as { port: number }).port}`;
}

/** Stands before a node. While it is mute, nothing passes and nothing is closed: as with a network that drops everything. */
class Proxy {
  isMute = false;
  taken = 0;
  /** Connections that the client has given up. */
  left = 0;
  address = '';
  readonly #sockets = new Set<Socket>();

  static async before(target: string): Promise<Proxy> {
    const proxy = new Proxy();
    const [host, port] = target.split(':');
    const server = createServer((near) => {
      proxy.taken += 1;
      const far = connectSocket(Number(port), host);
      near.on('close', () => {
        proxy.left += 1;
      });
      proxy.#join(near, far);
      proxy.#join(far, near);
    });
    proxy.address = await listening(server);
    onTestFinished(() => {
      for (const socket of proxy.#sockets) socket.destroy();
    });
    return proxy;
  }

  #join(from: Socket, to: Socket): void {
    this.#sockets.add(from);
    from.on('data', (bytes) => {
      if (!this.isMute) to.write(bytes);
    });
    from.on('error', () => {});
    from.on('close', () => {
      this.#sockets.delete(from);
      to.destroy();
    });
  }
}

test('one connection to a node, however much is under way', async () => {
  const account = await FakeAccount.start();
  const client = await connect({ account: 'shop', endpoints: account.endpoints });
  for (const node of account.nodes.values()) node.script.write = () => done();
  const items = client.container('items');
  await Promise.all(Array.from({ length: 200 }, (_, n) => items.upsert({ id: `d-${n}` })));
  for (const node of account.nodes.values()) expect(node.connections.length).toBeLessThanOrEqual(1);
});

test('a connection that was lost is made anew by who needs it', async () => {
  const account = await FakeAccount.start({ regions: ['west'] });
  const client = await connect({ account: 'shop', endpoints: account.endpoints });
  const west = account.node('west');
  west.script.read = ({ id }) => found(id);
  const items = client.container('items');
  await items.read('a');
  west.connections[0]!.destroy();
  await items.read('a');
  expect(west.connections).toHaveLength(2);
});

test('a node that hangs up on everybody is not stormed', async () => {
  let dials = 0;
  const address = await listening(
    createServer((socket) => {
      dials += 1;
      socket.destroy();
    }),
  );
  /** How many attempts the client made while it dialled once; undefined if it had time for one dial only. */
  const attemptsADial = async (): Promise<number | undefined> => {
    dials = 0;
    const error: unknown = await BatonClient.connect({
      account: 'shop',
      endpoints: [address],
      timeoutMs: 1000,
      pacing: { firstBackoffMs: 1, mostBackoffMs: 2 },
    }).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(BatonError);
    const { attempts } = (error as BatonError).diagnostics!;
    return dials > 1 ? attempts.length / dials : undefined;
  };
  // On a busy machine the pause between two dials may be over before there was time for an attempt.
  await until('most attempts do without a dial', async () => ((await attemptsADial()) ?? 0) > 2);
});

test('a region that falls silent is left, noticed, and used again when it is back', async () => {
  const account = await FakeAccount.start({ regions: ['west', 'east'] });
  for (const node of account.nodes.values()) node.script.read = ({ id }) => found(id);
  const proxy = await Proxy.before(account.node('west').address);
  const endpoints = [
    { region: 'west', addresses: [proxy.address] },
    { region: 'east', addresses: [account.node('east').address] },
  ];
  const client = await connect({ account: 'shop', endpoints });
  const items = client.container('items');
  const regionOfRead = async (): Promise<string> => (await items.read('a')).diagnostics.region!;
  expect(await regionOfRead()).toBe('west');
  expect(proxy.taken).toBe(1);
  proxy.isMute = true;
  account.node('east').script.read = async ({ id }) => {
    await pause(30);
    return found(id);
  };
  while ((await regionOfRead()) === 'west');
  expect(await regionOfRead()).toBe('east');
  // Nobody answers its pings.
  await until('the connection is given up, not just avoided', () => proxy.left > 0);
  proxy.isMute = false;
  await until('the region is used again', async () => (await regionOfRead()) === 'west');
  expect(proxy.taken).toBeGreaterThan(1);
});

test('an account that has moved is found again', async () => {
  const [old, moved] = [await FakeAccount.start(), await FakeAccount.start()];
  let serial = 1;
  const lookup = {
    ask: async () => {
      const account = serial === 1 ? old : moved;
      const regions = [...account.nodes.values()].map(({ region, address }) => `region=${region} ${address}`);
      const text = `v=baton1; account=shop; serial=${serial}; ${regions.join('; ')}`;
      return { kind: 'found' as const, txt: [[text]] };
    },
    cancel: () => {},
  };
  const client = await connect({ account: 'shop.baton.local', lookup, cacheDirectory: false });
  for (const node of moved.nodes.values()) node.script.write = () => done();
  for (const node of old.nodes.values()) await node.stop();
  serial = 2;
  const items = client.container('items');
  const { diagnostics } = await until('it is found', () => items.upsert({ id: 'a' }, { timeoutMs: 1000 }));
  expect(moved.node(diagnostics.region!).count('write')).toBeGreaterThan(0);
});

test('with certificates on both sides; without, nobody answers', async () => {
  const authority = await makeAuthority();
  const pair = await issueCertificate(authority, { name: 'west-1', hosts: ['127.0.0.1'] });
  const tls = { ca: authority.cert, cert: pair.cert, key: pair.key };
  const account = await FakeAccount.start({ regions: ['west'], tls });
  account.node('west').script.read = ({ id }) => found(id);
  const options = { account: 'shop', endpoints: account.endpoints, timeoutMs: 500 };
  const client = await connect({ ...options, tls, timeoutMs: 10_000 });
  expect((await client.container('items').read('a')).status).toBe(200);
  for (const wrong of [undefined, { ca: authority.cert }, { cert: pair.cert, key: pair.key }]) {
    const error: unknown = await BatonClient.connect({ ...options, tls: wrong }).catch(
      (reason: unknown) => reason,
    );
    expect(error).toBeInstanceOf(BatonError);
    expect((error as BatonError).outcome).toBe('not applied');
  }
});
