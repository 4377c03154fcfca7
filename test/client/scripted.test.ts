/** The SDK against nodes that answer as the test says: what it makes of silence, refusals, lost answers, and the end of time. */
import { createServer } from 'node:net';
import { RpcError } from 'baton/transport';
import { describe, expect, onTestFinished, test } from 'vitest';
import { BatonClient, BatonError, type ConnectOptions } from 'baton/client';
import { CountingHost } from '../transport/rpc-scene.ts';
import { until } from '../support/until.ts';
import { done, FakeAccount, type FakeAccountOptions, found, NEVER, PATIENT } from './fake-node.ts';

async function connect(account: FakeAccount, options: Partial<ConnectOptions> = {}): Promise<BatonClient> {
  const client = await BatonClient.connect({
    account: 'shop',
    endpoints: account.endpoints,
    pacing: PATIENT,
    timeoutMs: 60_000,
    ...options,
  });
  onTestFinished(() => client.close());
  return client;
}

async function scene(
  options: FakeAccountOptions = {},
  more: Partial<ConnectOptions> = {},
): Promise<{ account: FakeAccount; client: BatonClient }> {
  const account = await FakeAccount.start(options);
  return { account, client: await connect(account, more) };
}

/** Where connections are taken and nothing is ever said. */
async function silentAddress(): Promise<string> {
  const silent = createServer(() => {});
  await new Promise<void>((resolve) => {
    silent.listen(0, '127.0.0.1', resolve);
  });
  onTestFinished(() => {
    silent.close();
  });
  return `127.0.0.1:${(silent.address() as { port: number }).port}`;
}

