import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { errorOf, increment, memoryUrls, openFor, storeOf } from '../../test/caspaxos/clusters.ts';
import { temporaryDirectory } from '../../test/caspaxos/directories.ts';
import { leapingHost } from '../../test/caspaxos/leaping-host.ts';
import { TestService } from '../../test/caspaxos/services.ts';
import { until } from '../../test/support/until.ts';
import type { CasPaxosError } from './errors.ts';
import { registerKey } from './stores/keys.ts';
import { StoreAcceptor } from './stores/store-acceptor.ts';

const cycle: unknown[] = [];
cycle.push(cycle);

const nested = (depth: number): unknown => {
  let value: unknown = 1;
  for (let at = 0; at < depth; at += 1) value = [value];
  return value;
};

describe('an editor that', () => {
  const cases: readonly (readonly [string, () => unknown, string])[] = [
    [
      'throws',
      () => {
        throw new Error('no');
      },
      'EDITOR_THREW',
    ],
    [
      'throws nothing',
      () => {
        throw undefined;
      },
      'EDITOR_THREW',
    ],
    ['returns a Promise', () => Promise.resolve(1), 'VALUE_NOT_SERIALISABLE'],
    ['returns a BigInt', () => 1n, 'VALUE_NOT_SERIALISABLE'],
    ['returns a cycle', () => cycle, 'VALUE_NOT_SERIALISABLE'],
    ['returns NaN', () => Number.NaN, 'VALUE_NOT_SERIALISABLE'],
    ['returns a Date', () => new Date(0), 'VALUE_NOT_SERIALISABLE'],
    ['returns a function', () => () => 1, 'VALUE_NOT_SERIALISABLE'],
    ['returns undefined in a list', () => [undefined], 'VALUE_NOT_SERIALISABLE'],
    ['returns nesting without end', () => nested(200_000), 'VALUE_NOT_SERIALISABLE'],
    [
      'returns a getter that throws',
      () => ({
        get x() {
          throw new Error('getter');
        },
      }),
      'VALUE_NOT_SERIALISABLE',
    ],
    ['returns too much', () => 'x'.repeat(1000), 'VALUE_TOO_LARGE'],
  ];

  test.each(cases)('%s gets a clear error, and changes nothing', async (_, editor, code) => {
    const acceptors = memoryUrls();
    const cluster = await openFor({ acceptors, maxValueBytes: 500, timeoutMs: 60_000 });
    // Both on a register that is prepared for one round trip, and on one that was never written.
    await cluster.change('k', increment);
    for (const [key, value, version] of [
      ['k', 1, 1],
      ['new', undefined, 0],
    ] as const) {
      expect(await cluster.change(key, editor)).toMatchObject({
        outcome: 'rejected',
        error: { code, outcome: 'rejected' },
        current: { value, version },
      });
      expect(await cluster.read(key)).toEqual({ value, version });
    }
    expect(await cluster.change('k', increment)).toMatchObject({
      outcome: 'committed',
      value: 2,
      version: 2,
    });
    expect(cluster.counters).toMatchObject({ committed: 2, rejected: 2, unknown: 0 });
  });

  test("takes and changes the value it was given does not change anybody else's", async () => {
    const cluster = await openFor({ acceptors: memoryUrls() });
    await cluster.change('k', () => ({ list: [1] }));
    await cluster.change<{ list: number[] }>('k', (value) => {
      value!.list.push(2);
      throw new Error('changed my mind');
    });
    expect((await cluster.read('k')).value).toEqual({ list: [1] });
  });
});

describe('a key', () => {
  test.each([
    ['', 'KEY_INVALID'],
    [7 as unknown as string, 'KEY_INVALID'],
    ['\uDC00', 'KEY_INVALID'],
    ['k'.repeat(513), 'KEY_TOO_LONG'],
    ['.baton.configuration', 'KEY_RESERVED'],
  ])('%j is refused by every call, before anything is sent', async (key, code) => {
    const cluster = await openFor({ acceptors: memoryUrls() });
    expect(await cluster.change(key, increment)).toMatchObject({ outcome: 'rejected', error: { code } });
    expect(await cluster.compareAndSwap(key, undefined, 1)).toMatchObject({
      outcome: 'rejected',
      error: { code },
    });
    expect(await cluster.delete(key)).toMatchObject({ outcome: 'rejected', error: { code } });
    expect(await errorOf(cluster.read(key))).toMatchObject({ code });
    expect(await errorOf(cluster.watch(key).next())).toMatchObject({ code });
    expect(cluster.counters).toMatchObject({ messages: 0, rejected: 3 });
  });
});

