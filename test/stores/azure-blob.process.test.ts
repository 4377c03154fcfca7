import { execFile } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo, Server } from 'node:net';
import { join } from 'node:path';
import { inspect, promisify } from 'node:util';
import {
  type BlobItem,
  ContainerClient,
  ContainerSASPermissions,
  StorageSharedKeyCredential,
} from '@azure/storage-blob';
import { AzureBlobStore, openAcceptor, StoreAcceptor } from 'baton/caspaxos';
import { initAuthority, issueInto } from 'baton/server';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { errorOf } from '../caspaxos/clusters.ts';
import { newDirectory } from '../caspaxos/directories.ts';
import { acceptorConformance } from '../conformance/acceptor.ts';
import { accept, promise } from '../conformance/messages.ts';
import { newPlace, storeConformance, type StoreUnderTest } from '../conformance/store.ts';
import { storeAcceptorConformance } from '../conformance/store-acceptor.ts';
import { findProgram, needProgram } from '../support/programs.ts';
import { until } from '../support/until.ts';
import { AZURITE_ACCOUNT, AZURITE_CONTAINER, AZURITE_KEY, startAzurite } from './servers/azurite.ts';
import { freePort, type StoreServer } from './servers/server.ts';

const execute = promisify(execFile);
/** For hundreds of documents, which the emulator takes one after another. */
const TIMEOUT_MS = 60_000;
let server: StoreServer;

beforeAll(async () => {
  if (findProgram('azurite').path === undefined) return;
  server = await startAzurite();
});
afterAll(() => server?.close());
beforeEach((context) => void needProgram(context, 'azurite'));

function openAt(url: string, timeoutMs = TIMEOUT_MS): AzureBlobStore {
  const store = new AzureBlobStore(url, { timeoutMs });
  onTestFinished(() => store.close());
  return store;
}

async function preparedAt(url: string): Promise<AzureBlobStore> {
  const store = openAt(url);
  await store.prepare();
  return store;
}

/** The URL of a new place with another key, or none. */
function urlWith({ credentials = '' }): string {
  return server.urlOf(newPlace('azure-blob')).replace(/\/\/[^@]*@/, `//${credentials}`);
}

/** As an administrator would. */
function container(name = AZURITE_CONTAINER): ContainerClient {
  const [, at] = /@([^/]*)/.exec(server.urlOf('x'))!;
  const credential = new StorageSharedKeyCredential(AZURITE_ACCOUNT, AZURITE_KEY);
  return new ContainerClient(`http://${at!}/${AZURITE_ACCOUNT}/${name}`, credential);
}

async function blobsOf(place: string): Promise<readonly BlobItem[]> {
  const found: BlobItem[] = [];
  for await (const blob of container().listBlobsFlat({ prefix: `${place}/` })) found.push(blob);
  return found;
}

async function emptyPlace(place: string): Promise<void> {
  for (const { name } of await blobsOf(place)) await container().deleteBlob(name);
}

const azureBlob: StoreUnderTest = {
  largeBatch: 200,
  open: async (place) => {
    const store = new AzureBlobStore(server.urlOf(place), { timeoutMs: TIMEOUT_MS });
    await store.prepare();
    return store;
  },
  empty: emptyPlace,
  snapshot: async (place) => {
    const blobs = await blobsOf(place);
    const contents = await Promise.all(
      blobs.map(({ name }) => container().getBlobClient(name).downloadToBuffer()),
    );
    return async () => {
      await emptyPlace(place);
      for (const [at, { name }] of blobs.entries())
        await container().uploadBlockBlob(name, contents[at]!, contents[at]!.length);
    };
  },
};

// First, because the emulator starts and stops the more slowly the more it holds.
storeConformance('azure-blob', azureBlob);
storeAcceptorConformance('azure-blob', azureBlob);
acceptorConformance('azure-blob', {
  largeBatch: 200,
  async open(place) {
    const acceptor = openAcceptor(server.urlOf(place), { timeoutMs: TIMEOUT_MS });
    await acceptor.describe();
    return acceptor;
  },
});

