import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ContainerConfig } from '../config/index.ts';
import { wrongName } from '../config/values.ts';
import {
  type Catalog,
  findContainer,
  findDatabase,
  firstCatalog,
  parseCatalog,
  sdkNameOf,
} from './catalog.ts';
import {
  addContainer,
  addDatabase,
  adoptContainers,
  dropContainer,
  dropDatabase,
  type Edited,
  MAX_ACCOUNT_PARTITION_SETS,
  MAX_CONTAINERS,
  MAX_DATABASES,
  replaceContainer,
  setThroughput,
} from './edits.ts';
import { placesOf, ridOf } from './placement.ts';

const AT = 1_700_000_000_000;
const ITEMS: ContainerConfig = { name: 'items', partitionKey: ['/id'], partitionSets: 4 };
const FIRST = firstCatalog([ITEMS], AT);

function good(edited: Edited): Catalog {
  if ('refusal' in edited) throw new Error(edited.refusal.message);
  return edited.catalog;
}

const statusOf = (edited: Edited): number => ('refusal' in edited ? edited.refusal.status : 200);

function container(id: string, more: object = {}): Parameters<typeof addContainer>[2] {
  return { id, partitionKey: ['/pk'], partitionSets: 2, at: AT, ...more };
}

const withShop = good(addDatabase(FIRST, { id: 'shop', at: AT }));
const withOrders = good(addContainer(withShop, 'shop', container('Orders & more')));

describe('the catalogue', () => {
  test('of a new account has the containers of the file, with the names that they always had', () => {
    expect(FIRST).toMatchObject({
      version: 1,
      databases: [{ id: 'main', number: 1 }],
      containers: [{ id: 'items', database: 1, number: 2, prefix: 'items', firstRange: 1 }],
      lastNumber: 2,
      lastRange: 4,
    });
    expect(placesOf(FIRST, 2)).toMatchObject([
      { name: 'items-00', container: 'items', from: '', column: 0, rangeId: '1', number: 2 },
      { name: 'items-01', column: 1, rangeId: '2' },
      { name: 'items-02', column: 0, rangeId: '3' },
      { name: 'items-03', to: 'FF', column: 1, rangeId: '4' },
    ]);
  });

  test('gives a container made by a client a prefix of its own, and its name by database', () => {
    const made = findContainer(withOrders, 'shop', 'Orders & more')!;
    expect(made).toMatchObject({ number: 4, prefix: 'orders-more-4', firstRange: 5, version: 3 });
    expect(sdkNameOf(withOrders, made)).toBe('shop/Orders & more');
    expect(sdkNameOf(withOrders, findContainer(withOrders, 'main', 'items')!)).toBe('items');
    expect(placesOf(withOrders, 1).map(({ name }) => name)).toContain('orders-more-4-01');
  });

  test('gives resource ids that tell databases from containers', () => {
    expect(ridOf({ number: 1 })).toBe('AAAAAQ==');
    expect(ridOf({ number: 1 }, { number: 2 })).toBe('AAAAAYAAAAI=');
  });

  test('is the same value when it comes back from the register, with what is not known here', () => {
    const stored = JSON.parse(JSON.stringify({ ...withOrders, later: [1] })) as unknown;
    const parsed = parseCatalog(stored)!;
    expect(parsed).toEqual({ ...withOrders, later: [1] });
    expect(good(addDatabase(parsed, { id: 'x', at: AT }))).toMatchObject({ later: [1] });
    expect(parseCatalog(undefined)).toBeUndefined();
  });

  test.each([
    ['CATALOG_NEWER', { ...FIRST, schema: 2 }],
    ['CATALOG_DAMAGED', { ...FIRST, version: 'x' }],
    ['CATALOG_DAMAGED', { ...FIRST, databases: [] }],
    ['CATALOG_DAMAGED', { ...FIRST, containers: [{ id: 'x' }] }],
    ['CATALOG_DAMAGED', { ...FIRST, containers: [{ ...FIRST.containers[0]!, partitionSets: 0 }] }],
    ['CATALOG_DAMAGED', { ...FIRST, containers: [{ ...FIRST.containers[0]!, partitionSets: 2 ** 31 }] }],
    ['CATALOG_DAMAGED', null],
    ['CATALOG_DAMAGED', []],
    ['CATALOG_DAMAGED', 'text'],
  ])('is refused as %s', (code, value) => {
    expect(() => parseCatalog(value)).toThrow(expect.objectContaining({ code }) as Error);
  });
});

