import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as textOf } from 'node:stream/consumers';
import { inspect } from 'node:util';
import { CreateTableCommand, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDbStore, openAcceptor, StoreAcceptor } from 'baton/caspaxos';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { errorOf } from '../caspaxos/clusters.ts';
import { acceptorConformance } from '../conformance/acceptor.ts';
import { accept, promise, typesOf } from '../conformance/messages.ts';
import { newPlace, storeConformance, type StoreUnderTest } from '../conformance/store.ts';
import { storeAcceptorConformance } from '../conformance/store-acceptor.ts';
import { findProgram, needProgram } from '../support/programs.ts';
import { badDays } from './bad-days.ts';
import { restarts } from './restarts.ts';
import { startDynalite } from './servers/dynalite.ts';
import type { ServerProcess } from './servers/server.ts';

const TIMEOUT_MS = 30_000;
const LARGEST_TEXT = 396 * 1024;
let server: ServerProcess;

beforeAll(async () => {
  if (findProgram('dynalite').path !== undefined) server = await startDynalite();
});
afterAll(() => server?.close());
beforeEach((context) => void needProgram(context, 'dynalite'));

const stores: StoreUnderTest = {
  largestText: LARGEST_TEXT,
  largeBatch: 400,
  open: async (place) => {
    const store = new DynamoDbStore(server.urlOf(place), { timeoutMs: TIMEOUT_MS });
    await store.prepare();
    return store;
  },
  empty: () => server.empty(),
  snapshot: () => server.snapshot(),
};

storeConformance('dynamodb', stores);
storeAcceptorConformance('dynamodb', stores);
acceptorConformance('dynamodb', {
  largestText: LARGEST_TEXT,
  largeBatch: 400,
  open: async (place) => {
    const acceptor = openAcceptor(server.urlOf(place), { timeoutMs: TIMEOUT_MS });
    await acceptor.describe();
    return acceptor;
  },
});
badDays('dynamodb', () => server, { kills: 3 });
restarts('dynamodb', () => server);

function openAt(url: string, timeoutMs = TIMEOUT_MS): DynamoDbStore {
  const store = new DynamoDbStore(url, { timeoutMs });
  onTestFinished(() => store.close());
  return store;
}

function urlOf(table: string): string {
  return server.urlOf(newPlace('dynamodb')).replace('/baton?', `/${table}?`);
}

describe('the table', () => {
  test('that is not there is an error, not an empty answer; it is made on demand, and once', async () => {
    const store = openAt(urlOf('absent'));
    for (const call of [() => store.read(['k']), () => store.list('', 1), () => store.holdsAny('r')])
      expect(await errorOf(call())).toMatchObject({
        code: 'STORE_FAILED',
        message: expect.stringContaining('no table absent'),
      });
    await Promise.all([store.prepare(), openAt(urlOf('absent')).prepare()]);
    await store.prepare();
    expect(await store.read(['k'])).toEqual([undefined]);
  });

  test('with other keys is refused', async () => {
    const endpoint = new URL(server.urlOf('x')).searchParams.get('endpoint')!;
    const credentials = { accessKeyId: 'a', secretAccessKey: 'b' };
    const client = new DynamoDBClient({ region: 'eu-central-1', endpoint, credentials });
    onTestFinished(() => client.destroy());
    await client.send(
      new CreateTableCommand({
        TableName: 'another',
        BillingMode: 'PAY_PER_REQUEST',
        KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }],
        AttributeDefinitions: [{ AttributeName: 'id', AttributeType: 'S' }],
      }),
    );
    for (const call of ['prepare', 'holdsAny'] as const)
      expect(await errorOf(openAt(urlOf('another'))[call]('r'))).toMatchObject({
        code: 'STORE_FAILED',
        message: expect.stringContaining('partition key'),
      });
  });
});

