/** The client for gateways against nodes that answer as the test says. */
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { NODE_HOST } from 'baton/caspaxos';
import {
  BatonError,
  type ConnectOptions,
  decodeFeed,
  decodeLook,
  decodeScan,
  encodeFeedAnswer,
  encodeLookAnswer,
  encodeMap,
  encodeScanAnswer,
  METHODS,
  type NodeWriteAnswer,
  PartitionClient,
} from 'baton/client';
import { epkOf, type Operation } from 'baton/engine';
import { describe, expect, onTestFinished, test } from 'vitest';
import { until } from '../support/until.ts';
import { done, FakeAccount, found, NEVER, PATIENT } from './fake-node.ts';

const position = { epoch: 2 ** 20, lsn: 9 };
const create: Operation = { op: 'create', body: Buffer.from('{"id":"a"}') };
const write = { container: 'items', partitionKey: ['a'], operations: [create] } as const;
const refused = (writer?: string): NodeWriteAnswer => ({
  outcome: 'refused',
  code: 'NOT_WRITER',
  ...(writer !== undefined && { writer: { region: writer, gcn: 4 } }),
});

async function scene(
  options: Partial<ConnectOptions> = {},
): Promise<{ account: FakeAccount; client: PartitionClient }> {
  const account = await FakeAccount.start();
  const given = {
    account: 'shop',
    endpoints: account.endpoints,
    pacing: PATIENT,
    timeoutMs: 60_000,
    ...options,
  };
  const client = await PartitionClient.connect(given);
  onTestFinished(() => client.close());
  return { account, client };
}

function errorOf(promise: Promise<unknown>): Promise<BatonError> {
  return promise.then(
    () => Promise.reject(new Error('it did not fail')),
    (error: unknown) => {
      expect(error).toBeInstanceOf(BatonError);
      return error as BatonError;
    },
  );
}

/** The partition-set that the key `a` lies in. */
function setOf({ topology }: PartitionClient): string {
  const epk = epkOf(['a']);
  const { ranges } = topology.container('items')!;
  return ranges.find(({ min, max }) => min <= epk && epk < max)!.partitionSet;
}