describe('what a phase costs', () => {
  test('is one request for each register while nobody interferes', async () => {
    const store = openAt(server.urlOf(newPlace('azure-blob')));
    const acceptor = new StoreAcceptor(store);
    await acceptor.describe();
    const keys = ['a', 'b', 'c'];
    await acceptor.handle(
      keys.map((key) => promise(key, 1)),
      0,
    );
    const before = store.requests;
    await acceptor.handle(
      keys.map((key) => promise(key, 2)),
      0,
    );
    expect(store.requests).toBe(before + 3);
    await acceptor.handle(
      keys.map((key) => accept(key, 2, 'v')),
      0,
    );
    expect(store.requests).toBe(before + 6);
  });
});

describe('documents', () => {
  test('are blobs that a person finds and reads', async () => {
    const place = newPlace('azure-blob');
    const store = await preparedAt(server.urlOf(place));
    await store.write([{ key: 'register/orders', text: 'the text', expected: undefined }]);
    const [blob] = await blobsOf(place);
    expect(blob).toMatchObject({
      name: `${place}/register=2Forders`,
      properties: { contentType: 'text/plain; charset=utf-8' },
    });
    expect((await container().getBlobClient(blob!.name).downloadToBuffer()).toString()).toBe('the text');
  });

  test('are found by what their keys begin with, however their names are spelled', async () => {
    const store = await preparedAt(server.urlOf(newPlace('azure-blob')));
    expect(await store.holdsAny('register/')).toBe(false);
    await store.write([{ key: 'identity', text: 'x', expected: undefined }]);
    await store.write([{ key: `other/${'鍵'.repeat(170)}`, text: 'x', expected: undefined }]);
    expect(await store.holdsAny('register/')).toBe(false);
    await store.write([{ key: `register/${'鍵'.repeat(170)}`, text: 'x', expected: undefined }]);
    expect(await store.holdsAny('register/')).toBe(true);
    const other = await preparedAt(server.urlOf(newPlace('azure-blob')));
    await other.write([{ key: 'register/k', text: 'x', expected: undefined }]);
    expect(await other.holdsAny('register/')).toBe(true);
  });

  test('of somebody else under the same prefix are not listed', async () => {
    const place = newPlace('azure-blob');
    const store = await preparedAt(server.urlOf(place));
    for (const name of ['a file.txt', 'folder/identity', 'register=2fk'])
      await container().uploadBlockBlob(`${place}/${name}`, 'x', 1);
    expect(await store.list('', 10)).toEqual([]);
  });
});

describe('a container that is not there', () => {
  const elsewhere = (name: string): string =>
    server.urlOf(newPlace('azure-blob')).replace(`/${AZURITE_CONTAINER}?`, `/${name}?`);

  test('is an error of every call, until it is prepared', async () => {
    const store = openAt(elsewhere('not-there'));
    const write = { key: 'k', text: 'x', expected: undefined };
    const calls = [
      () => store.read(['k']),
      () => store.write([write]),
      () => store.write([{ ...write, expected: '"0x1"' }]),
      () => store.list('', 1),
      () => store.holdsAny('k'),
    ];
    for (const call of calls)
      expect(await errorOf(call())).toMatchObject({
        code: 'STORE_FAILED',
        message: expect.stringContaining('container'),
      });
    await Promise.all([store.prepare(), store.prepare()]);
    expect(await store.read(['k'])).toEqual([undefined]);
    await container('not-there').delete();
    expect(await errorOf(store.read(['k']))).toMatchObject({ code: 'STORE_FAILED' });
  });
});

