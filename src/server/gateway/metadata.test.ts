/** Databases, containers, ranges, offers and the account, as clients ask for them; the catalogue is real, its register is not. */
import type { IncomingHttpHeaders } from 'node:http';
import { beforeEach, describe, expect, test } from 'vitest';
import { NODE_HOST } from '../../caspaxos/index.ts';
import { formatRid, parseRid } from '../../engine/index.ts';
import { type Catalog, CatalogError, type Edited, firstCatalog } from '../catalog/index.ts';
import { CachedCatalog } from './catalog-source.ts';
import type { GatewayAnswer, GatewayContext } from './context.ts';
import { dispatcher } from './dispatch.ts';
import { GatewayError } from './errors.ts';
import { resourceOf } from './resources.ts';

const FILE = [{ name: 'items', partitionKey: ['/id'], partitionSets: 4 }];
const LOCATIONS = [
  { name: 'west', endpoint: 'http://127.0.0.1:4301/' },
  { name: 'east', endpoint: 'http://127.0.0.1:4302/' },
];

/** A catalogue's register in memory, and nodes that open what they are told of. */
class World {
  catalog: Catalog = firstCatalog(FILE, 1_000_000);
  failure: CatalogError | undefined;
  readonly looks: { readonly version: number; readonly partitionSets: readonly string[] }[] = [];
  canWrite = (asked: readonly string[]): readonly string[] => asked;
  context: GatewayContext;
  readonly #dispatch = dispatcher(() => Promise.reject(new Error('not asked')));

  constructor() {
    const register = {
      read: (): Promise<Catalog> =>
        this.failure ? Promise.reject(this.failure) : Promise.resolve(this.catalog),
      change: (edit: (catalog: Catalog) => Edited): Promise<Edited> => {
        if (this.failure) return Promise.reject(this.failure);
        const edited = edit(this.catalog);
        if ('catalog' in edited) this.catalog = edited.catalog;
        return Promise.resolve(edited);
      },
    };
    const partitions = {
      look: (asked: { version: number; partitionSets: readonly string[] }) => {
        this.looks.push(asked);
        const canWrite = this.canWrite(asked.partitionSets).map((partitionSet) => ({ partitionSet, gcn: 1 }));
        return Promise.resolve([{ node: 'n', region: 'west', canWrite }]);
      },
    };
    const logger = { debug() {}, info() {}, warn() {}, error() {} };
    this.context = {
      door: { region: 'east', holdMs: 1 },
      account: { name: 'demo', consistency: () => 'Session' },
      catalog: new CachedCatalog({ register, host: NODE_HOST }),
      partitions: partitions as unknown as GatewayContext['partitions'],
      host: NODE_HOST,
      logger,
      locations: () => LOCATIONS,
      self: () => 'http://127.0.0.1:4300/',
      throttle: { charge: () => undefined },
    };
  }

  ask(
    method: string,
    path: string,
    body?: unknown,
    headers: IncomingHttpHeaders = {},
  ): Promise<GatewayAnswer> {
    return this.#dispatch(
      {
        method,
        resource: resourceOf(path),
        headers,
        body: Buffer.from(body === undefined ? '' : typeof body === 'string' ? body : JSON.stringify(body)),
        signal: new AbortController().signal,
        isReadOnlyKey: false,
        activityId: '',
        timeoutMs: 30_000,
      },
      this.context,
    );
  }

  async status(...asked: Parameters<World['ask']>): Promise<number> {
    try {
      return (await this.ask(...asked)).status;
    } catch (error) {
      expect(error).toBeInstanceOf(GatewayError);
      expect((error as GatewayError).message).toMatch(/\.$/);
      return (error as GatewayError).status;
    }
  }

  async body(...asked: Parameters<World['ask']>): Promise<Record<string, unknown>> {
    return (await this.ask(...asked)).body as Record<string, unknown>;
  }
}

let world: World;
beforeEach(() => {
  world = new World();
});

const KEY = { partitionKey: { paths: ['/pk'], kind: 'Hash', version: 2 } };