describe('a write', () => {
  test('resolves with the statuses, the place in the log and who answered, also when it is rejected', async () => {
    const { account, client } = await scene();
    const names: (string | undefined)[] = [];
    account.node('east').script.write = ({ request }) => {
      names.push(request.operation);
      const results = [{ status: names.length === 1 ? 201 : 409, message: 'There is one.' }];
      return { outcome: 'done', results, position };
    };
    const first = await client.write({ ...write, operationId: 'mine' });
    expect(first).toMatchObject({ results: [{ status: 201 }], position, region: 'east' });
    expect(first.partitionSet).toBe(setOf(client));
    const second = await client.write(write);
    expect(second).toMatchObject({
      results: [{ status: 409, message: 'There is one.' }],
      region: 'east',
      diagnostics: { region: 'east' },
    });
    expect(names[0]).toBe('mine');
    expect(names[1]).toMatch(/^[\w-]{36}$/);
  });

  test('a rejection is no answer while an earlier attempt may yet be carried out', async () => {
    const { account, client } = await scene({ pacing: {} });
    account.node('west').script.write = () => NEVER;
    account.node('east').script.write = () => done(409);
    const error = await errorOf(client.write(write));
    expect(error).toMatchObject({ code: 'CONFLICT', outcome: 'unknown', status: 409 });
  });

  test('at a door: the region says who writes, and that is the end of it', async () => {
    const { account, client } = await scene();
    account.node('north').script.write = () => done();
    account.node('east').script.write = () => refused('north');
    const error = await errorOf(client.write({ ...write, door: { region: 'east', holdMs: 60_000 } }));
    expect(error).toMatchObject({ code: 'NOT_WRITER_HERE', outcome: 'not applied', retryable: true });
    expect(error.message).toContain('east');
    expect([account.node('west').count('write'), account.node('north').count('write')]).toEqual([0, 0]);
  });

  test('at a door: held while nobody writes there, and done when somebody does', async () => {
    const { account, client } = await scene();
    let asked = 0;
    account.node('east').script.write = () => ((asked += 1) < 3 ? refused() : done());
    const written = await client.write({ ...write, door: { region: 'east', holdMs: 60_000 } });
    expect(written).toMatchObject({ region: 'east', results: [{ status: 201 }] });
    expect(written.diagnostics.attempts.map(({ region }) => region)).toEqual(['east', 'east', 'east']);
  });

  test('at a door: what cannot be reached is held and then refused', async () => {
    const { account, client } = await scene();
    await account.node('east').stop();
    const error = await errorOf(client.write({ ...write, door: { region: 'east', holdMs: 60 } }));
    expect(error).toMatchObject({ code: 'NOT_WRITER_HERE', outcome: 'not applied' });
    expect(account.node('west').count('write')).toBe(0);
  });

  test('at a door: what cannot be reached is sent away as soon as another region says that it writes', async () => {
    const { account, client } = await scene();
    await account.node('east').stop();
    let looks = 0;
    account.node('north').script.any = (method) => {
      if (method !== METHODS.look) return encodeMap(account.map);
      const canWrite = (looks += 1) < 3 ? [] : [{ partitionSet: 'items-1', gcn: 9 }];
      return encodeLookAnswer({ version: 1, canWrite });
    };
    const door = { region: 'east', holdMs: 60_000 };
    const error = await errorOf(client.write({ ...write, door }));
    expect(error).toMatchObject({ code: 'NOT_WRITER_HERE', outcome: 'not applied' });
    expect(looks).toBe(3);
    expect(await errorOf(client.write({ ...write, door }))).toMatchObject({ code: 'NOT_WRITER_HERE' });
    expect([looks, account.node('north').count('write')]).toEqual([3, 0]);
  });

  test('at a door: a region that takes connections and never says hello has not got the write', async () => {
    const account = await FakeAccount.start();
    const silent = createServer(() => {});
    await once(silent.listen(0, '127.0.0.1'), 'listening');
    onTestFinished(() => void silent.close());
    const address = `127.0.0.1:${(silent.address() as AddressInfo).port}`;
    const regions = account.map.regions.map(({ name, nodes }) =>
      name === 'east' ? { name, nodes: [{ ...nodes[0]!, address }] } : { name, nodes },
    );
    account.map = { ...account.map, regions };
    account.node('west').script.write = () => done();
    const endpoints = [account.node('west').address];
    const client = await PartitionClient.connect({ account: 'shop', endpoints });
    onTestFinished(() => client.close());
    const error = await errorOf(client.write({ ...write, door: { region: 'east', holdMs: 20 } }));
    expect(error).toMatchObject({ code: 'NOT_WRITER_HERE', outcome: 'not applied' });
    expect(account.node('west').count('write')).toBe(0);
  });

  test('at a door: a lost answer is looked for in all regions, under the same name', async () => {
    const { account, client } = await scene();
    const names = new Set<string | undefined>();
    const east = account.node('east');
    east.script.write = ({ request }) => {
      names.add(request.operation);
      for (const connection of east.connections) connection.destroy();
      return NEVER;
    };
    account.node('north').script.write = ({ request }) => {
      names.add(request.operation);
      return done();
    };
    const written = await client.write({ ...write, door: { region: 'east', holdMs: 60_000 } });
    expect(written.region).toBe('north');
    expect(names.size).toBe(1);
  });
});

describe('a read', () => {
  test('carries the session, and comes back as it is stored', async () => {
    const { account, client } = await scene({ preferredRegion: 'east' });
    account.node('east').script.read = ({ session, level }) => {
      expect({ session, level }).toEqual({ session: position, level: 'Session' });
      return found('a', { id: 'a', n: 1 });
    };
    const read = { container: 'items', partitionKey: ['a'], id: 'a', level: 'Session' } as const;
    const { version, region, partitionSet } = await client.read({ ...read, session: position });
    expect(String(version!.body)).toBe('{"id":"a","n":1}');
    expect({ region, partitionSet }).toEqual({ region: 'east', partitionSet: setOf(client) });
  });

  test('asks the preferred region first, however near the others are, and the others when it cannot', async () => {
    const { account, client } = await scene({ preferredRegion: 'north' });
    for (const node of account.nodes.values()) node.script.read = ({ id }) => found(id);
    const read = { container: 'items', partitionKey: ['a'], id: 'a', level: 'Eventual' } as const;
    for (let times = 0; times < 5; times += 1) expect((await client.read(read)).region).toBe('north');
    account.node('north').script.read = () => ({ outcome: 'refused', code: 'NOT_READY' });
    const { region, diagnostics } = await client.read(read);
    expect(region).not.toBe('north');
    expect(diagnostics.attempts[0]).toMatchObject({ region: 'north', why: 'preferred' });
  });
});