describe('an operation to continue', () => {
  test.each([
    { origin: 'a b', sequence: 1, sinceVersion: 0, attempts: 1 },
    { origin: 'a\nb', sequence: 1, sinceVersion: 0, attempts: 1 },
    { origin: '', sequence: 1, sinceVersion: 0, attempts: 1 },
    { origin: 'a', sequence: Number.NaN, sinceVersion: 0, attempts: 1 },
    { origin: 'a', sequence: -1, sinceVersion: 0, attempts: 1 },
    { origin: 'a', sequence: 1, attempts: 1 } as never,
    { origin: 'a', sequence: 1, sinceVersion: 0, attempts: '1' as never },
    { origin: 7 as never, sequence: 1, sinceVersion: 0, attempts: 1 },
  ])('that nobody gave out is refused: %j', async (retryOf) => {
    const cluster = await openFor({ acceptors: memoryUrls() });
    await cluster.change('k', increment);
    const outcome = await cluster.change('k', increment, { retryOf });
    expect(outcome.outcome).not.toBe('committed');
    expect(await cluster.read('k')).toEqual({ value: 1, version: 1 });
    expect(await cluster.change('k', increment)).toMatchObject({ outcome: 'committed', value: 2 });
  });
});

describe('acceptor URLs', () => {
  test.each([
    [['nope:x', ...memoryUrls(2)], 'SCHEME_UNKNOWN'],
    [['postgress://h/db', ...memoryUrls(2)], 'SCHEME_UNKNOWN'],
    [['not a url', ...memoryUrls(2)], 'URL_INVALID'],
    [['', ...memoryUrls(2)], 'URL_INVALID'],
    [['memory:', ...memoryUrls(2)], 'URL_INVALID'],
    [['http://', ...memoryUrls(2)], 'URL_INVALID'],
    [['http://host:99999', ...memoryUrls(2)], 'URL_INVALID'],
    [[], 'NO_ACCEPTORS'],
    [Array.from({ length: 31 }, (_, at) => `memory:many-${at}`), 'TOO_MANY_ACCEPTORS'],
    [['memory:twice', 'memory:twice', 'memory:once'], 'DUPLICATE_ACCEPTOR'],
    [['http://127.0.0.1:1', 'http://127.0.0.1:1/', 'memory:once'], 'DUPLICATE_ACCEPTOR'],
  ] as const)('%j end with %s', async (acceptors, code) => {
    expect(await errorOf(openFor({ acceptors }))).toMatchObject({ code });
  });

  test('with a typing error leave nothing behind', async () => {
    const directory = join(temporaryDirectory(), 'new');
    const [url] = memoryUrls(1);
    expect(await errorOf(openFor({ acceptors: [`lmdb:${directory}`, url!, 'nope:x'] }))).toMatchObject({
      code: 'SCHEME_UNKNOWN',
    });
    expect(existsSync(directory)).toBe(false);
    expect(await storeOf(url!).list('', 1)).toEqual([]);
  });

  test('that lead to one acceptor twice are refused, and nothing is installed', async () => {
    const service = await TestService.start();
    const [url] = memoryUrls(1);
    const acceptors = [service.url, service.url.replace('127.0.0.1', 'localhost'), url!];
    expect(await errorOf(openFor({ acceptors }))).toMatchObject({ code: 'DUPLICATE_ACCEPTOR' });
    expect(service.disk.configuration).toBeUndefined();
  });

  test('never show a token', async () => {
    const errors = await Promise.all(
      [
        ['http://:secret@127.0.0.1:1', 'http://:secret@127.0.0.1:1'],
        ['http://:secret@127.0.0.1:1', ...memoryUrls(2)],
        ['http://:secret@host:99999'],
        ['https://user:secret@127.0.0.1:1/?x=secret', ...memoryUrls(2)],
      ].map((acceptors) => errorOf(openFor({ acceptors, requestTimeoutMs: 200 }))),
    );
    for (const { code, message } of errors) {
      expect(code).toBeDefined();
      expect(message).not.toContain('secret');
    }
  });

  test('of an even number are a warning, of an odd number none', async () => {
    const warnings: CasPaxosError[] = [];
    const even = await openFor({ acceptors: memoryUrls(4) });
    even.on('warning', (error) => warnings.push(error));
    await until('there is a warning', () => warnings.length > 0);
    expect(warnings).toMatchObject([{ code: 'EVEN_ACCEPTORS' }]);
    expect(await even.change('k', increment)).toMatchObject({ outcome: 'committed' });
    const odd = await openFor({ acceptors: memoryUrls(3) });
    odd.on('warning', (error) => warnings.push(error));
    await odd.change('k', increment);
    expect(warnings).toHaveLength(1);
  });
});