describe('the account', () => {
  test('at a region’s door: all doors, the first writes, and per-partition failover is on', async () => {
    const [west, east] = LOCATIONS.map(({ name, endpoint }) => ({ name, databaseAccountEndpoint: endpoint }));
    expect(await world.body('GET', '/')).toMatchObject({
      id: 'demo',
      writableLocations: [west],
      readableLocations: [west, east],
      enableMultipleWriteLocations: false,
      enablePerPartitionFailoverBehavior: true,
      userConsistencyPolicy: { defaultConsistencyLevel: 'Session' },
    });
  });

  test('at the global endpoint: only itself', async () => {
    const own = [{ name: 'global', databaseAccountEndpoint: 'http://127.0.0.1:4300/' }];
    const { context } = world;
    world.context = { ...context, door: undefined, account: { ...context.account, name: 'LocalHost' } };
    expect(await world.body('GET', '/')).toMatchObject({
      writableLocations: own,
      readableLocations: own,
      enablePerPartitionFailoverBehavior: false,
      id: 'baton-localhost',
    });
  });
});

describe('databases', () => {
  test('are created once, read, listed and deleted with their containers', async () => {
    const made = await world.ask('POST', '/dbs', { id: 'shop' });
    expect(made.status).toBe(201);
    expect(made.body).toMatchObject({ id: 'shop', _colls: 'colls/', _users: 'users/' });
    const { _rid: rid, _self: self, _etag: etag, _ts: ts } = made.body as Record<string, string>;
    expect(parseRid(rid!)).toHaveLength(4);
    expect([self, made.headers?.['etag']]).toEqual([`dbs/${rid}/`, etag]);
    expect(Number(ts)).toBeGreaterThan(1e9);
    expect(await world.status('POST', '/dbs', { id: 'shop' })).toBe(409);
    expect(await world.body('GET', '/dbs/shop')).toEqual(made.body);
    expect(await world.body('GET', `/dbs/${rid}`)).toEqual(made.body);
    expect(await world.status('POST', '/dbs/shop/colls', { id: 'c', ...KEY })).toBe(201);
    expect(await world.status('DELETE', '/dbs/shop', undefined, { 'if-match': '"ffff"' })).toBe(412);
    expect(await world.status('DELETE', '/dbs/shop', undefined, { 'if-match': etag })).toBe(204);
    expect(await world.status('GET', '/dbs/shop')).toBe(404);
    expect(await world.status('GET', '/dbs/shop/colls/c')).toBe(404);
    expect(world.catalog.containers.map(({ id }) => id)).toEqual(['items']);
    expect(world.looks.at(-1)).toMatchObject({ version: world.catalog.version, partitionSets: [] });
  });

  test('have one id', async () => {
    expect(await world.status('POST', '/dbs', '{"id":"one","id":"two"}')).toBe(400);
  });

  test('are listed page by page', async () => {
    for (const id of ['a', 'b', 'c', 'd']) await world.ask('POST', '/dbs', { id });
    const found: unknown[] = [];
    let continuation: string | undefined;
    do {
      const page = await world.ask('GET', '/dbs', undefined, {
        'x-ms-max-item-count': '2',
        ...(continuation !== undefined && { 'x-ms-continuation': continuation }),
      });
      const { Databases, _count } = page.body as { Databases: { id: string }[]; _count: number };
      expect(Databases).toHaveLength(_count);
      found.push(Databases.map(({ id }) => id));
      continuation = page.headers?.['x-ms-continuation'];
    } while (continuation !== undefined);
    expect(found).toEqual([['main', 'a'], ['b', 'c'], ['d']]);
    expect(await world.status('GET', '/dbs', undefined, { 'x-ms-continuation': 'x' })).toBe(400);
    expect(await world.status('GET', '/dbs', undefined, { 'x-ms-max-item-count': '0' })).toBe(400);
    expect(await world.status('GET', '/dbs', undefined, { 'x-ms-max-item-count': '-1' })).toBe(200);
  });

  test.each([
    ['POST', '/dbs', '{', 400],
    ['POST', '/dbs', '[]', 400],
    ['POST', '/dbs', '{}', 400],
    ['POST', '/dbs', '{"id":7}', 400],
    ['POST', '/dbs', '{"id":"a/b"}', 400],
    ['POST', '/dbs', '{"id":""}', 400],
    ['PUT', '/dbs/main', '{"id":"main"}', 405],
    ['DELETE', '/dbs/none', undefined, 404],
    ['PATCH', '/dbs', undefined, 405],
  ])('%s %s %s is answered %s', async (method, path, body, status) => {
    expect(await world.status(method, path, body)).toBe(status);
  });
});

