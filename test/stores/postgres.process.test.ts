/** PostgreSQL as an acceptor's store, against a real server: the suites, its bad days, and what is its own. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { inspect } from 'node:util';
import {
  openAcceptor,
  PostgresStore,
  StoreAcceptor,
  type StoreOptions,
  type StoreVersion,
} from 'baton/caspaxos';
import { issueCertificate, makeAuthority } from 'baton/server';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { errorOf } from '../caspaxos/clusters.ts';
import { temporaryDirectory } from '../caspaxos/directories.ts';
import { acceptorConformance } from '../conformance/acceptor.ts';
import { accept, promise, typesOf } from '../conformance/messages.ts';
import { newPlace, storeConformance, type StoreUnderTest } from '../conformance/store.ts';
import { storeAcceptorConformance } from '../conformance/store-acceptor.ts';
import { findProgram, needProgram } from '../support/programs.ts';
import { until } from '../support/until.ts';
import { badDays } from './bad-days.ts';
import { isRetired, restarts } from './restarts.ts';
import { type PostgresServer, startPostgres } from './servers/postgres.ts';

let server: PostgresServer;

beforeAll(async () => {
  if (findProgram('postgres').path !== undefined) server = await startPostgres();
});
beforeEach((context) => void needProgram(context, 'postgres'));
afterAll(() => server?.close());

const postgres: StoreUnderTest = {
  open: async (place) => {
    const store = new PostgresStore(server.urlOf(place), { timeoutMs: 30_000 });
    await store.prepare();
    return store;
  },
  empty: async (place) => void (await server.query(`TRUNCATE "${place}"`)),
  snapshot: async (place) => {
    await server.query(`CREATE TABLE "${place}.copy" AS SELECT * FROM "${place}"`);
    return async () =>
      void (await server.query(`TRUNCATE "${place}"; INSERT INTO "${place}" SELECT * FROM "${place}.copy"`));
  },
};

storeConformance('postgres', postgres);
storeAcceptorConformance('postgres', postgres);
acceptorConformance('postgres', {
  open: async (place) => {
    const acceptor = openAcceptor(server.urlOf(place), { timeoutMs: 30_000 });
    await acceptor.describe();
    return acceptor;
  },
});
badDays('postgres', () => server);
restarts('postgres', () => server);

/** Opened for this test, and closed with it. */
function storeAt(url: string, options: Partial<StoreOptions> = {}): PostgresStore {
  const store = new PostgresStore(url, { timeoutMs: 30_000, ...options });
  onTestFinished(() => store.close());
  return store;
}

async function preparedAt(place: string): Promise<PostgresStore> {
  const store = storeAt(server.urlOf(place));
  await store.prepare();
  return store;
}

/** A user with a password, and the URL of a place as that user. */
async function asUser(name: string, place: string): Promise<string> {
  await server.query(`CREATE ROLE "${name}" LOGIN PASSWORD 'se:cret'`);
  return `postgres://${name}:se%3Acret@127.0.0.1:${server.port}/postgres?table=${place}`;
}

/** Settings that are the server's only as long as the test runs. */
async function configure(...settings: readonly string[]): Promise<void> {
  onTestFinished(async () => {
    for (const setting of settings) await server.query(`ALTER SYSTEM RESET ${setting.split(' ')[0]}`);
    await server.query('SELECT pg_reload_conf()');
  });
  for (const setting of settings) await server.query(`ALTER SYSTEM SET ${setting}`);
  await server.query('SELECT pg_reload_conf()');
  const [name, , value] = settings[0]!.split(' ');
  const isInForce = async (): Promise<boolean> =>
    (await server.query(`SHOW ${name}`)).some((row) => row[name!] === value);
  await until('the server has read its settings', isInForce);
}

