import { readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { Daemons, placeOf, REGIONS, RpcClient, START_MS } from '../../../test/server/daemons.ts';
import { until } from '../../../test/support/until.ts';
import {
  type ClusterMap,
  decodeFeedAnswer,
  decodeMap,
  decodeScanAnswer,
  encodeFeed,
  encodeScan,
  METHODS,
  packed,
} from '../../client/index.ts';
import { parseClusterFile } from '../config/index.ts';
import { NodeDaemon } from './node-daemon.ts';
import type { PartitionSetView } from './views.ts';

const CALL = { timeoutMs: 60_000 };
const SILENT = { debug() {}, info() {}, warn() {}, error() {} };

interface Views {
  readonly partitionSets: readonly PartitionSetView[];
}

describe('what a node answers', () => {
  let there: Daemons;
  let map: ClusterMap;

  beforeAll(async () => {
    there = await Daemons.running();
    map = (await there.get('west', '/v1/map')).json as ClusterMap;
  }, START_MS);
  afterAll(() => there.end());

  const viewOf = async (
    region: 'west' | 'east' | 'north',
    set: string,
    fresh = '',
  ): Promise<PartitionSetView> => {
    const { json } = await there.get(region, `/v1/partition-sets?partitionSet=${set}${fresh}`);
    return (json as Views).partitionSets[0]!;
  };

  test('about itself: who it is, its acceptors, its peers', async () => {
    await until('its peers are up', async () =>
      ((await there.get('west', '/v1/node')).json as { peers: { isUp: boolean }[] }).peers.every(
        ({ isUp }) => isUp,
      ),
    );
    const { status, json } = await there.get('west', '/v1/node');
    expect(status).toBe(200);
    expect(json).toMatchObject({
      cluster: 'demo',
      node: 'west-1',
      region: 'west',
      incarnation: 1,
      partitionSets: ['items-00', 'items-01'],
      acceptors: [
        { name: 'a1', isUp: true },
        { name: 'a2', isUp: true },
        { name: 'a3', isUp: true },
      ],
      peers: [
        { region: 'east', node: 'east-1', isUp: true },
        { region: 'north', node: 'north-1', isUp: true },
      ],
    });
  });

  test('the map, over HTTP and to clients alike', async () => {
    expect(map.regions.map(({ name }) => name)).toEqual(REGIONS);
    expect(map.containers).toMatchObject([
      { name: 'items', partitionKey: ['/id'], partitionSets: [{ name: 'items-00', from: '' }, { to: 'FF' }] },
    ]);
    const client = await there.client('east');
    expect(decodeMap(await client.connection.call(METHODS.map, packed([]), CALL))).toEqual(map);
  });

  test('the state, what regions report and what is measured here, side by side', async () => {
    const { json } = await there.get('east', '/v1/partition-sets');
    expect((json as Views).partitionSets.map(({ partitionSet }) => partitionSet)).toEqual([
      'items-00',
      'items-01',
    ]);
    const view = await viewOf('east', 'items-01', '&fresh=1');
    expect(view).toMatchObject({
      container: 'items',
      range: { to: 'FF' },
      phase: 'Steady',
      configuration: { priorities: REGIONS, consistency: 'Strong', minDurability: 2 },
      local: { region: 'east', role: 'reader', canWrite: false, canRead: true, canCommit: true },
      pausedAutomatic: false,
    });
    expect(Object.keys(view.regions)).toEqual(REGIONS);
    expect((await there.get('east', '/v1/partition-sets?partitionSet=none')).json).toMatchObject({
      error: { code: 'UNKNOWN_PARTITION_SET' },
    });
  });

  test('clients: writes, refusals with who writes, reads, scans, the feed', async () => {
    const [west, east] = [await there.client('west'), await there.client('east')];
    const set = placeOf(map, 'a');
    const { gcn } = await viewOf('west', set);
    expect(await west.put(set, 'a')).toMatchObject({ outcome: 'done', results: [{ status: 201 }] });
    expect(await east.put(set, 'a')).toEqual({
      outcome: 'refused',
      code: 'NOT_WRITER',
      writer: { region: 'west', gcn },
    });
    expect(await west.put('none', 'a')).toEqual({ outcome: 'refused', code: 'UNKNOWN_PARTITION_SET' });
    const other = set === 'items-00' ? 'items-01' : 'items-00';
    expect(await west.put(other, 'a')).toEqual({ outcome: 'refused', code: 'WRONG_PARTITION_SET' });
    expect(await east.get(set, 'a')).toMatchObject({ outcome: 'done', version: { id: 'a' } });

    const ids = Array.from({ length: 40 }, (_, at) => `b${at}`).filter((id) => placeOf(map, id) === set);
    for (const id of ids) await west.put(set, id, 'x'.repeat(1000));
    const scan = { partitionSet: set, timeoutMs: 1000, from: '', to: 'FF', level: 'Strong' as const };
    const call = async (more: { limit: number; maxBytes: number; after?: { epk: string; id: string } }) =>
      decodeScanAnswer(await west.connection.call(METHODS.scan, encodeScan({ ...scan, ...more }), CALL));
    const all = await call({ limit: 1000, maxBytes: 1e6 });
    expect(all).toMatchObject({ outcome: 'done', hasMore: false });
    const versions = all.outcome === 'done' ? all.versions : [];
    expect(versions.map(({ id }) => id).toSorted()).toEqual(['a', ...ids].toSorted());
    const { epk, id } = versions[0]!;
    expect(await call({ limit: 2, maxBytes: 1e6, after: { epk, id } })).toMatchObject({
      versions: [{ id: versions[1]!.id }, { id: versions[2]!.id }],
      hasMore: true,
    });
    const small = await call({ limit: 1000, maxBytes: 2500 });
    expect(small).toMatchObject({ hasMore: true });
    expect(small.outcome === 'done' && small.versions.length).toBeLessThan(5);

    const feed = { partitionSet: set, after: { epoch: 0, lsn: 0 }, maxBytes: 1e6, waitMs: 10_000 };
    const page = decodeFeedAnswer(await east.connection.call(METHODS.feed, encodeFeed(feed), CALL));
    expect(page).toMatchObject({ outcome: 'done' });
    expect(page.outcome === 'done' && page.entries[0]).toMatchObject({ changes: [{ id: 'a' }] });
    await expect(west.connection.call(99, packed([]), CALL)).rejects.toMatchObject({
      code: 'METHOD_UNKNOWN',
    });
    await expect(west.connection.call(METHODS.write, packed([1]), CALL)).rejects.toMatchObject({
      code: 'MALFORMED',
      outcome: 'rejected',
    });
  });

  test('the feed waits for news', async () => {
    const [west, north] = [await there.client('west'), await there.client('north')];
    const set = placeOf(map, 'news');
    await west.put(set, 'news', 1);
    const ask = async (after: { epoch: number; lsn: number }) =>
      decodeFeedAnswer(
        await north.connection.call(
          METHODS.feed,
          encodeFeed({ partitionSet: set, after, maxBytes: 1e6, waitMs: 20_000 }),
          CALL,
        ),
      );
    let position = { epoch: 0, lsn: 0 };
    await until('the news are there', async () => {
      const page = await ask(position);
      if (page.outcome !== 'done') return false;
      position = page.position;
      return page.entries.some(({ changes }) => changes.some(({ id }) => id === 'news'));
    });
    const waiting = ask(position);
    await west.put(set, 'news', 2);
    expect(await waiting).toMatchObject({ outcome: 'done', entries: [{ changes: [{ id: 'news' }] }] });
  });

  test('an intent: what it would do, why not, and what it did', async () => {
    const intent = { kind: 'switchover', target: 'east' };
    const tried = await there.wish('north', 'items-00', { intent, dryRun: true });
    expect(tried).toMatchObject({
      status: 200,
      json: {
        dryRun: true,
        changes: [{ field: 'open', from: [], to: [{ kind: 'switchover', target: 'east' }] }],
      },
    });
    expect((await viewOf('north', 'items-00', '&fresh=1')).intents.open).toEqual([]);
    const mars = { intent: { kind: 'switchover', target: 'mars' } };
    for (const more of [{}, { dryRun: true }])
      expect(await there.wish('north', 'items-00', { ...mars, ...more })).toMatchObject({
        status: 409,
        json: { error: { code: 'INTENT_REFUSED', message: 'mars is not a region of this partition-set.' } },
      });
    expect(await there.wish('north', 'items-00', { intent, gcn: 1_000_000 })).toMatchObject({ status: 200 });
    await until('the east writes', async () => (await viewOf('north', 'items-00')).writeRegion === 'east');
    const { json } = await there.get('north', '/v1/partition-sets/items-00/history?fresh=1');
    expect(json).toMatchObject({
      history: [
        { what: 'began', why: 'operator', region: 'east' },
        {
          what: 'switched',
          sentence: expect.stringContaining('The writes moved to east without loss') as string,
        },
      ],
    });
    await until(
      'the east knows it',
      async () => (await there.get('east', '/primary?partitionSet=items-00')).status === 200,
    );
    expect((await there.get('east', '/primary')).status).toBe(503);
    expect((await there.get('east', '/replica')).status).toBe(200);
  });

  test.each([
    [{ intent: { kind: 'dance' } }, 'kind'],
    [{ intent: { kind: 'switchover' } }, 'target'],
    [{ intent: { kind: 'pause' }, id: '' }, 'id'],
    [{ intent: { kind: 'pause' }, gcn: 'x' }, 'gcn'],
    [{ intent: 7 }, 'intent'],
    [{ intent: { kind: 'pause' }, dryrun: true }, 'dryrun'],
    [{ intent: { kind: 'durability', minDurability: 0.5 } }, 'minDurability'],
  ])('%j is no intent', async (body, field) => {
    const answer = await there.wish('west', 'items-01', body);
    expect(answer).toMatchObject({ status: 400, json: { error: { code: 'BAD_REQUEST' } } });
    expect(JSON.stringify(answer.json)).toContain(field);
  });

  test('lost writes: none here, and none to see to', async () => {
    expect((await there.get('west', '/v1/lost-writes')).json).toEqual({ lostWrites: [], hasMore: false });
    const name = { partitionSet: 'items-00', epoch: 1, lsn: 1 };
    for (const how of ['reapply', 'dismiss'])
      expect(await there.post('west', `/v1/lost-writes/${how}`, name)).toMatchObject({
        status: 404,
        json: { error: { code: 'LOST_WRITE_UNKNOWN' } },
      });
    expect((await there.post('west', '/v1/lost-writes/dismiss', {})).status).toBe(400);
  });

  test('garbage on the port of clients leaves the node as it was', async () => {
    const port = there.ports.rpc['west']!;
    for (const bytes of [
      Buffer.alloc(100_000, 0xff),
      Buffer.from('GET / HTTP/1.1\r\n\r\n'),
      Buffer.alloc(3),
    ]) {
      await new Promise<void>((resolve) => {
        const socket = connect({ host: '127.0.0.1', port });
        socket.on('error', () => {}).on('close', () => resolve());
        socket.end(bytes);
        socket.resume();
      });
    }
    const client = await there.client('west');
    expect(await client.get('items-01', 'nobody')).toBeDefined();
    const { status } = await there.get('west', '/health');
    expect(status).toBe(200);
  });
});

describe('tokens', () => {
  let there: Daemons;
  const secret = (name: string): string => `${name}-token-0123456789`;
  const tokens = (client: string): string =>
    `tokens: { node: ${secret('node')}, client: ${client}, operator: ${secret('operator')} }`;

  beforeAll(async () => {
    there = await Daemons.running({ more: tokens(secret('client')) });
  }, START_MS);
  afterAll(() => there.end());

  test('nodes that know theirs work together; operators show theirs', async () => {
    expect((await there.get('west', '/v1/node')).status).toBe(401);
    expect(
      (await there.get('west', '/v1/node', { authorization: `Bearer ${secret('client')}` })).status,
    ).toBe(401);
    expect(
      (await there.get('west', '/v1/node', { authorization: `Bearer ${secret('operator')}` })).status,
    ).toBe(200);
    expect((await there.get('west', '/health')).status).toBe(200);
    const { json } = await there.wish('west', 'items-00', { intent: { kind: 'pause' } });
    expect(json).toMatchObject({ error: { code: 'NOT_AUTHORIZED' } });
  });

  test('each opens its own door only', async () => {
    const port = there.ports.rpc['west']!;
    const refused = { code: 'NOT_AUTHORIZED' };
    await RpcClient.to(port, { token: secret('client') });
    await expect(RpcClient.to(port)).rejects.toMatchObject(refused);
    await expect(RpcClient.to(port, { token: secret('node') })).rejects.toMatchObject(refused);
    await expect(RpcClient.to(port, { token: secret('operator') })).rejects.toMatchObject(refused);
    const peer = { role: 'node' as const, node: 'east-1', region: 'east' };
    await expect(RpcClient.to(port, { ...peer, token: secret('client') })).rejects.toMatchObject(refused);
    await expect(RpcClient.to(port, peer)).rejects.toMatchObject(refused);
    const stranger = { ...peer, node: 'east-9', token: secret('node') };
    await expect(RpcClient.to(port, stranger)).rejects.toMatchObject(refused);
  });

  test('a reload changes them at once, and says what it cannot change', async () => {
    there.writeFile(`${tokens(secret('later'))}\nlog: { level: debug }`);
    const text = readFileSync(there.path, 'utf8').replace('cluster: demo', 'cluster: other');
    const { live, restart, refused } = there
      .daemon('west')
      .reload(parseClusterFile(text, { path: there.path }));
    expect(live.map(({ field }) => field).toSorted()).toEqual(['log.level', 'tokens.client']);
    expect(restart).toMatchObject([{ field: 'account.name' }]);
    expect(refused).toMatchObject([{ field: 'cluster' }]);
    const port = there.ports.rpc['west']!;
    await RpcClient.to(port, { token: secret('later') });
    await expect(RpcClient.to(port, { token: secret('client') })).rejects.toMatchObject({
      code: 'NOT_AUTHORIZED',
    });
  });
});

describe('a start that cannot be', () => {
  let there: Daemons | undefined;
  afterEach(() => there?.end());

  test('a name that the file does not have', async () => {
    there = await Daemons.of();
    await expect(NodeDaemon.start(there.config(), 'west-9', { logger: SILENT })).rejects.toMatchObject({
      code: 'NODE_UNKNOWN',
    });
  });

  test('ports that are taken, data that are in use: a code each, and what was opened is closed again', async () => {
    there = await Daemons.of();
    const first = await there.start('west');
    await expect(there.start('west')).rejects.toMatchObject({ code: 'DATA_IN_USE' });
    const config = there.config();
    const elsewhere = (change: object) => ({
      ...config,
      regions: config.regions.map((region) => ({
        ...region,
        nodes: region.nodes.map((node) => ({ ...node, ...(region.name === 'west' && change) })),
      })),
    });
    const data = join(there.directory, 'other');
    const start = (change: object) => NodeDaemon.start(elsewhere(change), 'west-1', { logger: SILENT });
    await expect(start({ data })).rejects.toMatchObject({ code: 'HTTP_LISTEN_FAILED' });
    const http = { host: '127.0.0.1', port: there.ports.http['north']! };
    await expect(start({ data, http })).rejects.toMatchObject({ code: 'LISTEN_FAILED' });
    const listen = { host: '127.0.0.1', port: there.ports.rpc['north']! };
    const second = await start({ data, http, listen });
    await second.close();
    await first.close();
  });

  test('too little room on the disk, or no directory', async () => {
    there = await Daemons.of();
    const room = there.start('west', { leastFreeBytes: 2 ** 60 });
    await expect(room).rejects.toMatchObject({ code: 'DISK_TOO_SMALL' });
    writeFileSync(join(there.directory, 'west-1x'), '');
    const config = there.config();
    const [west, ...others] = config.regions;
    const node = { ...west!.nodes[0]!, data: join(there.directory, 'west-1x', 'data') };
    const start = NodeDaemon.start(
      { ...config, regions: [{ ...west!, nodes: [node] }, ...others] },
      'west-1',
      { logger: SILENT },
    );
    await expect(start).rejects.toMatchObject({ code: 'DATA_UNUSABLE' });
  });

  test('certificates that are not there', async () => {
    there = await Daemons.of({ more: 'tls: { ca: ca.pem, cert: "{name}.pem", key: "{name}.key" }' });
    await expect(there.start('west')).rejects.toMatchObject({ code: 'TLS_UNREADABLE' });
  });
});

describe('acceptors that are away', () => {
  test('are waited for: it says so, and can be told to stop', async () => {
    const acceptors = ['a1', 'a2', 'a3'].map(
      (name, at) => `{ name: ${name}, url: "http://127.0.0.1:${11_001 + at}" }`,
    );
    const there = await Daemons.of({ acceptors });
    onTestFinished(() => there.end());
    const stop = new AbortController();
    const starting = there.start('west', { signal: stop.signal });
    const ended = starting.catch((error: unknown) => error);
    await until('it waits for its acceptors', async () => {
      const { status, json } = await there.get('west', '/readiness');
      return status === 503 && JSON.stringify(json).includes('waits for its acceptors');
    });
    expect((await there.get('west', '/health')).status).toBe(200);
    expect((await there.get('west', '/v1/partition-sets')).json).toEqual({ partitionSets: [] });
    expect((await there.get('west', '/v1/partition-sets?fresh=1')).status).toBe(503);
    const client = await there.client('west');
    await expect(client.put('items-00', 'a')).rejects.toMatchObject({
      code: 'NOT_READY',
      outcome: 'rejected',
    });
    stop.abort(new Error('enough'));
    expect(await ended).toEqual(new Error('enough'));
  });
});

describe('the consistency level', () => {
  test('is what the state says, in the engine too', async () => {
    const there = await Daemons.running({ more: 'account: { consistency: Session }' });
    onTestFinished(() => there.end());
    const set = 'items-00';
    const map = (await there.get('west', '/v1/map')).json as ClusterMap;
    expect(map.account.consistency).toBe('Session');
    const id = Array.from({ length: 100 }, (_, at) => `c${at}`).find((one) => placeOf(map, one) === set)!;
    const client = await there.client('west');
    await client.put(set, id);
    expect(await client.get(set, id)).toEqual({ outcome: 'refused', code: 'LEVEL_TOO_STRONG' });
    for (const partitionSet of ['items-00', 'items-01'])
      await there.wish('west', partitionSet, { intent: { kind: 'consistency', consistency: 'Strong' } });
    await until('the west reads', async () => (await client.get(set, id)).outcome === 'done');
    const north = await there.client('north');
    await until('the north reads', async () => (await north.get(set, id)).outcome === 'done');
    await until('the map says Strong', async () => {
      const { json } = await there.get('west', '/v1/map');
      return (json as ClusterMap).account.consistency === 'Strong';
    });
    await there.wish('east', set, { intent: { kind: 'consistency', consistency: 'Eventual' } });
    await until('the level is lower', async () => {
      const answer = await client.get(set, id);
      return answer.outcome === 'refused' && answer.code === 'LEVEL_TOO_STRONG';
    });
  });
});