describe('containers', () => {
  test('are created with what was said of them, once their partition-sets can be written', async () => {
    let rounds = 0;
    world.canWrite = (asked) => (++rounds < 3 ? asked.slice(0, 1) : asked);
    const indexingPolicy = { indexingMode: 'none' };
    const made = await world.ask(
      'POST',
      '/dbs/main/colls',
      { id: 'orders', ...KEY, defaultTtl: 60, indexingPolicy, _self: 'forged' },
      { 'x-ms-offer-throughput': '1000' },
    );
    expect([made.status, rounds]).toEqual([201, 3]);
    const asked = world.looks.map(({ partitionSets }) => partitionSets.length);
    expect(asked).toEqual([4, 3, 2]);
    const body = made.body as Record<string, string>;
    expect(body).toMatchObject({ id: 'orders', ...KEY, defaultTtl: 60, indexingPolicy, _docs: 'docs/' });
    expect(parseRid(body['_rid']!)).toHaveLength(8);
    expect(body['_self']).toBe(
      `dbs/${formatRid(parseRid(body['_rid']!)!.subarray(0, 4))}/colls/${body['_rid']}/`,
    );
    expect(await world.body('GET', '/dbs/main/colls/orders')).toEqual(body);
    expect(await world.body('GET', `/${body['_self']}`)).toEqual(body);
    expect(world.catalog.containers.at(-1)).toMatchObject({
      partitionSets: 4,
      throughput: 1000,
      defaultTtl: 60,
    });
    const { DocumentCollections } = (await world.body('GET', '/dbs/main/colls')) as {
      DocumentCollections: { id: string }[];
    };
    expect(DocumentCollections.map(({ id }) => id)).toEqual(['items', 'orders']);
    expect(await world.status('POST', '/dbs/main/colls', { id: 'orders', ...KEY })).toBe(409);
  });

  test.each<[IncomingHttpHeaders, number, number | undefined]>([
    [{}, 4, undefined],
    [{ 'x-ms-offer-throughput': '400' }, 4, 400],
    [{ 'x-ms-offer-throughput': '60001' }, 7, 60_001],
    [{ 'x-ms-cosmos-offer-autopilot-settings': '{"maxThroughput":50000}' }, 5, 50_000],
    [{ 'x-ms-offer-throughput': '60001', 'x-baton-partition-sets': '2' }, 2, 60_001],
  ])('with %j have %i partition-sets', async (headers, partitionSets, throughput) => {
    expect(await world.status('POST', '/dbs/main/colls', { id: 'c', ...KEY }, headers)).toBe(201);
    const made = world.catalog.containers.at(-1)!;
    expect([made.partitionSets, made.throughput]).toEqual([partitionSets, throughput]);
  });

  test('are replaced: time to live and policies, not keys; an etag holds', async () => {
    const made = await world.body('POST', '/dbs/main/colls', { id: 'c', ...KEY });
    const changed = { ...made, defaultTtl: -1, indexingPolicy: { automatic: false } };
    const etag = made['_etag'] as string;
    const replaced = await world.ask('PUT', '/dbs/main/colls/c', changed, { 'if-match': etag });
    expect(replaced.body).toMatchObject({
      defaultTtl: -1,
      indexingPolicy: { automatic: false },
      _rid: made['_rid'],
    });
    expect((replaced.body as Record<string, unknown>)['_etag']).not.toBe(etag);
    expect(await world.status('PUT', '/dbs/main/colls/c', changed, { 'if-match': etag })).toBe(412);
    expect(await world.status('PUT', '/dbs/main/colls/c', changed, { 'if-match': '*' })).toBe(200);
    const otherKey = { ...changed, partitionKey: { paths: ['/other'] } };
    expect(await world.status('PUT', '/dbs/main/colls/c', otherKey)).toBe(400);
    expect(await world.status('PUT', '/dbs/main/colls/c', { ...changed, id: 'd' })).toBe(400);
    const without = await world.body('PUT', '/dbs/main/colls/c', { id: 'c' });
    expect('defaultTtl' in without).toBe(false);
    expect(await world.status('DELETE', '/dbs/main/colls/c')).toBe(204);
    expect(await world.status('DELETE', '/dbs/main/colls/c')).toBe(404);
  });

  test.each([
    [{ id: 'c' }],
    [{ id: 'c', partitionKey: '/pk' }],
    [{ id: 'c', partitionKey: { paths: [] } }],
    [{ id: 'c', partitionKey: { paths: ['pk'] } }],
    [{ id: 'c', partitionKey: { paths: ['/a', '/b'], kind: 'MultiHash', version: 2 } }],
    [{ id: 'c', partitionKey: { paths: ['/pk'], version: 1 } }],
    [{ id: 'c', partitionKey: { paths: ['/pk'], kind: 'Range' } }],
    [{ id: 'c', ...KEY, defaultTtl: 0 }],
    [{ id: 'c', ...KEY, defaultTtl: '5' }],
    [{ id: 'c', ...KEY, uniqueKeyPolicy: { uniqueKeys: [{ paths: ['/a'] }] } }],
    [{ id: 'c', ...KEY, computedProperties: [{ name: 'a' }] }],
    [{ id: 'c', ...KEY, note: 'x'.repeat(40_000) }],
  ])('%j is refused', async (body) => {
    expect(await world.status('POST', '/dbs/main/colls', body)).toBe(400);
    expect(world.catalog.containers).toHaveLength(1);
  });

  test.each([
    { 'x-ms-offer-throughput': 'many' },
    { 'x-ms-offer-throughput': '10' },
    { 'x-ms-cosmos-offer-autopilot-settings': '{}' },
    { 'x-ms-cosmos-offer-autopilot-settings': '{' },
    { 'x-baton-partition-sets': '0' },
    { 'x-baton-partition-sets': '10001' },
  ])('%j is refused', async (headers) => {
    expect(await world.status('POST', '/dbs/main/colls', { id: 'c', ...KEY }, headers)).toBe(400);
  });

  test('without an indexing policy they have the usual one', async () => {
    expect(await world.body('GET', '/dbs/main/colls/items')).toMatchObject({
      indexingPolicy: { indexingMode: 'consistent', automatic: true },
      partitionKey: { paths: ['/id'], kind: 'Hash', version: 2 },
    });
  });
});