describe('batches on postgres', () => {
  test('that have all their documents in common, in any order, never wait for each other in a circle', async () => {
    const place = newPlace('batches');
    const stores = await Promise.all([1, 2, 3].map(() => preparedAt(place)));
    const versions = new Map<string, StoreVersion>();
    for (let round = 0; round < 12; round += 1) {
      // All are created; all are replaced; half are created; all are replaced; and again.
      const life = round >> 2;
      const halfLife = (round >> 1) & 1;
      const keys = Array.from(
        { length: 1000 },
        (_, at) => `register/${(at * 7) % 1000}/${life}${at % 2 === 0 ? '' : `/${halfLife}`}`,
      );
      const middle = keys.length / 2;
      const orders = [keys, keys.toReversed(), [...keys.slice(middle), ...keys.slice(0, middle)]];
      const results = await Promise.all(
        orders.map((order, at) =>
          stores[at]!.write(
            order.map((key) => ({ key, text: `${round}/${at}`, expected: versions.get(key) })),
          ),
        ),
      );
      const winners = new Map<string, number>();
      for (const [at, order] of orders.entries())
        for (const [index, key] of order.entries()) {
          const result = results[at]![index]!;
          if (result.result !== 'written') continue;
          expect(winners.has(key)).toBe(false);
          winners.set(key, at);
          versions.set(key, result.version);
        }
      expect(winners.size).toBe(keys.length);
      const documents = await stores[0]!.read(keys);
      expect(documents.map((document) => document?.text)).toEqual(
        keys.map((key) => `${round}/${winners.get(key)}`),
      );
      // So that it looks for rows one by one, as in a large table.
      if (round === 3) await server.query(`ANALYZE "${place}"`);
    }
    const sum = await server.query('SELECT sum(deadlocks)::int AS deadlocks FROM pg_stat_database');
    expect(sum).toEqual([{ deadlocks: 0 }]);
  });

  test('cost one request for all their registers, and no read while nobody interferes', async () => {
    const store = await preparedAt(newPlace('requests'));
    const acceptor = new StoreAcceptor(store);
    await acceptor.describe();
    const keys = Array.from({ length: 100 }, (_, at) => `k${at}`);
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
    expect(store.requests).toBe(before + 1);
  });

  test('are answered in time though somebody else holds a lock, and leave nothing behind in the server', async () => {
    const place = newPlace('held');
    const store = await preparedAt(place);
    const hasty = storeAt(server.urlOf(place), { timeoutMs: 300 });
    await until('it is connected', () => hasty.read(['k']));
    const [created] = await store.write([{ key: 'k', text: 'v', expected: undefined }]);
    const expected = created?.result === 'written' ? created.version : undefined;
    const other = new pg.Client({ host: '127.0.0.1', port: server.port, user: 'postgres', ssl: false });
    await other.connect();
    onTestFinished(() => other.end());
    await other.query(`BEGIN; SELECT * FROM "${place}" FOR UPDATE`);
    const late = errorOf(hasty.write([{ key: 'k', text: 'w', expected }]));
    expect(await late).toMatchObject({ code: 'TIMED_OUT' });
    const waiting = `SELECT 1 FROM pg_stat_activity WHERE application_name = 'baton' AND state = 'active'`;
    await until('no statement waits any more', async () => (await server.query(waiting)).length === 0);
    await other.query('ROLLBACK');
    expect(await store.write([{ key: 'k', text: 'x', expected }])).toMatchObject([{ result: 'written' }]);
  });
});

describe('calls to postgres', () => {
  test('that were given up are not sent later, but for those that were under way', async () => {
    const place = newPlace('late');
    const patient = await preparedAt(place);
    const store = storeAt(server.urlOf(place), { timeoutMs: 300 });
    await until('it is connected', () => store.list('', 1));
    server.pause();
    onTestFinished(() => server.resume());
    const calls = Array.from({ length: 40 }, (_, at) =>
      errorOf(store.write([{ key: `k${at}`, text: 'v', expected: undefined }])),
    );
    for (const error of await Promise.all(calls)) expect(error.code).toMatch(/^(?:TIMED_OUT|UNREACHABLE)$/);
    server.resume();
    await until('it is back', () => store.list('', 100));
    expect((await patient.list('', 100)).length).toBeLessThanOrEqual(store.concurrency);
  });

  test('where nobody listens say so, and after the end that it has come', async () => {
    const missing = new PostgresStore('postgres://127.0.0.1:1/d', { timeoutMs: 30_000 });
    expect(await errorOf(missing.read(['k']))).toMatchObject({ code: 'UNREACHABLE' });
    await missing.close();
    expect(await errorOf(missing.read(['k']))).toMatchObject({ code: 'CLOSED' });
  });
});