describe('pages', () => {
  test('a scan and the feed of one partition-set', async () => {
    const { account, client } = await scene({ preferredRegion: 'east' });
    const answer = found('a');
    const versions = answer.outcome === 'done' ? [answer.version!] : [];
    account.node('east').script.any = (method, payload) => {
      if (method === METHODS.scan) {
        expect(decodeScan(payload)).toMatchObject({ partitionSet: 'items-1', limit: 5, maxBytes: 100 });
        return encodeScanAnswer({ outcome: 'done', versions, hasMore: true, position });
      }
      expect(decodeFeed(payload)).toMatchObject({ partitionSet: 'items-1', after: position, waitMs: 0 });
      return encodeFeedAnswer({ outcome: 'done', entries: [], position: { ...position, lsn: 12 } });
    };
    const where = { container: 'items', partitionSet: 'items-1', maxBytes: 100 };
    const page = await client.scan({ ...where, from: '10', to: '20', limit: 5, level: 'Strong' });
    expect(page).toMatchObject({ hasMore: true, position, partitionSet: 'items-1', region: 'east' });
    expect(page.versions).toHaveLength(1);
    const fed = await client.feed({ ...where, after: position });
    expect(fed).toMatchObject({ entries: [], position: { lsn: 12 }, region: 'east' });
  });

  test('a partition-set that the container does not have', async () => {
    const { client } = await scene();
    const feed = { container: 'items', partitionSet: 'other', after: position, maxBytes: 1 };
    expect(await errorOf(client.feed(feed))).toMatchObject({ code: 'PARTITION_SET_UNKNOWN' });
  });
});

test('a page of a container that was made anew: the map is got anew', async () => {
  const { account, client } = await scene();
  account.rename('new');
  for (const node of account.nodes.values())
    node.script.any = (method) =>
      method === METHODS.map
        ? encodeMap(account.map)
        : encodeScanAnswer({ outcome: 'done', versions: [], hasMore: false, position });
  const bounds = { from: '10', to: '20', limit: 5, maxBytes: 100, level: 'Strong' } as const;
  const page = await client.scan({ ...bounds, container: 'items', partitionSet: 'new-1' });
  expect(page).toMatchObject({ hasMore: false, partitionSet: 'new-1' });
});

describe('the map', () => {
  test('is got anew, also from a node that has it when others are behind', async () => {
    const { account, client } = await scene();
    const before = account.map;
    account.rename('new');
    account.node('west').script.map = () => before;
    account.node('north').script.map = () => before;
    await client.refreshMap(before.version + 1);
    expect(client.topology.map.version).toBe(before.version + 1);
    expect(setOf(client)).toMatch(/^new-/);
  });

  test('that nobody has is not waited for beyond the time given', async () => {
    const { account, client } = await scene();
    const error = await errorOf(client.refreshMap(account.map.version + 1, 60));
    expect(error.code).toBe('DEADLINE');
    await client.refreshMap();
  });
});

test('a look asks every node, and leaves out who does not answer', async () => {
  const { account, client } = await scene();
  const writable = { partitionSet: 'items-0', gcn: 3 };
  const timeoutMs = 3000;
  for (const [region, node] of account.nodes)
    node.script.any = (method, payload) => {
      if (method !== METHODS.look) return encodeMap(account.map);
      expect(decodeLook(payload)).toEqual({ version: 8, partitionSets: ['items-0'], timeoutMs });
      if (region === 'north') return NEVER;
      return encodeLookAnswer({ version: 8, canWrite: region === 'west' ? [writable] : [] });
    };
  expect(await client.look({ version: 8, partitionSets: ['items-0'], timeoutMs })).toEqual([
    { node: 'west-1', region: 'west', version: 8, canWrite: [writable] },
    { node: 'east-1', region: 'east', version: 8, canWrite: [] },
  ]);
});

test('a closed client does nothing any more', async () => {
  const { client } = await scene();
  await client.close();
  const look = { version: 1, partitionSets: [], timeoutMs: 10 };
  for (const call of [client.write(write), client.refreshMap(), client.look(look)])
    expect(await errorOf(call)).toMatchObject({ code: 'CLIENT_CLOSED', outcome: 'not applied' });
});

test('the map that is used is fetched anew now and then: the level of the account may have changed', async () => {
  let aheadMs = 0;
  const host = { ...NODE_HOST, now: () => NODE_HOST.now() + aheadMs };
  const { account, client } = await scene({ host });
  account.node('east').script.write = () => done();
  account.map = { ...account.map, account: { ...account.map.account, consistency: 'Eventual' } };
  await client.write(write);
  const fetched = (): number => [...account.nodes.values()].reduce((sum, one) => sum + one.count('map'), 0);
  expect(fetched()).toBe(1);
  aheadMs = 11_000;
  await client.write(write);
  await until('the map is fetched anew', () => client.topology.map.account.consistency === 'Eventual');
  const before = fetched();
  await client.write(write);
  expect(fetched()).toBe(before);
});
