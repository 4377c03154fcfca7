/**
 * A copy of a server in its place: promoted, or restored. It has the acceptor's identity and lacks what was answered after the copy
 * was made. What was answered before is all that a process here knows of, so that nothing but the server's line of memory can tell it.
 */
import { type AcceptorStore, EtcdStore, PostgresStore, RedisStore, StoreAcceptor } from 'baton/caspaxos';
import { createClient } from 'redis';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { accept, typesOf } from '../conformance/messages.ts';
import { findProgram, needProgram } from '../support/programs.ts';
import { until } from '../support/until.ts';
import { askEtcd, startEtcd } from './servers/etcd.ts';
import { type PostgresServer, startPostgres } from './servers/postgres.ts';
import { startRedis } from './servers/redis.ts';
import type { ServerProcess } from './servers/server.ts';

const OPTIONS = { timeoutMs: 30_000 };
/** What a server that is just starting is called. */
const DOWN = /^(?:UNREACHABLE|TIMED_OUT)$/;

async function codeOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => 'none',
    (error: { code?: string }) => error.code ?? 'no code',
  );
}

async function named(store: AcceptorStore): Promise<StoreAcceptor> {
  onTestFinished(() => store.close());
  const acceptor = new StoreAcceptor(store);
  const { id } = await acceptor.describe();
  acceptor.expect(id);
  return acceptor;
}

/** What becomes of a ballot, once the server is reached. */
function proposing(acceptor: StoreAcceptor, key: string, counter: number): Promise<string> {
  return until('the server is reached', async () => {
    const code = await codeOf(acceptor.handle([accept(key, counter, String(counter))], 0));
    if (DOWN.test(code)) throw new Error(code);
    return code;
  });
}

describe('postgres', () => {
  let server: PostgresServer;

  beforeAll(async () => {
    if (findProgram('postgres').path !== undefined) server = await startPostgres();
  });
  beforeEach((context) => void needProgram(context, 'postgres'));
  afterAll(() => server?.close());

  async function opened(place: string): Promise<PostgresStore> {
    const store = new PostgresStore(server.urlOf(place), OPTIONS);
    onTestFinished(() => store.close());
    return store;
  }

  test('that was killed, or restarted, is of the same line of memory', async () => {
    const acceptor = await named(await opened('restarted'));
    await server.kill();
    await server.start();
    expect(await proposing(acceptor, 'k', 1)).toBe('none');
    await server.snapshot();
    expect(await proposing(acceptor, 'k', 2)).toBe('none');
    await server.query('CHECKPOINT');
    expect(await codeOf((await named(await opened('restarted'))).handle([accept('k', 3, 'x')], 0))).toBe(
      'none',
    );
  });

  test('that another takes the place of behind a pooler is found out by the next look, on the same connection', async () => {
    // What the server behind the pooler says of itself: the function of the same name comes later on the path of this user.
    await server.query(`CREATE ROLE pooled LOGIN SUPERUSER PASSWORD 'secret'`);
    await server.query('ALTER ROLE pooled SET search_path = fake, pg_catalog');
    await server.query('CREATE SCHEMA fake');
    await server.query('CREATE TABLE fake.server (system_identifier bigint)');
    await server.query('INSERT INTO fake.server VALUES (1)');
    await server.query(
      'CREATE FUNCTION fake.pg_control_system() RETURNS SETOF fake.server LANGUAGE sql AS $$ SELECT * FROM fake.server $$',
    );
    const url = `postgres://pooled:secret@127.0.0.1:${server.port}/postgres?table=fake.documents`;
    const store = new PostgresStore(url, OPTIONS);
    const acceptor = await named(store);
    expect(store.lineage.line).toMatch(/^system 1, timeline \d+$/);
    await store.lookAgain();
    await server.query('UPDATE fake.server SET system_identifier = 2');
    await store.lookAgain();
    expect(store.lineage.broken).toMatchObject({ code: 'ACCEPTOR_PROMOTED' });
    expect(await codeOf(acceptor.handle([accept('k', 1, 'v')], 0))).toBe('ACCEPTOR_PROMOTED');
  });

  test('tells every user its line of memory', async () => {
    await server.query(`CREATE ROLE plain LOGIN PASSWORD 'secret'`);
    await server.query('GRANT CREATE ON SCHEMA public TO plain');
    const url = `postgres://plain:secret@127.0.0.1:${server.port}/postgres?table=plain`;
    const store = new PostgresStore(url, OPTIONS);
    await named(store);
    expect(store.lineage.line).toMatch(/^system \d+, timeline 1$/);
  });

  test('of which a copy was promoted is not used any more, by those who were there and those who come', async () => {
    const acceptor = await named(await opened('promoted'));
    expect(await proposing(acceptor, 'unchanged', 1)).toBe('none');
    const restore = await server.snapshot();
    expect(await proposing(acceptor, 'unchanged', 1)).toBe('none');
    const another = await named(await opened('promoted'));
    expect(typesOf(await another.handle([accept('k', 1, 'acknowledged')], 0))).toEqual(['2b']);

    await restore();
    await server.kill();
    await server.put('standby.signal', '');
    await server.start();
    await server.query('SELECT pg_promote()');

    expect(await proposing(acceptor, 'unchanged', 2)).toBe('ACCEPTOR_PROMOTED');
    await expect(new StoreAcceptor(await opened('promoted')).describe()).rejects.toMatchObject({
      code: 'ACCEPTOR_PROMOTED',
      message: expect.stringMatching(/it was system (\d+), timeline 1 and is system \1, timeline 2/),
    });
    // Its own disk comes back: who has used the copy in between nobody knows, and it is not asked any more here.
    expect(await codeOf(acceptor.describe())).toBe('ACCEPTOR_PROMOTED');
  });
});

