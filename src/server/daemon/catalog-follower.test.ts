import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { until } from '../../../test/support/until.ts';
import { NODE_HOST, openCluster } from '../../caspaxos/index.ts';
import {
  addContainer,
  type Catalog,
  CatalogError,
  CatalogRegister,
  dropContainer,
  type Edited,
  firstCatalog,
  marked,
  replaceContainer,
} from '../catalog/index.ts';
import { CatalogFollower, type CatalogFollowerOptions } from './catalog-follower.ts';
import { type CatalogMemory, catalogMemoryIn, type RememberedCatalog } from './catalog-memory.ts';

const ITEMS = { name: 'items', partitionKey: ['/id'], partitionSets: 3 };
let marks = 0;

/** As the register leaves it. */
function asStored(before: Catalog | undefined, after: Catalog): Catalog {
  return marked(before, after, `mark ${(marks += 1)}`);
}

const FIRST = asStored(undefined, firstCatalog([ITEMS], 1));

class Memory implements CatalogMemory {
  kept: RememberedCatalog | undefined;
  fails = false;

  read(): RememberedCatalog | undefined {
    return this.kept;
  }

  write(remembered: RememberedCatalog): void {
    if (this.fails) throw new Error('no room');
    this.kept = remembered;
  }
}

/** An account and a node that follows it, with everything that it did and said. */
class Scene {
  catalog: Catalog = FIRST;
  failure: Error | undefined;
  readonly memory = new Memory();
  readonly done: string[] = [];
  readonly said: string[] = [];
  readonly waited: string[] = [];
  /** Partition-sets that cannot be opened or dropped. */
  readonly bad = new Set<string>();

  reads = 0;

  readonly register: CatalogFollowerOptions['register'] = {
    read: async () => {
      this.reads += 1;
      if (this.failure !== undefined) throw this.failure;
      return this.catalog;
    },
    change: async (edit) => {
      const edited = edit(this.catalog);
      if ('catalog' in edited) this.catalog = asStored(this.catalog, edited.catalog);
      return edited;
    },
  };

  edit(edit: (catalog: Catalog) => Edited): void {
    const edited = edit(this.catalog);
    if ('refusal' in edited) throw new Error(edited.refusal.message);
    this.catalog = asStored(this.catalog, edited.catalog);
  }

  add(id: string, partitionSets = 2): void {
    const container = { id, partitionKey: ['/pk'], partitionSets, at: 1 };
    this.edit((catalog) => addContainer(catalog, 'main', container));
  }

  drop(id: string): void {
    this.edit((catalog) => dropContainer(catalog, 'main', id));
  }

  follower(options: Partial<CatalogFollowerOptions> = {}): CatalogFollower {
    const act = async (what: string, name: string): Promise<void> => {
      if (this.bad.has(name)) throw new Error(`${name} is bad`);
      this.done.push(`${what} ${name}`);
    };
    const say = (_: object, sentence: string): void => {
      this.said.push(sentence);
    };
    const follower = new CatalogFollower({
      register: this.register,
      memory: this.memory,
      containers: [ITEMS],
      column: 0,
      columns: 1,
      open: ({ name }) => act('open', name),
      drop: (name) => act('drop', name),
      // Only when it is asked to.
      pollMs: 3_600_000,
      host: NODE_HOST,
      logger: { debug() {}, info() {}, warn: say, error: say },
      onWaiting: ({ code }) => this.waited.push(code),
      ...options,
    });
    onTestFinished(() => follower.close());
    return follower;
  }

  /** What it did since the last time. */
  deeds(): string[] {
    return this.done.splice(0).toSorted();
  }
}

async function looked(
  follower: CatalogFollower,
  scene: Scene,
  partitionSets: string[] = [],
): Promise<number> {
  return follower.look({ version: scene.catalog.version, partitionSets, timeoutMs: 60_000 });
}

