import { beforeEach, expect, test } from 'vitest';
import {
  addDatabase,
  type Catalog,
  CatalogError,
  type Edited,
  findDatabase,
  firstCatalog,
} from '../catalog/index.ts';
import { CachedCatalog } from './catalog-source.ts';

let now: number;
let stored: Catalog;
let reads: number;
let isDown: boolean;
/** Instead of what is stored. */
let reading: Promise<Catalog> | undefined;
let source: CachedCatalog;

beforeEach(() => {
  now = 0;
  stored = firstCatalog([], 1);
  reads = 0;
  isDown = false;
  reading = undefined;
  source = new CachedCatalog({
    host: { now: () => now },
    register: {
      read: () => {
        reads += 1;
        if (reading !== undefined) return reading;
        return isDown
          ? Promise.reject(new CatalogError('CATALOG_UNREACHABLE', 'no'))
          : Promise.resolve(stored);
      },
      change: (edit) => {
        const edited = edit(stored);
        if ('catalog' in edited) stored = edited.catalog;
        return Promise.resolve(edited);
      },
    },
  });
});

function added(id: string): (catalog: Catalog) => Edited {
  return (catalog) => addDatabase(catalog, { id, at: 1 });
}

/** By another gateway. */
function addElsewhere(id: string): void {
  stored = (added(id)(stored) as { catalog: Catalog }).catalog;
}

const lacks = (id: string) => (catalog: Catalog) => findDatabase(catalog, id) === undefined;
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('what is asked for in a row is read once; a second later it is read again, beside the request', async () => {
  for (let at = 0; at < 5; at += 1) await source.known();
  expect(reads).toBe(1);
  addElsewhere('x');
  now += 1500;
  expect(lacks('x')(await source.known())).toBe(true);
  await settled();
  expect([reads, lacks('x')(await source.known())]).toEqual([2, false]);
});

test('what it lacks is looked for at once', async () => {
  await source.known();
  addElsewhere('x');
  now += 1;
  expect(lacks('x')(await source.known(lacks('x')))).toBe(false);
  await source.known(lacks('none'));
  await source.known(lacks('none'));
  expect(reads).toBe(2);
});

test('a reading that began before it was made is not enough', async () => {
  await source.known();
  now += 1500;
  let answer = (): void => {};
  const old = stored;
  reading = new Promise((resolve) => (answer = () => resolve(old)));
  await source.known();
  addElsewhere('x');
  now += 1;
  const looking = Promise.all([1, 2, 3].map(() => source.known(lacks('x'))));
  reading = undefined;
  answer();
  expect((await looking).map(lacks('x'))).toEqual([false, false, false]);
  expect(reads).toBe(3);
});

test('what is very old is waited for, and taken all the same if nothing newer is to be had', async () => {
  await source.known();
  addElsewhere('x');
  now += 60_000;
  expect(lacks('x')(await source.known())).toBe(false);
  now += 60_000;
  isDown = true;
  expect(lacks('x')(await source.known())).toBe(false);
  await expect(source.read()).rejects.toMatchObject({ status: 503 });
});

test('a change of this gateway is seen by it at once, and an older reading does not undo that', async () => {
  const before = await source.read();
  await source.change(added('x'));
  expect(lacks('x')(await source.known())).toBe(false);
  stored = before;
  await source.read();
  expect(lacks('x')(await source.known())).toBe(false);
});
