/** The SDK against nodes that answer as the test says: where it goes, and what it makes of silence, refusals and lost answers. */
import { RpcError } from 'baton/transport';
import { describe, expect, test } from 'vitest';
import { BatonClient, BatonError } from 'baton/client';
import { CountingHost } from '../transport/rpc-scene.ts';
import { until } from '../support/until.ts';
import { done, FakeAccount, found, NEVER } from './fake-node.ts';
import { connect, errorOf, scene, silentAddress } from './scripted-scene.ts';

describe('where it goes', () => {
  test('a write follows the hint of a region that does not write, and remembers', async () => {
    const { account, client } = await scene();
    account.node('west').script.write = () => ({
      outcome: 'refused',
      code: 'NOT_WRITER',
      writer: { region: 'north', gcn: 3 },
    });
    account.node('north').script.write = () => done();
    const items = client.container('items');
    const first = await items.create({ id: 'a' });
    expect(first.status).toBe(201);
    expect(first.etag).toMatch(/^"100000-/);
    expect(first.diagnostics).toMatchObject({
      operation: 'create',
      container: 'items',
      region: 'north',
      attempts: [
        { region: 'west', node: 'west-1', what: 'NOT_WRITER', why: 'by priority' },
        { region: 'north', node: 'north-1', what: 'DONE', why: 'named as the writer' },
      ],
    });
    expect(first.diagnostics.operationId).toMatch(/^[\w-]{36}$/);
    const second = await items.upsert({ id: 'a' });
    expect(second.diagnostics.attempts).toMatchObject([{ region: 'north', why: 'writes worked here last' }]);
    expect(account.node('east').count('write')).toBe(0);
  });

  test('a preferred region is read first', async () => {
    const { account, client } = await scene({}, { preferredRegion: 'east' });
    for (const node of account.nodes.values()) node.script.read = ({ id }) => found(id);
    const { diagnostics } = await client.container('items').read('a');
    expect(diagnostics.region).toBe('east');
  });

  test('a region that says nothing is left for another one, with the same operation id', async () => {
    const { account, client } = await scene({}, { pacing: {} });
    const names: (string | undefined)[] = [];
    for (const region of ['west', 'east'])
      account.node(region).script.write = ({ request }) => {
        names.push(request.operation);
        return region === 'west' ? NEVER : done();
      };
    const { diagnostics } = await client.container('items').create({ id: 'a' });
    expect(diagnostics.attempts).toMatchObject([
      { region: 'west', what: 'SILENT' },
      { region: 'east', what: 'DONE' },
    ]);
    expect(names).toEqual([diagnostics.operationId, diagnostics.operationId]);
  });

  test('so is one that takes connections and never says hello', async () => {
    const account = await FakeAccount.start();
    const address = await silentAddress();
    const [west, ...others] = account.map.regions;
    const mute = { name: 'west', nodes: [{ ...west!.nodes[0]!, address }] };
    account.map = { ...account.map, regions: [mute, ...others] };
    account.node('east').script.write = () => done();
    const client = await connect(account, { endpoints: [account.node('north').address], pacing: {} });
    const { diagnostics } = await client.container('items').create({ id: 'a' });
    expect(diagnostics.attempts).toMatchObject([
      { region: 'west', what: 'SILENT' },
      { region: 'east', what: 'DONE' },
    ]);
  });

  test('a lost answer: the write is sent again under its id', async () => {
    const { account, client } = await scene({ regions: ['west'] });
    const node = account.node('west');
    const applied = new Map<string, number>();
    node.script.write = ({ request }) => {
      const times = applied.get(request.operation!) ?? 0;
      applied.set(request.operation!, times + 1);
      if (times > 0) return done();
      node.connections.at(-1)!.destroy();
      return NEVER;
    };
    const { diagnostics, status } = await client
      .container('items')
      .create({ id: 'a' }, { operationId: 'mine' });
    expect(status).toBe(201);
    expect(diagnostics.operationId).toBe('mine');
    expect(diagnostics.attempts.map(({ what }) => what)).toEqual(['CONNECTION_LOST', 'DONE']);
    expect(applied).toEqual(new Map([['mine', 2]]));
  });

  test('partition-sets that nobody knows: a newer map, and once more', async () => {
    const { account, client } = await scene();
    for (const node of account.nodes.values())
      node.script.write = ({ partitionSet }) =>
        partitionSet.startsWith('new') ? done() : { outcome: 'refused', code: 'UNKNOWN_PARTITION_SET' };
    account.rename('new');
    const { diagnostics } = await client.container('items').create({ id: 'a' });
    expect(diagnostics.partitionSet).toMatch(/^new-/);
    expect(diagnostics.attempts.at(-1)).toMatchObject({ what: 'DONE' });
    expect(diagnostics.attempts.map(({ attempt }) => attempt)).toEqual([1, 2, 3, 4]);
  });

  test('reads are hedged: the second region answers, the first is let go', async () => {
    const { account, client } = await scene({}, { hedge: { afterMs: 20 } });
    let wasCancelled = false;
    account.node('west').script.read = (_, { signal }) => {
      signal.addEventListener('abort', () => {
        wasCancelled = true;
      });
      return NEVER;
    };
    account.node('east').script.read = ({ id }) => found(id, { id, from: 'east' });
    const items = client.container<{ id: string; from: string }>('items');
    const { document, diagnostics } = await items.read('a', { timeoutMs: 600_000 });
    expect(document.from).toBe('east');
    expect(diagnostics.attempts).toMatchObject([
      { region: 'west', hedge: false, what: 'CANCELLED' },
      { region: 'east', hedge: true, what: 'DONE' },
    ]);
    await until('the first is let go', () => wasCancelled);
  });

  test('without the option nothing is hedged', async () => {
    const { account, client } = await scene();
    for (const region of ['west', 'east'])
      account.node(region).script.read = async ({ id }) => {
        await new Promise((resolve) => {
          setTimeout(resolve, 60);
        });
        return found(id);
      };
    const { diagnostics } = await client.container('items').read('a');
    expect(diagnostics.attempts.map(({ hedge }) => hedge)).not.toContain(true);
  });
});

describe('the client itself', () => {
  test('a wrong token is refused at once, with the right one it gets in', async () => {
    const account = await FakeAccount.start({ token: 'secret' });
    const options = { account: 'shop', endpoints: account.endpoints };
    const error = await errorOf(BatonClient.connect({ ...options, token: 'wrong' }));
    expect(error).toMatchObject({ code: 'NOT_AUTHENTICATED' });
    expect(error.diagnostics!.attempts).toHaveLength(3);
    const client = await BatonClient.connect({ ...options, token: 'secret' });
    expect(client.regions).toEqual(['west', 'east', 'north']);
    await client.close();
  });

  test('another cluster is refused; its name may be given', async () => {
    const account = await FakeAccount.start({ cluster: 'demo' });
    const options = { account: 'shop.example', endpoints: account.endpoints };
    expect(await errorOf(BatonClient.connect(options))).toMatchObject({ code: 'INCOMPATIBLE' });
    const client = await BatonClient.connect({ ...options, cluster: 'demo' });
    await client.close();
  });

  test('nobody there: at the deadline, with the addresses', async () => {
    const account = await FakeAccount.start();
    for (const node of account.nodes.values()) await node.stop();
    const options = { account: 'shop', endpoints: account.endpoints, timeoutMs: 500 };
    const error = await until('it has tried some of them in its time', async () => {
      const failed = await errorOf(BatonClient.connect(options));
      return failed.code === 'UNREACHABLE' ? failed : undefined;
    });
    expect(error.message).toContain(account.endpoints[0]);
  });

  test('options that cannot be used', async () => {
    for (const options of [
      { account: '' },
      { account: 'shop', endpoints: [] },
      { account: 'shop', endpoints: ['nowhere'] },
      { account: 'shop', endpoints: ['a:1'], timeoutMs: 0 },
      { account: 'shop', endpoints: ['a:1'], maxInFlight: -1 },
    ])
      expect(await errorOf(BatonClient.connect(options))).toMatchObject({ code: 'OPTIONS_INVALID' });
    expect(await errorOf(BatonClient.connect({ account: 'not a name' }))).toMatchObject({
      code: 'ACCOUNT_NAME_INVALID',
    });
  });

  test('regions by DNS, with the name of the cluster in the record', async () => {
    const account = await FakeAccount.start({ cluster: 'demo' });
    const regions = [...account.nodes.values()].map(({ region, address }) => `region=${region} ${address}`);
    const text = `v=baton1; account=shop; serial=1; cluster=demo; ${regions.join('; ')}`;
    const lookup = { ask: async () => ({ kind: 'found' as const, txt: [[text]] }), cancel: () => {} };
    const client = await connect(account, {
      account: 'shop.baton.local',
      endpoints: undefined,
      lookup,
      cacheDirectory: false,
    });
    account.node('west').script.write = () => done();
    expect((await client.container('items').create({ id: 'a' })).diagnostics.region).toBe('west');
    const failing = { ask: async () => ({ kind: 'absent' as const }), cancel: () => {} };
    const error = await errorOf(
      BatonClient.connect({
        account: 'shop.baton.local',
        lookup: failing,
        cacheDirectory: false,
        timeoutMs: 500,
      }),
    );
    expect(error).toMatchObject({ code: 'ACCOUNT_NOT_FOUND', retryable: true });
  });

  test('closing leaves nothing: no timer, no connection, no operation', async () => {
    const host = new CountingHost();
    const { account, client } = await scene({}, { host });
    account.node('west').script.write = () => NEVER;
    account.node('east').script.read = ({ id }) => found(id);
    const items = client.container('items');
    await items.read('a');
    const failing = errorOf(items.create({ id: 'a' }));
    await until('the write is there', () => account.node('west').count('write') > 0);
    await client.close();
    expect((await failing).code).toBe('CLIENT_CLOSED');
    expect(host.timers.size).toBe(0);
    await until('no connection is left', () =>
      [...account.nodes.values()].every(({ listener }) => listener.connections.size === 0),
    );
    expect((await errorOf(items.read('a'))).code).toBe('CLIENT_CLOSED');
    await client.close();
  });

  test('a defect in a handler of a node is not a defect of the client', async () => {
    const { account, client } = await scene();
    account.node('west').script.any = () => {
      throw new RpcError('HANDLER_FAILED', 'Oops.', { outcome: 'unknown' });
    };
    account.node('east').script.read = ({ id }) => found(id);
    const { diagnostics } = await client.container('items').read('a');
    expect(diagnostics.attempts.map(({ what }) => what)).toEqual(['HANDLER_FAILED', 'DONE']);
  });
});

describe('sessions', () => {
  test('a read carries what the session saw, and only at its level', async () => {
    const { account, client } = await scene({ consistency: 'Session', partitionSets: 1 });
    const seen: unknown[] = [];
    account.node('west').script.write = () => ({
      outcome: 'done',
      results: [{ status: 201 }],
      position: { epoch: 2 ** 20, lsn: 9 },
    });
    account.node('west').script.read = ({ id, session }) => {
      seen.push(session);
      return found(id);
    };
    const items = client.container('items');
    const mine = client.session();
    const { session: token } = await items.create({ id: 'a' }, { session: mine });
    await items.read('a', { session: mine });
    await items.read('a', { session: client.session(token) });
    await items.read('a', { session: client.session() });
    await items.read('a', { session: mine, consistency: 'Eventual' });
    const position = { epoch: 2 ** 20, lsn: 9 };
    expect(seen).toEqual([position, position, undefined, undefined]);
    expect(mine.token).toBe(token);
    mine.reset();
    expect(client.session(mine.token).token).not.toBe(token);
    expect(() => client.session('s1,nonsense')).toThrow(BatonError);
  });

  test('the client has a session of its own', async () => {
    const { account, client } = await scene({ consistency: 'Session', partitionSets: 1 });
    let seen: unknown;
    account.node('west').script.write = () => done();
    account.node('west').script.read = ({ id, session }) => {
      seen = session;
      return found(id);
    };
    const items = client.container('items');
    await items.create({ id: 'a' });
    await items.read('a');
    expect(seen).toMatchObject({ epoch: 2 ** 20 });
  });
});

test('documents come back with their system properties', async () => {
  const { account, client } = await scene();
  account.node('west').script.read = ({ id }) => found(id, { id, colour: 'red' });
  const { document, etag, status } = await client.container('items').read('a');
  expect(status).toBe(200);
  expect(document).toMatchObject({ id: 'a', colour: 'red', _etag: etag, _ts: 1_700_000_000 });
  expect(document._rid).toMatch(/^[\w+-]{22}==$/);
  expect(document._self).toContain(document._rid);
  account.node('west').script.read = () => ({
    outcome: 'done',
    version: undefined,
    position: { epoch: 2 ** 20, lsn: 1 },
  });
  expect(await errorOf(client.container('items').read('b'))).toMatchObject({
    code: 'NOT_FOUND',
    status: 404,
  });
  expect((await client.container('items').find('b')).document).toBeUndefined();
});