describe('a node', () => {
  test('opens the partition-sets of its column, those that come, and drops those that go', async () => {
    const scene = new Scene();
    const follower = scene.follower({ columns: 2 });
    await follower.start();
    expect(scene.deeds()).toEqual(['open items-00', 'open items-02']);
    scene.add('more');
    expect(await looked(follower, scene)).toBe(2);
    expect(scene.deeds()).toEqual(['open more-3-00']);
    expect(follower.places!.map(({ name }) => name)).toEqual(['items-00', 'items-02', 'more-3-00']);
    scene.drop('items');
    await looked(follower, scene);
    expect(scene.deeds()).toEqual(['drop items-00', 'drop items-02']);
    expect(scene.memory.kept).toMatchObject({ since: 1, version: 3, partitionSets: ['more-3-00'] });
    await looked(follower, scene);
    expect([scene.deeds(), scene.said]).toEqual([[], []]);
  });

  test('looks by itself now and then', async () => {
    const scene = new Scene();
    await scene.follower({ pollMs: 5 }).start();
    scene.add('more');
    await until('it is opened', () => scene.done.includes('open more-3-01'));
    scene.drop('more');
    await until('it is dropped', () => scene.done.includes('drop more-3-01'));
  });

  test('that was away meanwhile drops what went, and only what it had', async () => {
    const scene = new Scene();
    scene.add('one');
    await scene.follower().start();
    scene.drop('one');
    scene.add('two');
    scene.drop('two');
    scene.deeds();
    await scene.follower().start();
    expect(scene.deeds()).toEqual([
      'drop one-3-00',
      'drop one-3-01',
      'open items-00',
      'open items-01',
      'open items-02',
    ]);
  });

  test.each([
    ['another catalogue', { since: 2 }],
    ['an older one', { since: 1, version: 1 }],
    ['one of the same name and version with other marks', { marks: ['another'] }],
  ])('that finds %s drops nothing, and says so', async (_, changes) => {
    const scene = new Scene();
    scene.add('more');
    await scene.follower().start();
    scene.deeds();
    scene.catalog = { ...FIRST, version: 9, ...changes };
    const follower = scene.follower();
    await follower.start();
    expect(scene.deeds()).toEqual(['open items-00', 'open items-01', 'open items-02']);
    expect(scene.said).toEqual([expect.stringContaining('not the one that this node knew')]);
    scene.drop('items');
    await looked(follower, scene);
    expect(scene.deeds()).toEqual(['drop items-00', 'drop items-01', 'drop items-02']);
  });

  test('that was away while the catalogue was restored from an older copy and then edited drops nothing', async () => {
    const scene = new Scene();
    const older = scene.catalog;
    scene.add('kept');
    await scene.follower().start();
    const { version } = scene.catalog;
    scene.deeds();
    scene.catalog = older;
    // The versions come again, with other changes.
    scene.add('other');
    expect(scene.catalog.version).toBe(version);
    const follower = scene.follower();
    await follower.start();
    scene.add('more');
    await looked(follower, scene);
    expect(scene.deeds().filter((deed) => deed.startsWith('drop'))).toEqual([]);
    expect(scene.said).toEqual([expect.stringContaining('restored from an older copy')]);
    scene.drop('other');
    await looked(follower, scene);
    expect(scene.deeds()).toEqual(['drop other-3-00', 'drop other-3-01']);
  });

  test('marks a catalogue that an earlier version of this software made', async () => {
    const scene = new Scene();
    scene.catalog = firstCatalog([ITEMS], 1);
    await scene.follower({ columns: 1 }).start();
    expect(scene.catalog.marks).toHaveLength(1);
    scene.drop('items');
    await scene.follower().start();
    expect(scene.deeds()).toContain('drop items-00');
  });

  test('that was away for more changes than the catalogue tells of drops nothing', async () => {
    const scene = new Scene();
    scene.add('one');
    await scene.follower().start();
    scene.deeds();
    scene.drop('one');
    for (let change = 0; change < 130; change += 1) {
      scene.add('again', 1);
      scene.drop('again');
    }
    expect(scene.catalog.marks).toHaveLength(256);
    await scene.follower().start();
    expect(scene.deeds()).toEqual(['open items-00', 'open items-01', 'open items-02']);
    expect(scene.said).toEqual([expect.stringContaining('changed too often')]);
  });

  test('waits for the catalogue, as long as it takes', async () => {
    const scene = new Scene();
    scene.failure = new CatalogError('CATALOG_UNREACHABLE', 'Too few acceptors.');
    const starting = scene.follower().start();
    await until('it has waited twice', () => scene.waited.length >= 2);
    scene.failure = undefined;
    await starting;
    expect(scene.waited).toContain('CATALOG_UNREACHABLE');
    expect(scene.deeds()).toHaveLength(3);
  });

  test('gives up waiting when it is told to', async () => {
    const scene = new Scene();
    scene.failure = new CatalogError('CATALOG_UNREACHABLE', 'Too few acceptors.');
    const stop = new AbortController();
    const starting = scene.follower({ signal: stop.signal }).start();
    await until('it waits', () => scene.waited.length > 0);
    stop.abort(new Error('stopped'));
    await expect(starting).rejects.toThrow('stopped');
  });

  test('does not start on a catalogue that it cannot read for good', async () => {
    const scene = new Scene();
    scene.failure = new CatalogError('CATALOG_NEWER', 'It is newer.');
    await expect(scene.follower().start()).rejects.toMatchObject({ code: 'CATALOG_NEWER' });
  });

  test('says once that the catalogue cannot be read, and goes on when it can', async () => {
    const scene = new Scene();
    const follower = scene.follower({ pollMs: 2 });
    await follower.start();
    scene.failure = new CatalogError('CATALOG_UNREACHABLE', 'Too few acceptors.');
    expect(await follower.look({ version: 2, partitionSets: [], timeoutMs: 120 })).toBe(1);
    expect(scene.said).toEqual(['The catalogue cannot be read: Too few acceptors.']);
    scene.failure = undefined;
    scene.add('more');
    expect(await looked(follower, scene, ['more-3-00'])).toBe(2);
  });
});

