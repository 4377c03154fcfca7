import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import { errorOf } from '../../../test/caspaxos/clusters.ts';
import { until } from '../../../test/support/until.ts';
import { stored, unstored } from './postgres-statements.ts';
import { PostgresStore } from './postgres.ts';

const options = { timeoutMs: 60_000 };

describe('postgres URLs', () => {
  test('name one database, and a table with or without its schema', () => {
    const store = new PostgresStore('postgres://u:p@Db.example/baton?table=s.t', options);
    expect(store.url).toBe('postgres://db.example:5432/baton?table=s.t');
  });

  test.each([
    'postgres://h',
    'postgres://h/a/b',
    'postgres://h1,h2/d',
    'postgres://h/d?table=a.b.c',
    'postgres://h/d?table=.t',
    `postgres://h/d?table=${'t'.repeat(64)}`,
    'postgres://h/d?sslmode=disable',
  ])('are refused otherwise: %s', (url) => {
    expect(() => new PostgresStore(url, options)).toThrow(expect.objectContaining({ code: 'URL_INVALID' }));
  });
});

describe('text in a column that has no U+0000', () => {
  const texts = fc.string({ unit: fc.constantFrom('\u0000', '\u0001', '\u0002', '\u0003', 'a', '鍵') });

  test('comes back exactly', () => {
    fc.assert(
      fc.property(texts, (text) => {
        expect(stored(text)).not.toContain('\u0000');
        expect(unstored(stored(text))).toBe(text);
      }),
    );
  });

  test('keeps its order, so that lists and pages are right', () => {
    fc.assert(
      fc.property(texts, texts, (one, other) => {
        expect(stored(one) < stored(other)).toBe(one < other);
      }),
    );
  });
});

describe('a server that is none', () => {
  /** What it was sent, and how many have come and gone. */
  async function listen(meet: (socket: Socket) => void): Promise<{ url: string; sockets: Socket[] }> {
    const sockets: Socket[] = [];
    const server = createServer((socket) => {
      sockets.push(socket.on('error', () => {}).resume());
      meet(socket);
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    onTestFinished(() => void server.close());
    return { url: `postgres://u@127.0.0.1:${(server.address() as AddressInfo).port}/d`, sockets };
  }

  async function codesOf(store: PostgresStore): Promise<ReadonlySet<string | undefined>> {
    const errors = await Promise.all(Array.from({ length: 20 }, () => errorOf(store.read(['k']))));
    return new Set(errors.map(({ code }) => code));
  }

  test('because it hangs up: many calls make few attempts', async () => {
    const { url, sockets } = await listen((socket) => socket.destroy());
    const store = new PostgresStore(url, options);
    expect(await codesOf(store)).toEqual(new Set(['UNREACHABLE']));
    expect(sockets.length).toBeLessThanOrEqual(store.concurrency);
    await store.close();
  });

  test('because it says nothing: calls end in time, and so do their connections', async () => {
    const { url, sockets } = await listen(() => {});
    const store = new PostgresStore(url, { timeoutMs: 50 });
    expect(await codesOf(store)).toContain('TIMED_OUT');
    expect(sockets.length).toBeLessThanOrEqual(store.concurrency);
    await until('all connections are closed', () => sockets.every(({ destroyed }) => destroyed));
    await store.close();
  });
});