describe('ranges', () => {
  test('cover everything, with ids that are unique in the account', async () => {
    await world.ask('POST', '/dbs/main/colls', { id: 'c', ...KEY }, { 'x-baton-partition-sets': '3' });
    const ids: string[] = [];
    for (const id of ['items', 'c']) {
      const { PartitionKeyRanges: ranges } = (await world.body('GET', `/dbs/main/colls/${id}/pkranges`)) as {
        PartitionKeyRanges: {
          id: string;
          minInclusive: string;
          maxExclusive: string;
          parents: [];
          status: string;
        }[];
      };
      expect([ranges[0]!.minInclusive, ranges.at(-1)!.maxExclusive]).toEqual(['', 'FF']);
      for (const [at, range] of ranges.entries()) {
        if (at > 0) expect(range.minInclusive).toBe(ranges[at - 1]!.maxExclusive);
        expect(range).toMatchObject({
          parents: [],
          status: 'online',
          ridPrefix: at,
          id: expect.any(String) as string,
        });
      }
      ids.push(...ranges.map((range) => range.id));
    }
    expect(ids).toHaveLength(7);
    expect(new Set(ids).size).toBe(7);
    expect(ids).not.toContain('0');
  });

  test('who has them is told that nothing is new', async () => {
    const first = await world.ask('GET', '/dbs/main/colls/items/pkranges', undefined, {
      'a-im': 'Incremental Feed',
    });
    const { etag } = first.headers!;
    const again = { 'a-im': 'Incremental Feed', 'if-none-match': etag };
    expect(await world.status('GET', '/dbs/main/colls/items/pkranges', undefined, again)).toBe(304);
    expect(
      await world.status('GET', '/dbs/main/colls/items/pkranges', undefined, { 'if-none-match': '"x"' }),
    ).toBe(200);
    expect(await world.status('GET', '/dbs/main/colls/none/pkranges')).toBe(404);
  });
});