describe('a refusal', () => {
  test.each([
    ['an empty id', ''],
    ['a long id', 'x'.repeat(256)],
    ['a slash', 'a/b'],
    ['a backslash', 'a\\b'],
    ['a question mark', 'a?'],
    ['a number sign', '#a'],
    ['a blank at the end', 'a '],
    ['half a character', '\ud800'],
  ])('400 for %s', (_, id) => {
    expect(statusOf(addDatabase(FIRST, { id, at: AT }))).toBe(400);
    expect(statusOf(addContainer(FIRST, 'main', container(id)))).toBe(400);
  });

  test.each([
    ['no partition key', { partitionKey: [] }],
    ['two partition keys', { partitionKey: ['/a', '/b'] }],
    ['a path that is none', { partitionKey: ['a'] }],
    ['a path that is too long', { partitionKey: [`/${'a'.repeat(255)}`] }],
    ['a time to live of 0', { defaultTtl: 0 }],
    ['half a second', { defaultTtl: 1.5 }],
    ['a time to live that is too long', { defaultTtl: 2 ** 31 }],
    ['too little throughput', { throughput: 399 }],
    ['too much throughput', { throughput: 1_000_001 }],
    ['no partition-set', { partitionSets: 0 }],
    ['half a partition-set', { partitionSets: 1.5 }],
    ['too many partition-sets', { partitionSets: MAX_ACCOUNT_PARTITION_SETS - 3 }],
  ])('400 for %s', (_, more) => {
    expect(statusOf(addContainer(FIRST, 'main', container('x', more)))).toBe(400);
  });

  test('but ids, times and numbers at their limits are good', () => {
    expect(statusOf(addDatabase(FIRST, { id: `${'ü'.repeat(254)}x`, at: AT }))).toBe(200);
    for (const more of [
      { defaultTtl: -1 },
      { defaultTtl: 2 ** 31 - 1, throughput: 400 },
      { partitionSets: MAX_ACCOUNT_PARTITION_SETS - 4, throughput: 1_000_000 },
    ])
      expect(statusOf(addContainer(FIRST, 'main', container('x', more)))).toBe(200);
  });

  test('404 for what is not there, 409 for what is, 412 for another version', () => {
    expect(statusOf(dropDatabase(FIRST, 'shop'))).toBe(404);
    expect(statusOf(addContainer(FIRST, 'shop', container('x')))).toBe(404);
    expect(statusOf(dropContainer(FIRST, 'main', 'x'))).toBe(404);
    expect(statusOf(dropContainer(FIRST, 'shop', 'items'))).toBe(404);
    expect(statusOf(setThroughput(FIRST, 'main', 'x', { throughput: 400 }))).toBe(404);
    expect(statusOf(addDatabase(FIRST, { id: 'main', at: AT }))).toBe(409);
    expect(statusOf(addContainer(FIRST, 'main', container('items')))).toBe(409);
    expect(statusOf(dropDatabase(withShop, 'shop', 1))).toBe(412);
    expect(statusOf(dropDatabase(withShop, 'shop', 2))).toBe(200);
    expect(statusOf(dropContainer(withOrders, 'shop', 'Orders & more', 2))).toBe(412);
    const replacement = { defaultTtl: 5, extra: {}, ifMatch: 2 };
    expect(statusOf(replaceContainer(withOrders, 'shop', 'Orders & more', replacement))).toBe(412);
  });

  test('400 at the limit of databases and of containers', () => {
    let many = FIRST;
    while (many.databases.length < MAX_DATABASES)
      many = good(addDatabase(many, { id: `d${many.databases.length}`, at: AT }));
    expect(statusOf(addDatabase(many, { id: 'more', at: AT }))).toBe(400);
    many = FIRST;
    while (many.containers.length < MAX_CONTAINERS)
      many = good(addContainer(many, 'main', container(`c${many.containers.length}`, { partitionSets: 1 })));
    expect(statusOf(addContainer(many, 'main', container('more', { partitionSets: 1 })))).toBe(400);
    expect(statusOf(addContainer(good(dropContainer(many, 'main', 'c7')), 'main', container('more')))).toBe(
      200,
    );
  });
});

describe('a change', () => {
  test('replaces what may be replaced and leaves the rest', () => {
    const before = findContainer(withOrders, 'shop', 'Orders & more')!;
    const changed = good(
      replaceContainer(withOrders, 'shop', before.id, {
        partitionKey: ['/pk'],
        defaultTtl: 60,
        extra: { indexingPolicy: {} },
        ifMatch: before.version,
      }),
    );
    expect(findContainer(changed, 'shop', before.id)).toEqual({
      ...before,
      version: withOrders.version + 1,
      defaultTtl: 60,
      extra: { indexingPolicy: {} },
    });
    const off = good(
      replaceContainer(changed, 'shop', before.id, { defaultTtl: undefined, extra: undefined }),
    );
    expect(findContainer(off, 'shop', before.id)).toEqual({ ...before, version: changed.version + 1 });
    const key = { partitionKey: ['/other'], defaultTtl: undefined, extra: undefined };
    expect(statusOf(replaceContainer(changed, 'shop', before.id, key))).toBe(400);
  });

  test('sets the throughput and takes it away', () => {
    const some = good(setThroughput(FIRST, 'main', 'items', { throughput: 500 }));
    expect(findContainer(some, 'main', 'items')).toMatchObject({ throughput: 500, version: 2 });
    const none = good(setThroughput(some, 'main', 'items', { throughput: undefined }));
    expect(findContainer(none, 'main', 'items')).not.toHaveProperty('throughput');
    expect(statusOf(setThroughput(FIRST, 'main', 'items', { throughput: 1 }))).toBe(400);
  });

  test('drops a database with its containers', () => {
    const dropped = good(dropDatabase(withOrders, 'shop'));
    expect(findDatabase(dropped, 'shop')).toBeUndefined();
    expect(dropped.containers.map(({ id }) => id)).toEqual(['items']);
  });
});