describe('what fails', () => {
  test('to open is tried again with the next look, and the others go on', async () => {
    const scene = new Scene();
    scene.bad.add('items-01');
    const follower = scene.follower();
    await follower.start();
    expect(scene.deeds()).toEqual(['open items-00', 'open items-02']);
    expect(follower.missing).toEqual(['items-01']);
    scene.add('more');
    await looked(follower, scene);
    expect(scene.said).toEqual(['items-01 cannot be opened: items-01 is bad']);
    const waiting = looked(follower, scene, ['items-01']);
    scene.bad.clear();
    expect(await waiting).toBe(2);
    expect(scene.done).toContain('open items-01');
    expect(follower.missing).toEqual([]);
  });

  test('to be dropped is tried again, also by the next life', async () => {
    const scene = new Scene();
    scene.add('more');
    const follower = scene.follower();
    await follower.start();
    scene.bad.add('more-3-01');
    scene.drop('more');
    scene.deeds();
    await looked(follower, scene);
    expect(scene.deeds()).toEqual(['drop more-3-00']);
    expect(scene.memory.kept!.partitionSets).toContain('more-3-01');
    scene.bad.clear();
    follower.close();
    await scene.follower().start();
    expect(scene.deeds()).toContain('drop more-3-01');
    expect(scene.memory.kept!.partitionSets).not.toContain('more-3-01');
  });

  test('to be noted on disk is no reason not to open, but to drop nothing', async () => {
    const scene = new Scene();
    scene.add('more');
    const follower = scene.follower();
    await follower.start();
    scene.deeds();
    scene.memory.fails = true;
    scene.drop('items');
    scene.add('other', 1);
    await looked(follower, scene);
    expect(scene.deeds()).toEqual(['open other-4-00']);
    scene.memory.fails = false;
    scene.add('last', 1);
    await looked(follower, scene);
    expect(scene.deeds()).toEqual(['drop items-00', 'drop items-01', 'drop items-02', 'open last-5-00']);
  });
});

describe('a look', () => {
  test('is answered when the version is there, and not before', async () => {
    const scene = new Scene();
    const follower = scene.follower();
    await follower.start();
    let isAnswered = false;
    const answer = follower.look({ version: 2, partitionSets: [], timeoutMs: 60_000 }).finally(() => {
      isAnswered = true;
    });
    const { reads } = scene;
    await until('it has looked again, twice', () => scene.reads > reads + 1);
    expect(isAnswered).toBe(false);
    scene.add('more');
    expect(await answer).toBe(2);
    expect(scene.done).toContain('open more-3-01');
  });

  test('is answered with what is known when its time is over, and when the node ends', async () => {
    const scene = new Scene();
    const follower = scene.follower();
    expect(await follower.look({ version: 5, partitionSets: [], timeoutMs: 0 })).toBe(0);
    await follower.start();
    expect(await follower.look({ version: 5, partitionSets: [], timeoutMs: 30 })).toBe(1);
    const waiting = follower.look({ version: 5, partitionSets: [], timeoutMs: 60_000 });
    follower.close();
    expect(await waiting).toBe(1);
  });
});

