/** Rule 11: a store that sends without end costs its own calls, and not the memory of the process. */
import { readFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { createServer as createSecureServer, TLSSocket } from 'node:tls';
import {
  AzureBlobStore,
  CosmosStore,
  DynamoDbStore,
  EtcdStore,
  PostgresStore,
  RedisStore,
} from 'baton/caspaxos';
import { initAuthority, issueInto } from 'baton/server';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { AcceptorStore } from '../../src/caspaxos/stores/store.ts';
import { MOST_RECEIVED_BYTES } from '../../src/caspaxos/stores/store-calls.ts';
import { errorOf } from '../caspaxos/clusters.ts';
import { newDirectory } from '../caspaxos/directories.ts';
import { until } from '../support/until.ts';

/** Far more than it takes: what ends a call here is not its time limit. */
const TIMEOUT_MS = 120_000;
const PIECE = Buffer.alloc(256 * 1024, ' ');
/** What both ends of a connection may hold besides: the system's buffers, too. */
const UNDER_WAY_BYTES = 32 * 1024 * 1024;
const HEAD = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\netag: "1"\r\n';
const WITHOUT_END = `${HEAD}transfer-encoding: chunked\r\n\r\nffffffffff\r\n`;
const GIGABYTES = `${HEAD}content-length: 8589934592\r\n\r\n`;

const certificates = newDirectory();
beforeAll(async () => {
  await initAuthority(certificates);
  await issueInto(certificates, { name: 'store', hosts: ['127.0.0.1'] });
});

interface Flood {
  readonly port: number;
  /** What was sent and taken, by all connections. */
  readonly sent: () => number;
  /** How much both ends of all of them may hold besides what was received. */
  readonly underWay: () => number;
  /** All that were made have ended. */
  readonly isOver: () => boolean;
}

type Way = 'plain' | 'tls';

/** PostgreSQL's client asks for TLS first, and is told yes. */
function beginTls(socket: Socket): TLSSocket {
  return new TLSSocket(socket, { isServer: true, ...keys() });
}

function keys(): { readonly cert: Buffer; readonly key: Buffer } {
  return {
    cert: readFileSync(join(certificates, 'store.pem')),
    key: readFileSync(join(certificates, 'store.key')),
  };
}

/** Whoever says anything is answered with `opening`, and then with as much as it takes. */
async function flood(opening: string | Buffer, way: Way, isPostgres: boolean): Promise<Flood> {
  const sockets: Socket[] = [];
  const answer = (socket: Socket): void => {
    sockets.push(socket);
    socket.on('error', () => {});
    const pour = (): void => {
      while (!socket.destroyed && socket.write(PIECE));
    };
    socket.once('data', () => {
      socket.on('drain', pour);
      socket.write(opening);
      pour();
    });
  };
  const upgrade = (socket: Socket): void => {
    socket.on('error', () => {});
    socket.once('data', () => {
      socket.write('S');
      answer(beginTls(socket));
    });
  };
  let server: Server;
  if (way === 'plain') server = createServer(answer);
  else server = isPostgres ? createServer(upgrade) : createSecureServer(keys(), answer);
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return {
    port: (server.address() as AddressInfo).port,
    sent: () => sockets.reduce((sum, { bytesWritten }) => sum + bytesWritten, 0),
    underWay: () => sockets.length * UNDER_WAY_BYTES,
    isOver: () => sockets.every(({ destroyed }) => destroyed),
  };
}

const packet = (kind: string): Buffer =>
  Buffer.concat([Buffer.from(kind), Buffer.from([0x7f, 0xff, 0xff, 0xff])]);

interface Kind {
  readonly name: string;
  readonly openings: readonly (string | Buffer)[];
  readonly open: (place: string, tls: string) => AcceptorStore;
  readonly ask?: (store: AcceptorStore) => Promise<unknown>;
}

const read = (store: AcceptorStore): Promise<unknown> => store.read(['k']);
const list = (store: AcceptorStore): Promise<unknown> => store.list('', 10);

const options = { timeoutMs: TIMEOUT_MS };
const HTTP = [WITHOUT_END, GIGABYTES];
const KINDS: readonly Kind[] = [
  {
    name: 'etcd',
    openings: HTTP,
    open: (place, tls) => new EtcdStore(`etcd://${place}${tls}`, options),
  },
  {
    name: 'azure-blob',
    // Its client reads no blob of unknown length.
    openings: [GIGABYTES],
    open: (place, tls) => new AzureBlobStore(`azure-blob://:aw==@${place}/a/c${tls}`, options),
  },
  {
    name: 'azure-blob',
    openings: HTTP,
    open: (place, tls) => new AzureBlobStore(`azure-blob://:aw==@${place}/a/c${tls}`, options),
    ask: list,
  },
  {
    name: 'cosmos',
    openings: HTTP,
    open: (place, tls) => new CosmosStore(`cosmos://:aw==@${place}/d/c${tls}`, options),
  },
  {
    name: 'dynamodb',
    openings: HTTP,
    open: (place) => new DynamoDbStore(`dynamodb://k:s@local/t?endpoint=http://${place}`, options),
  },
  {
    name: 'postgres',
    openings: [packet('S'), packet('R'), packet('E')],
    open: (place, tls) => new PostgresStore(`postgres://u:p@${place}/d${tls}`, options),
  },
  {
    name: 'redis',
    openings: ['$8589934592\r\n', '*4294967295\r\n$4294967295\r\n', '+'],
    open: (place, tls) => new RedisStore(`redis://${place}/0${tls}`, options),
  },
];

const CASES = KINDS.flatMap(({ name, openings, open, ask }) =>
  openings.flatMap((opening) =>
    (name === 'dynamodb' ? (['plain'] as const) : (['plain', 'tls'] as const)).map((way) => ({
      name,
      opening,
      open,
      way,
      ask,
    })),
  ),
);

type Case = Omit<(typeof CASES)[number], 'ask'>;

async function begin({ name, opening, open, way }: Case): Promise<[AcceptorStore, Flood]> {
  const stream = await flood(opening, way, name === 'postgres');
  const ca = encodeURIComponent(join(certificates, 'ca.pem'));
  const store = open(`127.0.0.1:${stream.port}`, way === 'tls' ? `?tls=on&ca=${ca}` : '');
  onTestFinished(() => store.close());
  return [store, stream];
}

describe.each(CASES)('$name, $way, answers with $opening', ({ ask = read, ...one }) => {
  test('ends the call, and the connection, after a bounded number of bytes', async () => {
    const [store, stream] = await begin(one);
    expect(await errorOf(ask(store))).toMatchObject({
      code: 'STORE_FAILED',
      message: `Acceptor ${store.url} sent more than 64 MiB during one call: look at what answers at its address.`,
    });
    await until('nothing is sent any more', () => stream.isOver());
    expect(stream.sent()).toBeLessThan(MOST_RECEIVED_BYTES + stream.underWay());
  });
});

test('many calls at a time, and a list, share the bound', async () => {
  const one = CASES.find(
    ({ name, ask, way }) => name === 'azure-blob' && ask === undefined && way === 'plain',
  )!;
  const [store, stream] = await begin(one);
  const many = Array.from({ length: 100 }, (_, at) => `k${at}`);
  const errors = await Promise.all([store.read(many), store.list('', 10)].map(errorOf));
  expect(errors).toMatchObject([{ code: 'STORE_FAILED' }, { code: 'STORE_FAILED' }]);
  await until('nothing is sent any more', () => stream.isOver());
  expect(stream.sent()).toBeLessThan(MOST_RECEIVED_BYTES + stream.underWay());
});

test('an answer that is refused unread does not keep its connection', async () => {
  const azure = CASES.find(({ name, way }) => name === 'azure-blob' && way === 'plain')!;
  const [store, stream] = await begin({ ...azure, opening: WITHOUT_END });
  const error = await errorOf(store.read(['k']));
  expect(error).toMatchObject({ code: 'STORE_FAILED', message: expect.stringContaining('content length') });
  await until('nothing is sent any more', () => stream.isOver());
});

test('a store that answers as it should again is used again', async () => {
  let isBroken = true;
  const server = createHttpServer((_, response) => {
    if (!isBroken) {
      response.end(JSON.stringify({ responses: [{ response_range: {} }] }));
      return;
    }
    const pour = (): void => {
      while (!response.destroyed && response.write(PIECE));
    };
    response.on('drain', pour);
    pour();
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const store = new EtcdStore(`etcd://127.0.0.1:${port}`, options);
  onTestFinished(() => store.close());
  expect(await errorOf(store.read(['k']))).toMatchObject({ code: 'STORE_FAILED' });
  isBroken = false;
  expect(await store.read(['k'])).toEqual([undefined]);
});
