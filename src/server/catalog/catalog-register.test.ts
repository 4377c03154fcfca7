import { afterEach, describe, expect, test } from 'vitest';
import { CasPaxosError, type Cluster, openCluster } from '../../caspaxos/index.ts';
import { CATALOG_KEY, firstCatalog } from './catalog.ts';
import { CatalogRegister } from './catalog-register.ts';
import { addDatabase, dropDatabase } from './edits.ts';
import { markOf } from './marks.ts';

const FILE = [{ name: 'items', partitionKey: ['/id'], partitionSets: 2 }];
const open: Cluster[] = [];
let names = 0;

function cluster(name: string): Promise<Cluster> {
  return openCluster({ acceptors: ['a', 'b', 'c'].map((one) => `memory:${name}-${one}`) }).then((made) => {
    open.push(made);
    return made;
  });
}

const newName = (): string => `catalogue-${process.pid}-${(names += 1)}`;

afterEach(async () => {
  await Promise.all(open.splice(0).map((one) => one.close()));
});

/** A cluster whose next change ends like this. */
function ending(outcome: 'rejected' | 'unknown', code: 'DEADLINE_EXCEEDED' | 'VALUE_TOO_LARGE'): Cluster {
  const error = new CasPaxosError(code, 'Not done.', { outcome });
  return {
    change: async () => ({ outcome, error }),
    read: async () => {
      throw error;
    },
  } as unknown as Cluster;
}

describe('the register', () => {
  test('is made by whoever reads it first, once', async () => {
    const name = newName();
    const made = await Promise.all(
      [1, 2, 3].map(async (at) =>
        new CatalogRegister({ cluster: await cluster(name), first: () => firstCatalog(FILE, at) }).read(),
      ),
    );
    expect(new Set(made.map(({ since }) => since)).size).toBe(1);
    expect(made[0]).toMatchObject({ version: 1, containers: [{ id: 'items' }] });
  });

  test('takes changes and gives refusals, and knows the newest it has seen', async () => {
    const name = newName();
    const first = (): ReturnType<typeof firstCatalog> => firstCatalog(FILE, 1);
    const one = new CatalogRegister({ cluster: await cluster(name), first });
    const two = new CatalogRegister({ cluster: await cluster(name), first });
    expect(one.known).toBeUndefined();
    expect(await one.change((catalog) => addDatabase(catalog, { id: 'shop', at: 5 }))).toMatchObject({
      catalog: { version: 2 },
    });
    expect(await two.change((catalog) => addDatabase(catalog, { id: 'shop', at: 6 }))).toEqual({
      refusal: { status: 409, message: 'There is a database shop already.' },
    });
    expect((await two.read()).databases).toHaveLength(2);
    await two.change((catalog) => dropDatabase(catalog, 'shop'));
    expect([one.known?.version, two.known?.version]).toEqual([2, 3]);
    expect((await one.read()).version).toBe(3);
  });

  test('carries a mark of every version, by which its history is known again', async () => {
    const register = new CatalogRegister({
      cluster: await cluster(newName()),
      first: () => firstCatalog(FILE, 1),
    });
    const first = await register.read();
    await register.change((catalog) => addDatabase(catalog, { id: 'shop', at: 5 }));
    await register.change((catalog) => ({ catalog: { ...catalog, columns: 2 } }));
    const last = await register.read();
    expect(last.marks).toHaveLength(2);
    expect(markOf(last, 1)).toBe(markOf(first));
    expect(markOf(last)).not.toBe(markOf(first));
    expect(markOf(first, 2)).toBeUndefined();
  });

  test('of many that create the same one exactly one succeeds', async () => {
    const name = newName();
    const registers = await Promise.all(
      Array.from({ length: 5 }, async () => {
        const one = await cluster(name);
        return new CatalogRegister({ cluster: one, first: () => firstCatalog(FILE, 1) });
      }),
    );
    const edited = await Promise.all(
      registers.map((one) => one.change((catalog) => addDatabase(catalog, { id: 'shop', at: 1 }))),
    );
    expect(edited.filter((one) => 'catalog' in one)).toHaveLength(1);
  });

  test('says whether a change that failed was certainly not made', async () => {
    const register = (one: Cluster): CatalogRegister =>
      new CatalogRegister({ cluster: one, first: () => firstCatalog(FILE, 1) });
    const edit = (one: CatalogRegister): Promise<unknown> => one.change((catalog) => ({ catalog }));
    const late = register(ending('rejected', 'DEADLINE_EXCEEDED'));
    await expect(edit(late)).rejects.toMatchObject({ code: 'CATALOG_UNREACHABLE' });
    await expect(late.read()).rejects.toMatchObject({ code: 'CATALOG_UNREACHABLE' });
    await expect(edit(register(ending('unknown', 'DEADLINE_EXCEEDED')))).rejects.toMatchObject({
      code: 'CATALOG_UNKNOWN',
    });
    expect(await edit(register(ending('rejected', 'VALUE_TOO_LARGE')))).toMatchObject({
      refusal: { status: 400 },
    });
  });

  test('of a newer schema is neither read nor changed', async () => {
    const one = await cluster(newName());
    await one.change(CATALOG_KEY, () => ({ ...firstCatalog(FILE, 1), schema: 2 }));
    const register = new CatalogRegister({ cluster: one, first: () => firstCatalog(FILE, 1) });
    await expect(register.read()).rejects.toMatchObject({ code: 'CATALOG_NEWER' });
    await expect(register.change((catalog) => ({ catalog }))).rejects.toMatchObject({
      code: 'CATALOG_NEWER',
    });
  });
});