describe('etcd', () => {
  let server: ServerProcess;

  beforeAll(async () => {
    if (findProgram('etcd').path !== undefined) server = await startEtcd();
  });
  beforeEach((context) => void needProgram(context, 'etcd'));
  afterAll(() => server?.close());

  function opened(place: string): EtcdStore {
    const store = new EtcdStore(server.urlOf(place), OPTIONS);
    onTestFinished(() => store.close());
    return store;
  }

  test('that was killed, or restarted, is of the same line of memory', async () => {
    const acceptor = await named(opened('restarted'));
    await server.kill();
    await server.start();
    expect(await proposing(acceptor, 'k', 1)).toBe('none');
    await server.snapshot();
    expect(await proposing(acceptor, 'k', 2)).toBe('none');
    expect(await proposing(await named(opened('restarted')), 'k', 3)).toBe('none');
  });

  test('from an old copy is behind, whichever registers are known', async () => {
    const acceptor = await named(opened('restored'));
    expect(await proposing(acceptor, 'unchanged', 1)).toBe('none');
    const restore = await server.snapshot();
    expect(await proposing(acceptor, 'unchanged', 1)).toBe('none');
    const another = await named(opened('restored'));
    expect(typesOf(await another.handle([accept('k', 1, 'acknowledged')], 0))).toEqual(['2b']);
    // An answer that shows it to this process, too.
    await acceptor.list('', 10);
    await restore();
    expect(await proposing(acceptor, 'unchanged', 2)).toBe('ACCEPTOR_BEHIND');
    await expect(new StoreAcceptor(opened('restored')).describe()).rejects.toMatchObject({
      code: 'ACCEPTOR_BEHIND',
      message: expect.stringMatching(/its revision was \d+ and is \d+, as in an old copy/),
    });
  });

  test('restored as another cluster in its place is not used any more', async () => {
    const acceptor = await named(opened('moved'));
    expect(await proposing(acceptor, 'unchanged', 1)).toBe('none');
    const all = { key: 'AA==', range_end: 'AA==' };
    const { kvs } = (await askEtcd(server.port, '/v3/kv/range', all)) as { kvs: readonly object[] };
    await server.close();
    server = await startEtcd(undefined, server.port);
    const puts = kvs.map((kv) => {
      const { key, value } = kv as { key: string; value: string };
      return { request_put: { key, value } };
    });
    // More often than once: its revision is no lower than that of the first.
    for (let round = 0; round < 20; round += 1) await askEtcd(server.port, '/v3/kv/txn', { success: puts });
    expect(await proposing(acceptor, 'unchanged', 2)).toBe('ACCEPTOR_PROMOTED');
    await expect(new StoreAcceptor(opened('moved')).describe()).rejects.toMatchObject({
      code: 'ACCEPTOR_PROMOTED',
      message: expect.stringMatching(/it was etcd cluster \d+ and is etcd cluster \d+/),
    });
  });
});