describe('postgres tells what it is', () => {
  test('a document is what an administrator sees', async () => {
    const place = newPlace('seen');
    const store = await preparedAt(place);
    await store.write([
      { key: 'register/鍵', text: '{"a":"\\"b"}', expected: undefined },
      { key: 'one\u0001two\u0000', text: '\u0000\u0001\u0002', expected: undefined },
    ]);
    const seen = await server.query(`SELECT key, text FROM "${place}" WHERE key LIKE 'register/%'`);
    expect(seen).toEqual([{ key: 'register/鍵', text: '{"a":"\\"b"}' }]);
    expect(await store.read(['one\u0001two\u0000'])).toMatchObject([{ text: '\u0000\u0001\u0002' }]);
  });

  test('what is answered is on disk, even where the server is told not to wait for it', async () => {
    await configure('synchronous_commit = off', 'wal_writer_delay = 10000', 'bgwriter_delay = 10000');
    const store = await preparedAt(newPlace('asynchronous'));
    for (let at = 0; at < 5; at += 1) {
      const results = await store.write([{ key: `k${at}`, text: 'kept', expected: undefined }]);
      expect(results).toMatchObject([{ result: 'written' }]);
    }
    await server.kill();
    await server.start();
    await until('it is back', () => store.list('', 10));
    expect(await store.list('', 10)).toEqual(['k0', 'k1', 'k2', 'k3', 'k4']);
  });

  test.each([
    ['fsync = off', 'set fsync = on'],
    ['full_page_writes = off', 'set full_page_writes = on'],
  ])('a server with %s is refused', async (setting, wayOut) => {
    await configure(setting);
    const error = await errorOf(storeAt(server.urlOf('refused')).prepare());
    expect(error).toMatchObject({ code: 'STORE_FAILED', message: expect.stringContaining(wayOut) });
  });

  test('a standby is refused', async () => {
    await server.kill();
    await server.put('standby.signal', '');
    onTestFinished(async () => {
      await server.kill();
      await server.take('standby.signal');
      await server.start();
    });
    await server.start();
    const error = await errorOf(storeAt(server.urlOf('refused')).list('', 1));
    expect(error).toMatchObject({ code: 'STORE_FAILED', message: expect.stringContaining('is a standby') });
  });

  test.each([
    ['CREATE UNLOGGED TABLE NAME (key text PRIMARY KEY, version text, text text)', 'SET LOGGED'],
    ['CREATE TABLE NAME (key text PRIMARY KEY, version text)', 'a table of another shape'],
    ['CREATE TABLE NAME (key text, version text, text text)', 'a table of another shape'],
    ['CREATE VIEW NAME AS SELECT 1 AS key', 'something else than a plain table'],
    [
      'CREATE TABLE NAME (key text PRIMARY KEY, version text, text text) PARTITION BY HASH (key)',
      'something else than a plain table',
    ],
  ])('what is no table for it is refused: %s', async (statement, complaint) => {
    const place = newPlace('refused');
    await server.query(statement.replace('NAME', `"${place}"`));
    const store = storeAt(server.urlOf(place));
    const error = await errorOf(store.write([{ key: 'k', text: 'v', expected: undefined }]));
    expect(error).toMatchObject({ code: 'STORE_FAILED', message: expect.stringContaining(complaint) });
  });

  test('a table that is gone is not an empty one', async () => {
    const place = newPlace('gone');
    const store = await preparedAt(place);
    expect(await store.read(['k'])).toEqual([undefined]);
    await server.query(`DROP TABLE "${place}"`);
    const gone = { code: 'STORE_FAILED', message: expect.stringContaining('has lost its table') };
    expect(await errorOf(store.read(['k']))).toMatchObject(gone);
    expect(await errorOf(store.list('', 1))).toMatchObject(gone);
    expect(await errorOf(store.write([{ key: 'k', text: 'v', expected: undefined }]))).toMatchObject(gone);
    const nowhere = storeAt(`postgres://postgres@127.0.0.1:${server.port}/nowhere`);
    const message = expect.stringContaining('has no such database');
    expect(await errorOf(nowhere.prepare())).toMatchObject({ code: 'STORE_FAILED', message });
  });
});