test('a phase costs one conditional write and no read when nobody interfered', async () => {
  const store = openAt(server.urlOf(newPlace('dynamodb')));
  const acceptor = new StoreAcceptor(store);
  await acceptor.describe();
  const keys = Array.from({ length: 150 }, (_, at) => `k${at}`);
  await acceptor.handle(
    keys.map((key) => promise(key, 1)),
    0,
  );
  const before = store.requests;
  const replies = await acceptor.handle(
    keys.map((key) => accept(key, 1, 'v')),
    0,
  );
  expect(new Set(typesOf(replies))).toEqual(new Set(['2b']));
  expect(store.requests - before).toBe(keys.length);
});

test('a read beyond what one answer holds is complete', async () => {
  const store = openAt(server.urlOf(newPlace('dynamodb')));
  await store.prepare();
  const keys = Array.from({ length: 12 }, (_, at) => `large${at}`);
  const text = 'x'.repeat(300_000);
  await store.write(keys.map((key) => ({ key, text: key + text, expected: undefined })));
  const documents = await store.read(keys);
  expect(documents.map((document) => document?.text === undefined)).toEqual(keys.map(() => false));
  expect(documents.map((document) => document!.text.slice(0, 7))).toEqual(
    keys.map((key) => (key + text).slice(0, 7)),
  );
});

describe('the URL', () => {
  test.each([
    'dynamodb://eu-central-1',
    'dynamodb://eu-central-1/a/b',
    'dynamodb://eu-central-1:8000/baton',
    'dynamodb://keyid@eu-central-1/baton',
    'dynamodb://eu-central-1/baton?endpoint=nonsense',
    'dynamodb://eu-central-1/baton?endpoint=http%3A%2F%2Fexample.com',
    'dynamodb://eu-central-1/baton?endpoint=http%3A%2F%2Fa%3Ab%40127.0.0.1',
    'dynamodb://eu-central-1/baton?tls=off',
    `dynamodb://eu-central-1/baton?prefix=${'x'.repeat(1025)}`,
  ])('is refused: %s', (url) => {
    expect(() => new DynamoDbStore(url, { timeoutMs: 1 })).toThrow(
      expect.objectContaining({ code: 'URL_INVALID' }),
    );
  });

  test('keeps its credentials to itself', async () => {
    const store = openAt('dynamodb://keyid:s3cret@eu-central-1/baton?endpoint=http%3A%2F%2F127.0.0.1%3A1');
    const error = await errorOf(store.read(['k']));
    expect(error).toMatchObject({ code: 'UNREACHABLE' });
    const shown = [
      store.url,
      JSON.stringify(store),
      inspect(store, { depth: 9 }),
      inspect(error, { depth: 9 }),
    ];
    expect(shown.join()).not.toMatch(/keyid|s3cret/);
  });
});

