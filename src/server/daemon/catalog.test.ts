/** Containers that come and go while the nodes run: real sockets, real disks, the real client. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { Daemons, type Region, REGIONS, START_MS } from '../../../test/server/daemons.ts';
import { until } from '../../../test/support/until.ts';
import { type Cluster, openCluster } from '../../caspaxos/index.ts';
import {
  BatonClient,
  BatonError,
  decodeLookAnswer,
  encodeLook,
  METHODS,
  type NodeLookAnswer,
} from '../../client/index.ts';
import { NodeStore } from '../../engine/index.ts';
import {
  addContainer,
  addDatabase,
  type Catalog,
  CATALOG_KEY,
  CatalogRegister,
  dropContainer,
  type Edited,
  findContainer,
  firstCatalog,
  placesOf,
  replaceContainer,
} from '../catalog/index.ts';

const AT = 1_700_000_000_000;
const ORDERS = { id: 'orders', partitionKey: ['/customer'], partitionSets: 3, at: AT };

/** The nodes of three regions, and the catalogue that they follow. */
class Account {
  readonly there: Daemons;
  readonly cluster: Cluster;
  readonly register: CatalogRegister;

  private constructor(there: Daemons, cluster: Cluster) {
    this.there = there;
    this.cluster = cluster;
    const first = (): Catalog => firstCatalog(there.config().containers, AT);
    this.register = new CatalogRegister({ cluster, first });
  }

  static async running(): Promise<Account> {
    const there = await Daemons.running();
    const acceptors = there.config().acceptors.map(({ url }) => url);
    return new Account(there, await openCluster({ acceptors }));
  }

  async change(edit: (catalog: Catalog) => Edited): Promise<Catalog> {
    const edited = await this.register.change(edit);
    if ('refusal' in edited) throw new Error(edited.refusal.message);
    return edited.catalog;
  }

  async look(region: Region, catalog: Catalog, partitionSets: readonly string[]): Promise<NodeLookAnswer> {
    const client = await this.there.client(region);
    const payload = encodeLook({ version: catalog.version, partitionSets, timeoutMs: 20_000 });
    const answer = await client.connection.call(METHODS.look, payload, { timeoutMs: 25_000 });
    await client.connection.close();
    return decodeLookAnswer(answer);
  }

  /** Made, and every partition-set of it can be written somewhere. */
  async add(database: string, container: Parameters<typeof addContainer>[2]): Promise<Catalog> {
    const catalog = await this.change((found) => addContainer(found, database, container));
    const { number } = findContainer(catalog, database, container.id)!;
    const names = placesOf(catalog, 1)
      .filter((place) => place.number === number)
      .map(({ name }) => name);
    await until(`${container.id} can be written`, async () => {
      const asked = REGIONS.map((region) => this.look(region, catalog, names).catch(() => undefined));
      const writable = new Set(
        (await Promise.all(asked))
          .flatMap((answer) => answer?.canWrite ?? [])
          .map(({ partitionSet }) => partitionSet),
      );
      return names.every((name) => writable.has(name));
    });
    return catalog;
  }

  async client(): Promise<BatonClient> {
    const endpoints = REGIONS.map((region) => `127.0.0.1:${this.there.ports.rpc[region]}`);
    const client = await BatonClient.connect({ account: 'demo', endpoints, timeoutMs: 20_000 });
    onTestFinished(() => client.close());
    return client;
  }

  /** What the disk of a node that is down has. */
  async stored(region: Region): Promise<readonly string[]> {
    const store = await NodeStore.open({ directory: join(this.there.directory, `${region}-1`) });
    const names = store.partitionSets.filter((name) => !name.startsWith('.'));
    await store.close();
    return names.toSorted();
  }

  async end(): Promise<void> {
    await this.cluster.close();
    await this.there.end();
  }
}

const codeOf = (error: unknown): string => (error as BatonError).code;