describe('postgres that becomes unsafe while it is used', () => {
  const refused = (what: string): object => ({
    code: 'STORE_FAILED',
    message: expect.stringContaining(what),
  });

  test.each([
    ['fsync = off', 'set fsync = on'],
    ['full_page_writes = off', 'set full_page_writes = on'],
    ['zero_damaged_pages = on', 'set zero_damaged_pages = off'],
  ])(
    'by %s is refused from the next look on, and works again when that is mended',
    async (setting, wayOut) => {
      const store = await preparedAt(newPlace('changed'));
      await store.lookAgain();
      await configure(setting);
      expect(await errorOf(store.lookAgain())).toMatchObject(refused(wayOut));
      expect(await errorOf(store.read(['k']))).toMatchObject(refused(wayOut));
      await server.query(`ALTER SYSTEM RESET ${setting.split(' ')[0]}`);
      await server.query('SELECT pg_reload_conf()');
      await until('it is well again', () => store.lookAgain().then(() => true));
      expect(await store.read(['k'])).toEqual([undefined]);
      expect(store.lineage.broken).toBeUndefined();
    },
  );

  test('by an altered table is refused from the next look on', async () => {
    const place = newPlace('changed');
    const store = await preparedAt(place);
    await server.query(`ALTER TABLE "${place}" SET UNLOGGED`);
    expect(await errorOf(store.lookAgain())).toMatchObject(refused('SET LOGGED'));
    await server.query(`ALTER TABLE "${place}" SET LOGGED`);
    await until('it is well again', () => store.lookAgain().then(() => true));
  });

  test('and gets another time zone meanwhile is still the same life of it', async () => {
    const store = await preparedAt(newPlace('changed'));
    await store.lookAgain();
    onTestFinished(async () => {
      await server.query('ALTER SYSTEM RESET timezone');
      await server.query('SELECT pg_reload_conf()');
    });
    await configure('fsync = off');
    expect(await errorOf(store.lookAgain())).toMatchObject(refused('set fsync = on'));
    await server.query('ALTER SYSTEM RESET fsync');
    await server.query(`ALTER SYSTEM SET timezone = 'Asia/Kathmandu'`);
    await server.query('SELECT pg_reload_conf()');
    await until('it is well again', () => store.lookAgain().then(() => true));
    expect(store.lineage.broken).toBeUndefined();
  });

  test('and ends before that is mended is not used again, by anybody', async () => {
    const place = newPlace('changed');
    const store = await preparedAt(place);
    const acceptor = new StoreAcceptor(store);
    await acceptor.describe();
    expect(typesOf(await acceptor.handle([accept('k', 1, 'v')], 0))).toEqual(['2b']);
    await configure('fsync = off');
    expect(await errorOf(store.lookAgain())).toMatchObject(refused('set fsync = on'));
    await server.query('ALTER SYSTEM RESET fsync');
    await server.kill();
    await server.start();
    await isRetired(server, place, acceptor, 'would lose what it answered with the power (fsync is off)');
  });
});