async function errorOf(promise: Promise<unknown>): Promise<BatonError> {
  const error: unknown = await promise.then(
    () => new Error('it did not fail'),
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(BatonError);
  return error as BatonError;
}

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

describe('how it ends', () => {
  test('at the deadline, unknown if a node has it', async () => {
    const { account, client } = await scene();
    account.node('west').script.write = () => NEVER;
    const error = await errorOf(client.container('items').create({ id: 'a' }, { timeoutMs: 2000 }));
    expect(error).toMatchObject({ code: 'DEADLINE', outcome: 'unknown', retryable: true });
    expect(error.message).toContain('Tried: ');
    expect(error.diagnostics!.attempts.map(({ region }) => region)).toContain('east');
  });

  test('at the deadline, not applied if every node refused', async () => {
    const { client } = await scene();
    const error = await errorOf(client.container('items').create({ id: 'a' }, { timeoutMs: 200 }));
    expect(error).toMatchObject({ code: 'DEADLINE', outcome: 'not applied' });
    expect(error.diagnostics!.attempts.every(({ what }) => what === 'NOT_WRITER')).toBe(true);
    expect(error.diagnostics!.durationMs).toBeGreaterThanOrEqual(195);
  });

  test('with nobody there: what was tried, and certainly not applied', async () => {
    const { account, client } = await scene();
    for (const node of account.nodes.values()) await node.stop();
    // Until then a write may be handed to a connection that is lost already, and nobody knows what became of it.
    await errorOf(client.container('items').read('a', { timeoutMs: 100 }));
    const error = await errorOf(client.container('items').create({ id: 'a' }, { timeoutMs: 1500 }));
    expect(error).toMatchObject({ code: 'UNREACHABLE', outcome: 'not applied', retryable: true });
    const regions = new Set(error.diagnostics!.attempts.map(({ region }) => region));
    expect(regions).toEqual(new Set(['west', 'east', 'north']));
  });

  test('a region that never says hello has not got the write', async () => {
    const account = await FakeAccount.start({ regions: ['west'] });
    const seed = account.node('west').address;
    const address = await silentAddress();
    const [west] = account.map.regions;
    account.map = { ...account.map, regions: [{ name: 'west', nodes: [{ ...west!.nodes[0]!, address }] }] };
    const items = (await connect(account, { endpoints: [seed] })).container('items');
    const late = await errorOf(items.create({ id: 'a' }, { timeoutMs: 300 }));
    expect(late.outcome).toBe('not applied');
    const signal = AbortSignal.timeout(50);
    const aborted = await errorOf(items.create({ id: 'a' }, { signal }));
    expect(aborted).toMatchObject({ code: 'ABORTED', outcome: 'not applied', cause: signal.reason as Error });
  });

  test('when the caller gives up, at once', async () => {
    const { account, client } = await scene();
    let isThere = false;
    account.node('west').script.write = () => {
      isThere = true;
      return NEVER;
    };
    const caller = new AbortController();
    const failing = errorOf(client.container('items').create({ id: 'a' }, { signal: caller.signal }));
    await until('the write is there', () => isThere);
    caller.abort(new Error('enough'));
    const error = await failing;
    expect(error).toMatchObject({ code: 'ABORTED', outcome: 'unknown', cause: new Error('enough') });
    expect(client.inFlight).toBe(0);
    const early = await errorOf(
      client.container('items').create({ id: 'a' }, { signal: AbortSignal.abort() }),
    );
    expect(early).toMatchObject({ code: 'ABORTED', outcome: 'not applied' });
  });

  test('a rejected write says how, and is not tried elsewhere', async () => {
    const { account, client } = await scene();
    account.node('west').script.write = () => ({
      outcome: 'done',
      results: [{ status: 412, message: 'The item is not at the version that the request names.' }],
      position: { epoch: 2 ** 20, lsn: 5 },
    });
    const error = await errorOf(client.container('items').replace('a', { id: 'a' }, { ifMatch: '"1-1"' }));
    expect(error).toMatchObject({ code: 'PRECONDITION_FAILED', status: 412, outcome: 'not applied' });
    expect(error.diagnostics!.attempts).toHaveLength(1);
  });

  test('an answer that nobody can read leaves the outcome unknown', async () => {
    const { account, client } = await scene({ regions: ['west'] });
    account.node('west').script.any = () => Buffer.from('what?');
    const error = await errorOf(client.container('items').create({ id: 'a' }, { timeoutMs: 1500 }));
    expect(error.outcome).toBe('unknown');
    expect(error.diagnostics!.attempts[0]!.what).toBe('ANSWER_MALFORMED');
  });

  test('a busy writer is asked again, and THROTTLED at the deadline', async () => {
    const { account, client } = await scene({ regions: ['west'] });
    let asked = 0;
    // The last answer leaves no time for another attempt: one that is under way at the deadline would be unknown.
    account.node('west').script.write = () => {
      asked += 1;
      return { outcome: 'refused', code: 'TOO_MANY_REQUESTS', retryAfterMs: asked < 3 ? 10 : 100_000 };
    };
    const error = await errorOf(client.container('items').create({ id: 'a' }, { timeoutMs: 3000 }));
    expect(error).toMatchObject({ code: 'THROTTLED', outcome: 'not applied', retryable: true });
    expect(error.diagnostics!.attempts.length).toBe(3);
  });

  test('no more operations at once than the client may have', async () => {
    const { account, client } = await scene({}, { maxInFlight: 2 });
    account.node('west').script.write = () => NEVER;
    const items = client.container('items');
    const two = [errorOf(items.create({ id: 'a' })), errorOf(items.create({ id: 'b' }))];
    const error = await errorOf(items.create({ id: 'c' }));
    expect(error).toMatchObject({ code: 'THROTTLED', outcome: 'not applied' });
    await client.close();
    expect((await Promise.all(two)).map(({ code }) => code)).toEqual(['CLIENT_CLOSED', 'CLIENT_CLOSED']);
  });

  test('a level above the account is refused without asking anybody', async () => {
    const { account, client } = await scene({ consistency: 'Session' });
    const error = await errorOf(client.container('items').read('a', { consistency: 'Strong' }));
    expect(error).toMatchObject({ code: 'LEVEL_TOO_STRONG' });
    expect([...account.nodes.values()].map((node) => node.count('read'))).toEqual([0, 0, 0]);
  });

  test('what cannot be sent is refused with a sentence', async () => {
    const { client } = await scene({ partitionKey: '/customer' });
    const items = client.container<object>('items');
    const errors = await Promise.all([
      errorOf(items.read('a')),
      errorOf(items.create([])),
      errorOf(items.create({ id: 'a', customer: {} })),
      errorOf(items.create({ id: 'a', customer: 1n })),
      errorOf(items.read('a', { partitionKey: ['x', 'y'] })),
      errorOf(items.read('a', { partitionKey: 'x', timeoutMs: -1 })),
      errorOf(items.read('a', { partitionKey: 'x', timeoutMs: Infinity })),
      errorOf(items.delete(7 as unknown as string, { partitionKey: 'x' })),
      errorOf(client.container('nothing').read('a')),
    ]);
    expect(errors.map(({ code }) => code)).toEqual([
      'BAD_REQUEST',
      'BAD_REQUEST',
      'BAD_REQUEST',
      'BAD_REQUEST',
      'BAD_REQUEST',
      'BAD_REQUEST',
      'BAD_REQUEST',
      'BAD_REQUEST',
      'CONTAINER_UNKNOWN',
    ]);
    expect(errors[0].message).toBe('Container items is partitioned by /customer: give the partitionKey.');
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
    const error = await errorOf(
      BatonClient.connect({ account: 'shop', endpoints: account.endpoints, timeoutMs: 1500 }),
    );
    expect(error).toMatchObject({ code: 'UNREACHABLE' });
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