describe('credentials', () => {
  const KEY = encodeURIComponent(AZURITE_KEY);
  const WRONG = Buffer.from('another key').toString('base64');

  function withEnvironment(settings: Readonly<Record<string, string>>): void {
    for (const [name, value] of Object.entries(settings)) vi.stubEnv(name, value);
    onTestFinished(() => void vi.unstubAllEnvs());
  }

  test('are taken from the URL, with or without the account, and shown nowhere', async () => {
    for (const account of ['', AZURITE_ACCOUNT]) {
      const store = await preparedAt(urlWith({ credentials: `${account}:${KEY}@` }));
      expect(await store.read(['k'])).toEqual([undefined]);
      for (const shown of [store.url, JSON.stringify(store), inspect(store, { depth: 9, showHidden: true })])
        expect(shown).not.toContain(AZURITE_KEY.slice(0, 12));
    }
  });

  test('are taken from the environment, if they are those of the account', async () => {
    withEnvironment({ AZURE_STORAGE_KEY: AZURITE_KEY });
    expect(await openAt(urlWith({})).read(['k'])).toEqual([undefined]);
    const connection = `AccountName=${AZURITE_ACCOUNT};AccountKey=${AZURITE_KEY};EndpointSuffix=x`;
    withEnvironment({
      AZURE_STORAGE_ACCOUNT: 'another',
      AZURE_STORAGE_KEY: WRONG,
      AZURE_STORAGE_CONNECTION_STRING: connection,
    });
    expect(await openAt(urlWith({})).read(['k'])).toEqual([undefined]);
  });

  test('may be a signature that expires', async () => {
    const url = await container().generateSasUrl({
      permissions: ContainerSASPermissions.parse('racwl'),
      expiresOn: new Date(Date.now() + 3_600_000),
    });
    withEnvironment({ AZURE_STORAGE_CONNECTION_STRING: `SharedAccessSignature=${new URL(url).search}` });
    const store = openAt(urlWith({}));
    const write = { key: 'k', text: 'x', expected: undefined };
    expect(await store.write([write])).toMatchObject([{ result: 'written' }]);
    expect(await store.list('', 10)).toEqual(['k']);
    withEnvironment({
      AZURE_STORAGE_CONNECTION_STRING: `SharedAccessSignature=${new URL(url).search.replace('racwl', 'r')}`,
    });
    const error = await errorOf(openAt(urlWith({})).write([write]));
    expect(error).toMatchObject({ code: 'UNAUTHORIZED' });
    expect(inspect(error, { depth: 9, showHidden: true })).not.toMatch(/sig=/);
  });

  test('that are wrong are refused, and not told', async () => {
    const store = openAt(urlWith({ credentials: `:${encodeURIComponent(WRONG)}@` }));
    const error = await errorOf(store.read(['k']));
    expect(error).toMatchObject({
      code: 'UNAUTHORIZED',
      message: expect.stringContaining('Storage Blob Data Contributor'),
    });
    expect(inspect(error, { depth: 9, showHidden: true })).not.toContain(WRONG.slice(0, 8));
  });

  test('that nobody gave are left to Azure’s own package', async () => {
    const asked: unknown[] = [];
    vi.doMock('@azure/identity', () => ({
      DefaultAzureCredential: class {
        getToken = async (scopes: unknown) => {
          asked.push(scopes);
          return { token: 'an-identity', expiresOnTimestamp: Date.now() + 3_600_000 };
        };
      },
    }));
    onTestFinished(() => vi.doUnmock('@azure/identity'));
    const { url } = await secureServer((request, response) => {
      asked.push(request.headers.authorization);
      response.writeHead(404, { 'x-ms-error-code': 'BlobNotFound' }).end();
    });
    expect(await openAt(url).read(['k'])).toEqual([undefined]);
    expect(asked).toEqual([['https://storage.azure.com/.default'], 'Bearer an-identity']);
  });

  test('that nobody gave need that package, which is named', async () => {
    const script = `import { AzureBlobStore } from 'baton/caspaxos';
      const store = new AzureBlobStore(process.argv[1], { timeoutMs: 20_000 });
      await store.read(['k']).catch(({ code, message }) => console.log(code, message));`;
    const { stdout } = await execute(process.execPath, ['--input-type=module', '-e', script, urlWith({})]);
    expect(stdout).toMatch(/^PACKAGE_MISSING .*npm install @azure\/identity/);
  });
});