describe('containers of the file', () => {
  const more: ContainerConfig = { name: 'more', partitionKey: ['/id'], partitionSets: 3 };

  test('that were added to it are made; one that was dropped does not come back', () => {
    const adopted = adoptContainers(FIRST, [ITEMS, more], AT);
    expect(findContainer(adopted, 'main', 'more')).toMatchObject({ prefix: 'more', firstRange: 5 });
    expect(adopted.version).toBe(2);
    expect(adoptContainers(adopted, [ITEMS, more], AT)).toBe(adopted);
    const dropped = good(dropContainer(adopted, 'main', 'more'));
    expect(adoptContainers(dropped, [ITEMS, more], AT)).toBe(dropped);
  });

  test('are those that clients made, if they have the same name', () => {
    const made = good(addContainer(FIRST, 'main', container('more')));
    const adopted = adoptContainers(made, [ITEMS, more], AT);
    expect(adopted.containers).toEqual(made.containers);
    expect(adopted.adopted).toEqual(['items', 'more']);
  });

  test('never share a prefix with one that a client made, before or after', () => {
    const made = good(addContainer(FIRST, 'main', container('a')));
    const gone = good(dropContainer(made, 'main', 'a'));
    const like = { ...more, name: 'a-3' };
    expect(findContainer(adoptContainers(gone, [like], AT), 'main', 'a-3')!.prefix).toBe('a-3-4');
    const first = firstCatalog([{ ...more, name: 'a-3' }], AT);
    expect(findContainer(good(addContainer(first, 'main', container('a'))), 'main', 'a')!.prefix).toBe('a-4');
  });

  test('have their database made again', () => {
    const without = good(dropDatabase(FIRST, 'main'));
    const adopted = adoptContainers(without, [ITEMS, more], AT);
    expect(sdkNameOf(adopted, adopted.containers[0]!)).toBe('more');
    expect(findDatabase(adopted, 'main')!.number).not.toBe(1);
  });
});

test('numbers, ranges and names of partition-sets are never given twice, whatever happens', () => {
  const id = fc.oneof(
    fc.constantFrom('a', 'A', 'a-1', 'a-3', 'a-4-00', '-', 'é', 'x'.repeat(255), 'items', 'a_1'),
    fc.string({ minLength: 1, maxLength: 12 }),
  );
  const database = fc.constantFrom('main', 'shop', 'other');
  const partitionSets = fc.integer({ min: 1, max: 120 });
  const step = fc.oneof(
    fc.record({ do: fc.constant('addDatabase' as const), id: database }),
    fc.record({ do: fc.constant('dropDatabase' as const), id: database }),
    fc.record({ do: fc.constant('add' as const), database, id, partitionSets }),
    fc.record({ do: fc.constant('drop' as const), database, id }),
    fc.record({
      do: fc.constant('adopt' as const),
      id: fc.constantFrom('a', 'a-3', 'a-5', 'b-4'),
      partitionSets,
    }),
  );
  const next = (catalog: Catalog, one: typeof step extends fc.Arbitrary<infer S> ? S : never): Edited => {
    switch (one.do) {
      case 'addDatabase':
        return addDatabase(catalog, { id: one.id, at: AT });
      case 'dropDatabase':
        return dropDatabase(catalog, one.id);
      case 'add':
        return addContainer(catalog, one.database, container(one.id, { partitionSets: one.partitionSets }));
      case 'drop':
        return dropContainer(catalog, one.database, one.id);
      case 'adopt': {
        const { id: name, partitionSets: count } = one;
        const file = [{ name, partitionKey: ['/id'], partitionSets: count }];
        return { catalog: adoptContainers(catalog, file, AT) };
      }
    }
  };
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      let catalog = FIRST;
      const owner = new Map<string, number>();
      for (const one of steps) {
        const edited = next(catalog, one);
        if ('refusal' in edited) continue;
        expect(edited.catalog === catalog || edited.catalog.version > catalog.version).toBe(true);
        catalog = parseCatalog(JSON.parse(JSON.stringify(edited.catalog)))!;
        for (const { name, rangeId, number } of placesOf(catalog, 3)) {
          expect(wrongName(name)).toBeUndefined();
          for (const taken of [name, rangeId]) {
            expect(owner.get(taken) ?? number).toBe(number);
            owner.set(taken, number);
          }
        }
        const numbers = [...catalog.databases, ...catalog.containers].map(({ number }) => number);
        expect(new Set(numbers).size).toBe(numbers.length);
      }
    }),
    { seed: 7, numRuns: 400 },
  );
});