describe('permissions on postgres', () => {
  test('a user who may not make tables works with one that is there', async () => {
    const place = newPlace('granted');
    await preparedAt(place);
    const url = await asUser('granted', place);
    await server.query(`GRANT SELECT, INSERT, UPDATE ON "${place}" TO granted`);
    const store = storeAt(url);
    const acceptor = new StoreAcceptor(store);
    await acceptor.describe();
    expect(typesOf(await acceptor.handle([promise('k', 1), accept('k', 1, 'v')], 0))).toEqual(['1b', '2b']);
    expect(typesOf(await acceptor.handle([accept('k', 2, 'w')], 0))).toEqual(['2b']);
  });

  test('what a user lacks is named', async () => {
    const place = newPlace('lacking');
    const store = storeAt(await asUser('lacking', place));
    const create = { code: 'UNAUTHORIZED', message: expect.stringContaining('grant CREATE on its schema') };
    expect(await errorOf(store.prepare())).toMatchObject(create);
    await preparedAt(place);
    const select = { code: 'UNAUTHORIZED', message: expect.stringContaining('GRANT SELECT ON') };
    expect(await errorOf(store.read(['k']))).toMatchObject(select);
    await server.query(`GRANT SELECT, INSERT ON "${place}" TO lacking`);
    const update = { code: 'UNAUTHORIZED', message: expect.stringContaining('SELECT, INSERT and UPDATE') };
    expect(await errorOf(store.write([{ key: 'k', text: 'v', expected: undefined }]))).toMatchObject(update);
  });

  test('rows that are hidden from a user are not taken for absent', async () => {
    const place = newPlace('hidden');
    await preparedAt(place);
    const url = await asUser('hidden', place);
    await server.query(
      `GRANT SELECT, INSERT, UPDATE ON "${place}" TO hidden; ALTER TABLE "${place}" ENABLE ROW LEVEL SECURITY`,
    );
    expect(await errorOf(storeAt(url).read(['k']))).toMatchObject({
      code: 'STORE_FAILED',
      message: expect.stringContaining('hides rows'),
    });
  });

  test('a wrong password is refused, and is nowhere to be read; nor is a right one', async () => {
    const place = newPlace('secret');
    const right = storeAt(await asUser('somebody', place));
    const wrong = storeAt(right.url.replace('//', '//somebody:wr0ng@'));
    const none = storeAt(right.url.replace('//', '//somebody@'));
    const errors = [await errorOf(wrong.read(['k'])), await errorOf(none.read(['k']))];
    for (const error of errors) expect(error).toMatchObject({ code: 'UNAUTHORIZED' });
    await errorOf(right.read(['k']));
    for (const thing of [...errors, right, wrong, none]) {
      const shown = `${inspect(thing, { depth: 20, showHidden: true })} ${JSON.stringify(thing)}`;
      expect(shown).not.toMatch(/wr0ng|se:cret|se%3Acret|somebody/);
    }
  });
});

describe('secure connections to postgres', () => {
  test('are made to a server that proves who it is, and to no other', async () => {
    const place = newPlace('secure');
    await preparedAt(place);
    const url = `${server.urlOf(place)}&tls=on`;
    const away = { code: 'UNREACHABLE' };
    expect(await errorOf(storeAt(url).read(['k']))).toMatchObject(away);
    const authority = await makeAuthority();
    const issued = await issueCertificate(authority, { name: 'postgres', hosts: ['127.0.0.1'] });
    await server.put('server.crt', issued.cert);
    await server.put('server.key', issued.key);
    await configure('ssl = on');
    const ca = join(temporaryDirectory(), 'ca.pem');
    await writeFile(ca, authority.cert);
    expect(await errorOf(storeAt(url).read(['k']))).toMatchObject(away);
    const stranger = await makeAuthority();
    expect(await errorOf(storeAt(url, { ca: stranger.cert }).read(['k']))).toMatchObject(away);
    for (const store of [storeAt(url, { ca: authority.cert }), storeAt(`${url}&ca=${ca}`)])
      expect(await store.read(['k'])).toEqual([undefined]);
    const secure = `SELECT 1 FROM pg_stat_activity JOIN pg_stat_ssl USING (pid) WHERE application_name = 'baton' AND ssl`;
    expect((await server.query(secure)).length).toBe(2);
    // By another name, the same certificate proves nothing.
    const localhost = storeAt(url.replace('127.0.0.1', 'localhost'), { ca: authority.cert });
    expect(await errorOf(localhost.read(['k']))).toMatchObject(away);
  });
});