describe('servers', () => {
  test('that are dead fail at once, and for a moment without being asked', async () => {
    const store = openAt(`azure-blob://:a2V5@127.0.0.1:${await freePort()}/a/c`);
    await until('a call fails without a request', async () => {
      const before = store.requests;
      expect(await errorOf(store.read(['k']))).toMatchObject({
        code: 'UNREACHABLE',
        message: expect.stringContaining('ECONNREFUSED'),
      });
      return store.requests === before;
    });
  });

  test('that fail are asked once, and some writes of a batch may be done all the same', async () => {
    const asked: string[] = [];
    const port = await answering((request, response) => {
      asked.push(request.url!);
      request.resume();
      if (request.url!.includes('bad')) response.writeHead(503, { 'x-ms-error-code': 'ServerBusy' }).end();
      else response.writeHead(201, { etag: '"0x1"' }).end();
    });
    const store = openAt(`azure-blob://:a2V5@127.0.0.1:${port}/a/c`);
    const write = (key: string) => ({ key, text: 'x', expected: undefined });
    expect(await store.write([write('good'), write('bad')])).toMatchObject([
      { result: 'written', version: '"0x1"' },
      { result: 'failed', error: { code: 'STORE_FAILED', message: expect.stringContaining('ServerBusy') } },
    ]);
    expect(asked).toHaveLength(2);
    expect(await errorOf(store.write([write('bad')]))).toMatchObject({ code: 'STORE_FAILED' });
    expect(asked).toHaveLength(3);
  });

  test('that hang are left after the time limit, each write by itself', async () => {
    const port = await answering((request, response) => {
      request.resume();
      if (!request.url!.includes('bad')) response.writeHead(201, { etag: '"0x1"' }).end();
    });
    const store = openAt(`azure-blob://:a2V5@127.0.0.1:${port}/a/c`, 3000);
    const write = (key: string) => ({ key, text: 'x', expected: undefined });
    expect(await store.write([write('good'), write('bad')])).toMatchObject([
      { result: 'written' },
      { result: 'failed', error: { code: 'TIMED_OUT', message: expect.stringContaining('3000 ms') } },
    ]);
  });

  test('over TLS, with the authority in the URL', async () => {
    const { url } = await secureServer((_, response) =>
      response.writeHead(404, { 'x-ms-error-code': 'BlobNotFound' }).end(),
    );
    const withKey = url.replace('//', '//:a2V5@');
    expect(await openAt(withKey).read(['k'])).toEqual([undefined]);
    expect(await errorOf(openAt(withKey.replace(/&ca=.*/, '')).read(['k']))).toMatchObject({
      code: 'UNREACHABLE',
      message: expect.stringMatching(/certificate|SIGNATURE/),
    });
  });

  test('are of no use once the store is closed', async () => {
    const store = openAt(urlWith({}));
    await store.close();
    expect(await errorOf(store.read(['k']))).toMatchObject({ code: 'CLOSED' });
  });
});

async function listening(listener: Server & { closeAllConnections(): void }): Promise<number> {
  listener.listen(0, '127.0.0.1');
  onTestFinished(() => {
    listener.close();
    listener.closeAllConnections();
  });
  await new Promise((resolve) => listener.once('listening', resolve));
  return (listener.address() as AddressInfo).port;
}

function answering(listener: RequestListener): Promise<number> {
  return listening(createServer(listener));
}

/** Its URL has no key in it. */
async function secureServer(listener: RequestListener): Promise<{ url: string }> {
  const certificates = newDirectory();
  onTestFinished(() => rmSync(certificates, { recursive: true, force: true }));
  await initAuthority(certificates);
  await issueInto(certificates, { name: 'blobs', hosts: ['127.0.0.1'] });
  const file = (name: string): string => join(certificates, name);
  const cert = readFileSync(file('blobs.pem'));
  const port = await listening(createSecureServer({ cert, key: readFileSync(file('blobs.key')) }, listener));
  const ca = encodeURIComponent(file('ca.pem'));
  return { url: `azure-blob://127.0.0.1:${port}/a/c?tls=on&ca=${ca}` };
}

test.each([
  ['no container', 'azure-blob://a.blob.core.windows.net'],
  ['three segments', 'azure-blob://h/a/b/c'],
  ['two hosts', 'azure-blob://h,i/c'],
  ['a prefix that is too long', `azure-blob://h/c?prefix=${'p'.repeat(257)}`],
])('a URL with %s is refused', (_, url) => {
  expect(() => new AzureBlobStore(url, { timeoutMs: 1 })).toThrow(
    expect.objectContaining({ code: 'URL_INVALID' }),
  );
});