describe('a container', () => {
  let account: Account;

  beforeAll(async () => {
    account = await Account.running();
    await account.change((catalog) => addDatabase(catalog, { id: 'shop', at: AT }));
  }, START_MS);
  afterAll(() => account.end());

  test('made while the nodes run is written and read at once, and found in the map', async () => {
    const client = await account.client();
    const catalog = await account.add('shop', ORDERS);
    const orders = client.container('shop/orders');
    await orders.create({ id: 'a', customer: 'c1', total: 3 });
    const { document } = await orders.read('a', { partitionKey: 'c1' });
    expect(document).toMatchObject({ total: 3 });
    expect(String((document as Record<string, unknown>)['_rid'])).toMatch(/^AAAAA4AAAA/);
    const { prefix, firstRange } = findContainer(catalog, 'shop', 'orders')!;
    const map = (await account.there.get('east', '/v1/map')).json as Record<string, unknown>;
    expect(map['version']).toBeGreaterThan(catalog.version * 2 ** 32 - 1);
    expect(map['containers']).toMatchObject([
      { name: 'items', rid: 'AAAAAYAAAAI=', partitionSets: [{ name: 'items-00', rangeId: '1' }, {}] },
      {
        name: 'shop/orders',
        partitionSets: [{ name: `${prefix}-00`, rangeId: String(firstRange) }, {}, {}],
      },
    ]);
    expect((await account.there.get('west', '/v1/node')).json).toMatchObject({
      catalog: catalog.version,
      partitionSets: ['items-00', 'items-01', `${prefix}-00`, `${prefix}-01`, `${prefix}-02`],
    });
    expect((await account.there.get('west', '/readiness')).status).toBe(200);
  });

  test('that is dropped is gone from every disk, also of a node that was away, and made anew it is empty', async () => {
    const client = await account.client();
    await client.container('items').upsert({ id: 'kept', value: 1 });
    const made = await account.add('shop', { ...ORDERS, id: 'short' });
    const before = findContainer(made, 'shop', 'short')!;
    const container = client.container('shop/short');
    await container.create({ id: 'x', customer: 'c' });
    await account.there.stop('north');
    expect(await account.stored('north')).toContain(`${before.prefix}-00`);
    const dropped = await account.change((catalog) => dropContainer(catalog, 'shop', 'short'));
    for (const region of ['west', 'east'] as const)
      expect((await account.look(region, dropped, [])).version).toBe(dropped.version);
    await expect(container.create({ id: 'y', customer: 'c' }, { timeoutMs: 2000 })).rejects.toSatisfy(
      (error) => error instanceof BatonError && error.outcome === 'not applied',
    );
    const again = await account.add('shop', { ...ORDERS, id: 'short' });
    const after = findContainer(again, 'shop', 'short')!;
    expect(after.prefix).not.toBe(before.prefix);
    expect((await container.find('x', { partitionKey: 'c' })).document).toBeUndefined();
    await account.there.start('north');
    expect(account.there.daemon('north').partitionSets).not.toContain(`${before.prefix}-00`);
    await account.there.stop('north');
    const stored = await account.stored('north');
    expect(stored.filter((name) => name.startsWith(before.prefix))).toEqual([]);
    expect(stored).toContain(`${after.prefix}-00`);
    await account.there.start('north');
    expect((await client.container('items').read('kept')).document).toMatchObject({ value: 1 });
  });

  test('dropped while clients write to it: each of them is told, and the rest goes on', async () => {
    const client = await account.client();
    await account.add('shop', { ...ORDERS, id: 'busy' });
    const busy = client.container('shop/busy');
    const items = client.container('items');
    let isDropped = false;
    let written = 0;
    const writer = async (name: string): Promise<unknown> => {
      for (let at = 0; ; at += 1) {
        try {
          await busy.create({ id: `${name}-${at}`, customer: `c${at}` }, { timeoutMs: 5000 });
          written += 1;
        } catch (error) {
          expect(isDropped).toBe(true);
          return codeOf(error);
        }
      }
    };
    const writers = Array.from({ length: 8 }, (_, at) => writer(`w${at}`));
    await until('much is written', () => written > 40);
    isDropped = true;
    await account.change((catalog) => dropContainer(catalog, 'shop', 'busy'));
    const codes = await Promise.all(writers);
    expect(codes.every((code) => typeof code === 'string')).toBe(true);
    await items.upsert({ id: 'after', value: 2 });
    expect((await items.read('after')).document).toMatchObject({ value: 2 });
    for (const region of REGIONS) expect((await account.there.get(region, '/health')).status).toBe(200);
  });

  test('takes a new time to live without being opened anew', async () => {
    const client = await account.client();
    await account.add('shop', { ...ORDERS, id: 'fading' });
    const fading = client.container('shop/fading');
    await fading.create({ id: 'stays', customer: 'c' });
    const changed = await account.change((catalog) =>
      replaceContainer(catalog, 'shop', 'fading', { defaultTtl: 1, extra: undefined }),
    );
    for (const region of REGIONS) await account.look(region, changed, []);
    await fading.create({ id: 'goes', customer: 'c' });
    await until('it has faded', async () => {
      const { document } = await fading.find('goes', { partitionKey: 'c' });
      return document === undefined;
    });
    expect((await fading.read('stays', { partitionKey: 'c' })).document).toMatchObject({ id: 'stays' });
  });
});

test('data from before there was a catalogue are found again under their names', async () => {
  const account = await Account.running();
  onTestFinished(() => account.end());
  await (await account.client()).container('items').upsert({ id: 'old', value: 7 });
  for (const region of REGIONS) {
    await account.there.stop(region, 0);
    rmSync(join(account.there.directory, `${region}-1`, 'catalog.json'));
  }
  await account.cluster.delete(CATALOG_KEY);
  for (const region of REGIONS) await account.there.start(region);
  const client = await account.client();
  expect((await client.container('items').read('old')).document).toMatchObject({ value: 7 });
  expect((await account.register.read()).containers).toMatchObject([{ id: 'items', prefix: 'items' }]);
});