describe('redis', () => {
  let server: ServerProcess;

  beforeAll(async () => {
    if (findProgram('redis-server').path !== undefined) server = await startRedis();
  });
  beforeEach((context) => void needProgram(context, 'redis-server'));
  afterAll(() => server?.close());

  function opened(place: string): RedisStore {
    const store = new RedisStore(server.urlOf(place), OPTIONS);
    onTestFinished(() => store.close());
    return store;
  }

  test('that was killed, restarted, or has written its file anew is of the same line of memory', async () => {
    const acceptor = await named(opened('restarted'));
    await server.kill();
    await server.start();
    expect(await proposing(acceptor, 'k', 1)).toBe('none');
    await tellRedis(server.port, 'BGREWRITEAOF');
    await until('the file is written', async () =>
      (await tellRedis(server.port, 'INFO', 'persistence')).includes('aof_rewrite_in_progress:0'),
    );
    await server.snapshot();
    expect(await proposing(acceptor, 'k', 2)).toBe('none');
    expect(await proposing(await named(opened('restarted')), 'k', 3)).toBe('none');
  });

  test('of which a replica was promoted in its place is not used any more', async () => {
    const acceptor = await named(opened('promoted'));
    expect(await proposing(acceptor, 'unchanged', 1)).toBe('none');
    const replica = await startRedis([`--replicaof 127.0.0.1 ${server.port}`]);
    const master = server;
    onTestFinished(() => replica.close());
    await until('the replica has everything', async () =>
      (await tellRedis(replica.port, 'INFO', 'replication')).includes('master_link_status:up'),
    );
    await tellRedis(replica.port, 'REPLICAOF', 'NO', 'ONE');
    // What it copied it writes to a file of its own, and is refused until it has one.
    await until('the replica has its file', async () =>
      /aof_rewrite_in_progress:0\r\naof_rewrite_scheduled:0/.test(
        await tellRedis(replica.port, 'INFO', 'persistence'),
      ),
    );
    const another = await named(opened('promoted'));
    expect(typesOf(await another.handle([accept('k', 1, 'acknowledged')], 0))).toEqual(['2b']);

    await master.kill();
    await tellRedis(replica.port, 'CONFIG', 'SET', 'port', String(master.port));
    expect(await proposing(acceptor, 'unchanged', 2)).toBe('ACCEPTOR_PROMOTED');
    await expect(new StoreAcceptor(opened('promoted')).describe()).rejects.toMatchObject({
      code: 'ACCEPTOR_PROMOTED',
      message: expect.stringMatching(/it was a master since it started and is a copy of \w+ up to \d+/),
    });
  });
});

/** What the server answers to an administrator. */
async function tellRedis(port: number, ...words: readonly string[]): Promise<string> {
  const client = createClient({ url: `redis://127.0.0.1:${port}`, RESP: 2 });
  client.on('error', () => {});
  await client.connect();
  try {
    return await client.sendCommand<string>([...words]);
  } finally {
    client.destroy();
  }
}