test('the file: what is new in it is made, what was dropped does not come back', async () => {
  const scene = new Scene();
  const containers = [ITEMS, { ...ITEMS, name: 'late', partitionSets: 1 }];
  await scene.follower({ containers }).start();
  expect(scene.done).toContain('open late-00');
  scene.drop('late');
  await scene.follower({ containers }).start();
  expect(scene.catalog.containers.map(({ id }) => id)).toEqual(['items']);
  expect(scene.done).toContain('drop late-00');
});

test('what the catalogue says of a container is always the newest', async () => {
  const scene = new Scene();
  const follower = scene.follower();
  await follower.start();
  expect(follower.entry(2)!.defaultTtl).toBeUndefined();
  scene.edit((catalog) => replaceContainer(catalog, 'main', 'items', { defaultTtl: 9, extra: undefined }));
  await looked(follower, scene);
  expect(follower.entry(2)!.defaultTtl).toBe(9);
  scene.drop('items');
  await looked(follower, scene);
  expect(follower.entry(2)).toBeUndefined();
});

test('data that another column has now are left, until their container is deleted', async () => {
  const scene = new Scene();
  await scene.follower({ columns: 2 }).start();
  expect(scene.deeds()).toEqual(['open items-00', 'open items-02']);
  const moved = scene.follower({ columns: 2, column: 1 });
  await moved.start();
  expect(scene.deeds()).toEqual(['open items-01']);
  expect(scene.said).toEqual([expect.stringContaining('such as items-00')]);
  scene.drop('items');
  await looked(moved, scene);
  expect(scene.deeds()).toEqual(['drop items-00', 'drop items-01', 'drop items-02']);
});

test('a file with another number of nodes than the data lie on opens nothing', async () => {
  const scene = new Scene();
  await scene.follower({ columns: 2 }).start();
  scene.deeds();
  scene.add('more');
  for (const columns of [1, 3])
    await expect(scene.follower({ columns }).start()).rejects.toMatchObject({ code: 'CATALOG_COLUMNS' });
  expect(scene.deeds()).toEqual([]);
  await scene.follower({ columns: 2 }).start();
  expect(scene.deeds()).toEqual(['open items-00', 'open items-02', 'open more-3-00']);
});

test('several nodes on one register agree, and each has its column', async () => {
  const acceptors = ['a', 'b', 'c'].map((name) => `memory:follower-${process.pid}-${name}`);
  const scene = new Scene();
  const nodes = await Promise.all(
    [0, 1].map(async (column) => {
      const cluster = await openCluster({ acceptors });
      onTestFinished(() => cluster.close());
      const register = new CatalogRegister({ cluster, first: () => firstCatalog([ITEMS], Date.now()) });
      const follower = scene.follower({ register, memory: new Memory(), column, columns: 2, pollMs: 5 });
      await follower.start();
      return { register, follower };
    }),
  );
  expect(scene.deeds()).toEqual(['open items-00', 'open items-01', 'open items-02']);
  const container = { id: 'more', partitionKey: ['/pk'], partitionSets: 2, at: 1 };
  await nodes[0]!.register.change((catalog) => addContainer(catalog, 'main', container));
  await Promise.all(
    nodes.map(({ follower }) => follower.look({ version: 2, partitionSets: [], timeoutMs: 20_000 })),
  );
  expect(scene.deeds()).toEqual(['open more-3-00', 'open more-3-01']);
});

test('what a node remembers is in a file; one that is damaged is none', () => {
  const directory = mkdtempSync(join(tmpdir(), 'baton-memory-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const memory = catalogMemoryIn(directory);
  expect(memory.read()).toBeUndefined();
  const kept = { since: 1, version: 2, partitionSets: ['a-00'] };
  memory.write(kept);
  expect(catalogMemoryIn(directory).read()).toEqual(kept);
  const path = join(directory, 'catalog.json');
  for (const text of [
    '',
    '{',
    'null',
    '{"since":1,"version":"2","partitionSets":[]}',
    '{"since":1,"version":2}',
  ]) {
    writeFileSync(path, text);
    expect(memory.read()).toBeUndefined();
  }
  memory.write(kept);
  expect(JSON.parse(readFileSync(path, 'utf8'))).toEqual(kept);
});