describe('the first start of a cluster', () => {
  test('needs all acceptors, and begins nothing without one', async () => {
    const [first, second] = memoryUrls(2);
    const acceptors = [first!, second!, 'http://127.0.0.1:1'];
    expect(await errorOf(openFor({ acceptors, requestTimeoutMs: 200 }))).toMatchObject({
      code: 'FIRST_START_INCOMPLETE',
    });
    expect((await new StoreAcceptor(storeOf(first!)).describe()).configuration).toBeUndefined();
  });

  test('refuses acceptors that hold registers of nobody', async () => {
    const acceptors = memoryUrls();
    const stray = new StoreAcceptor(storeOf(acceptors[1]!));
    await stray.describe();
    const ballot = { counter: 1, proposer: 'p', incarnation: 1 };
    await stray.handle([{ key: 'k', set: 1, message: { type: '1a', ballot } }], 0);
    expect(await errorOf(openFor({ acceptors }))).toMatchObject({ code: 'ACCEPTOR_IN_USE' });
    expect((await new StoreAcceptor(storeOf(acceptors[0]!)).describe()).configuration).toBeUndefined();
  });

  test('of two clusters mixed up is refused', async () => {
    const [one, other] = [memoryUrls(), memoryUrls()];
    await openFor({ acceptors: one });
    await openFor({ acceptors: other });
    expect(await errorOf(openFor({ acceptors: [one[0]!, other[0]!] }))).toMatchObject({
      code: 'CONFIGURATION_CONFLICT',
    });
  });

  test('finds something that is no acceptor', async () => {
    const server = createServer((_, response) => response.end('hello')).listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await until('the server listens', () => server.listening);
    const { port } = server.address() as { port: number };
    const acceptors = [`http://127.0.0.1:${port}`, ...memoryUrls(2)];
    expect(await errorOf(openFor({ acceptors }))).toMatchObject({
      code: 'FIRST_START_INCOMPLETE',
      message: expect.stringContaining('is not an acceptor service'),
    });
  });
});

describe('a corrupt record', () => {
  test('on one acceptor is worked around, reported, and left as it is; other registers do not notice', async () => {
    const acceptors = memoryUrls();
    const before = await openFor({ acceptors });
    await before.change('k', increment);
    await before.change('other', increment);
    await before.close();
    const store = storeOf(acceptors[0]!);
    const [document] = await store.read([registerKey('k')]);
    await store.write([{ key: registerKey('k'), text: 'garbage', expected: document!.version }]);
    const cluster = await openFor({ acceptors });
    const warnings: CasPaxosError[] = [];
    cluster.on('warning', (error) => warnings.push(error));
    expect(await cluster.change('k', increment)).toMatchObject({ outcome: 'committed', value: 2 });
    expect(await cluster.change('other', increment)).toMatchObject({ outcome: 'committed', value: 2 });
    await until('there is a warning', () => warnings.length > 0);
    expect(warnings[0]).toMatchObject({ code: 'CORRUPT_RECORD' });
    const [after] = await store.read([registerKey('k')]);
    expect(after!.text).toBe('garbage');
  });

  test('on a majority stops that register, with the reason in the error', async () => {
    const acceptors = memoryUrls();
    const before = await openFor({ acceptors });
    await before.change('k', increment);
    await before.change('other', increment);
    await before.close();
    for (const url of acceptors.slice(0, 2)) {
      const store = storeOf(url);
      const [document] = await store.read([registerKey('k')]);
      await store.write([{ key: registerKey('k'), text: 'garbage', expected: document?.version }]);
    }
    const host = leapingHost();
    const cluster = await openFor({ acceptors, host });
    const warned = new Promise((resolve) => cluster.on('warning', resolve));
    const work = cluster.change('k', increment, { timeoutMs: 60_000 });
    await warned;
    // What was heard within the time of the call is its reason.
    host.leap(59_900);
    expect(await work).toMatchObject({
      outcome: 'rejected',
      error: { code: 'DEADLINE_EXCEEDED', message: expect.stringContaining('did not write') },
    });
    expect(await cluster.change('other', increment)).toMatchObject({ outcome: 'committed', value: 2 });
  });

  test('that is sound but holds no value of ours rejects changes, and is left as it is', async () => {
    const acceptors = memoryUrls();
    const cluster = await openFor({ acceptors });
    const ballot = { counter: 1, proposer: 'p', incarnation: 1 };
    for (const url of acceptors) {
      const message = { type: '2a', ballot, value: 'no header' } as const;
      await new StoreAcceptor(storeOf(url)).handle([{ key: 'k', set: 1, message }], 0);
    }
    expect(await errorOf(cluster.read('k'))).toMatchObject({ code: 'CORRUPT_RECORD' });
    expect(await cluster.change('k', increment)).toMatchObject({
      outcome: 'rejected',
      error: { code: 'CORRUPT_RECORD' },
    });
    expect(await errorOf(cluster.read('k'))).toMatchObject({ code: 'CORRUPT_RECORD' });
  });
});