describe('offers', () => {
  const QUERY = { 'x-ms-documentdb-isquery': 'true' };

  test('are found by the container they are for, and replaced', async () => {
    const made = await world.body(
      'POST',
      '/dbs/main/colls',
      { id: 'c', ...KEY },
      { 'x-ms-offer-throughput': '500' },
    );
    const query = `SELECT * from root where root.resource = "${made['_self'] as string}"`;
    const { Offers } = (await world.body('POST', '/offers', { query }, QUERY)) as {
      Offers: Record<string, string>[];
    };
    const [offer] = Offers;
    expect(Offers).toHaveLength(1);
    expect(offer).toMatchObject({
      offerVersion: 'V2',
      offerResourceId: made['_rid'],
      content: { offerThroughput: 500 },
    });
    const changed = { ...offer, content: { offerThroughput: 900 } };
    const path = `/offers/${offer!['id']}`;
    expect(await world.body('PUT', path, changed)).toMatchObject({ content: { offerThroughput: 900 } });
    expect(await world.body('GET', path)).toMatchObject({ content: { offerThroughput: 900 } });
    expect(await world.status('PUT', path, changed, { 'if-match': offer!['_etag'] })).toBe(412);
    expect(await world.status('PUT', path, { ...offer, content: {} })).toBe(400);
    expect(await world.status('PUT', path, { ...offer, content: { offerThroughput: 1 } })).toBe(400);
    expect((await world.body('GET', '/offers'))['_count']).toBe(1);
    const byParameter = {
      query: 'SELECT * FROM offers o WHERE o.offerResourceId = @rid',
      parameters: [{ name: '@rid', value: made['_rid'] }],
    };
    expect((await world.body('POST', '/offers', byParameter, QUERY))['_count']).toBe(1);
    expect(await world.status('POST', '/offers', { query: 'SELECT VALUE 1 FROM o' }, QUERY)).toBe(400);
    expect(await world.status('POST', '/offers', { query: 7 }, QUERY)).toBe(400);
  });

  test('a container without throughput has none', async () => {
    const made = await world.body('GET', '/dbs/main/colls/items');
    const query = `SELECT * from root where root.resource = "${made['_self'] as string}"`;
    expect((await world.body('POST', '/offers', { query }, QUERY))['Offers']).toEqual([]);
    expect(await world.status('GET', '/offers/none')).toBe(404);
  });
});

test.each(['sprocs', 'triggers', 'udfs', 'conflicts', 'operations/partitionkeydelete'])(
  '%s are not supported, and it says so',
  async (what) => {
    const asked = world.ask('POST', `/dbs/main/colls/items/${what}`, {});
    await expect(asked).rejects.toMatchObject({
      status: 400,
      message: expect.stringMatching(/ are not supported by this server\.$/) as string,
    });
  },
);

test.each([
  ['CATALOG_UNREACHABLE', 503],
  ['CATALOG_UNKNOWN', 408],
] as const)('a catalogue that fails with %s is answered %i', async (code, status) => {
  world.failure = new CatalogError(code, 'no');
  expect(await world.status('POST', '/dbs', { id: 'x' })).toBe(status);
});