describe('a server that', () => {
  /** Answers as told, whatever is asked; the first request looks at the table. */
  async function answering(
    answer: (action: string, response: ServerResponse, request: IncomingMessage) => void,
    more: object = {},
  ): Promise<DynamoDbStore> {
    const http = createServer((request: IncomingMessage, response) => {
      const action = String(request.headers['x-amz-target']).split('.')[1]!;
      if (action === 'DescribeTable') response.end(JSON.stringify({ Table: { ...TABLE, ...more } }));
      else answer(action, response, request);
      request.resume();
    });
    await new Promise<void>((resolve) => {
      http.listen(0, '127.0.0.1', resolve);
    });
    onTestFinished(() => void http.close());
    const endpoint = encodeURIComponent(`http://127.0.0.1:${(http.address() as AddressInfo).port}`);
    return openAt(`dynamodb://keyid:s3cret@eu-central-1/baton?endpoint=${endpoint}`);
  }

  function fail(response: ServerResponse, name: string): void {
    response.writeHead(400);
    response.end(JSON.stringify({ __type: `com.amazonaws.dynamodb.v20120810#${name}`, message: 'no' }));
  }

  const TABLE = {
    TableStatus: 'ACTIVE',
    KeySchema: [
      { AttributeName: 'shard', KeyType: 'HASH' },
      { AttributeName: 'key', KeyType: 'RANGE' },
    ],
    AttributeDefinitions: [
      { AttributeName: 'shard', AttributeType: 'S' },
      { AttributeName: 'key', AttributeType: 'S' },
    ],
  };

  test.each([
    ['has a global table', { Replicas: [{ RegionName: 'us-east-1' }] }, 'STORE_FAILED', 'global table'],
    ['has not made the table yet', { TableStatus: 'CREATING' }, 'TIMED_OUT', 'try again'],
  ])('%s is not used', async (_, more, code, why) => {
    const store = await answering((__, response) => void response.end('{}'), more);
    for (const call of [() => store.read(['k']), () => store.list('', 1)])
      expect(await errorOf(call())).toMatchObject({ code, message: expect.stringContaining(why) });
    expect(store.requests).toBe(0);
  });

  test('may lag is asked for what it has answered, by every read', async () => {
    const asked: string[] = [];
    const note = async (
      action: string,
      response: ServerResponse,
      request: IncomingMessage,
    ): Promise<void> => {
      asked.push(`${action} ${/"ConsistentRead":(\w+)/.exec(await textOf(request))?.[1]}`);
      response.end('{}');
    };
    const store = await answering((...one) => void note(...one));
    await store.read(['k']);
    await store.list('', 1);
    await store.holdsAny('k');
    expect(new Set(asked)).toEqual(new Set(['BatchGetItem true', 'Query true']));
  });

  test('makes a global table of it while it is used is noticed by the next look', async () => {
    const more: Record<string, unknown> = {};
    const store = await answering((_, response) => void response.end('{}'), more);
    await store.lookAgain();
    more['Replicas'] = [{ RegionName: 'us-east-1' }];
    expect(await errorOf(store.lookAgain())).toMatchObject({
      code: 'STORE_FAILED',
      message: expect.stringContaining('global table'),
    });
    delete more['Replicas'];
    await store.lookAgain();
  });

  test('denies access is quoted with the permission to grant', async () => {
    const store = await answering((_, response) => fail(response, 'AccessDeniedException'));
    const write = store.write([{ key: 'k', text: 'x', expected: undefined }]);
    expect(await errorOf(write)).toMatchObject({
      code: 'UNAUTHORIZED',
      message: expect.stringContaining('dynamodb:PutItem'),
    });
    expect(await errorOf(store.read(['k']))).toMatchObject({
      message: expect.stringContaining('dynamodb:BatchGetItem'),
    });
  });

  test('refuses the credentials is told so, without them', async () => {
    const store = await answering((_, response) => fail(response, 'UnrecognizedClientException'));
    const error = await errorOf(store.read(['k']));
    expect(error).toMatchObject({ code: 'UNAUTHORIZED' });
    expect(inspect(error, { depth: 9 })).not.toMatch(/keyid|s3cret/);
  });

  test('throttles a write fails that write alone, and is asked once', async () => {
    const asked: string[] = [];
    const store = await answering((action, response) => {
      asked.push(action);
      if (asked.length === 1) fail(response, 'ProvisionedThroughputExceededException');
      else response.end('{}');
    });
    const results = await store.write(['a', 'b'].map((key) => ({ key, text: 'x', expected: undefined })));
    expect(results.map(({ result }) => result).sort()).toEqual(['failed', 'written']);
    expect(asked).toEqual(['PutItem', 'PutItem']);
  });

  test('holds back keys of a read is asked for them again', async () => {
    let calls = 0;
    const store = await answering((_, response) => {
      calls += 1;
      const item = { key: { S: 'k' }, version: { S: 'v1' }, text: { S: 'there' } };
      const held = { UnprocessedKeys: { baton: { Keys: [{ shard: { S: 's' }, key: { S: 'k' } }] } } };
      response.end(JSON.stringify(calls < 3 ? held : { Responses: { baton: [item] } }));
    });
    expect(await store.read(['k'])).toEqual([{ text: 'there', version: 'v1' }]);
    expect(calls).toBe(3);
  });
});
