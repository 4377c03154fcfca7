/** Stores of a local cluster: in the file without their passwords, kept from run to run, and not ours to kill. */
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { acceptorUrls, type ClusterConfig, formatClusterFile } from '../config/index.ts';
import { writeWhole } from './directory.ts';
import type { Guard } from './guarded.ts';
import type { LocalClusterOptions } from './options.ts';
import { settleDown } from './settling.ts';
import { demandSameShape, shapeFor, shapeOf } from './shape.ts';
import { keepPasswords, readStores, refuseStore } from './stores.ts';

const SECRET = 'hunter2/hunter2';
const POSTGRES = 'postgres://me:hunter2%2Fhunter2@db.example/baton';
const REDIS = 'redis://127.0.0.1:6390';
const places = { readFile: (path: string) => readFileSync(path, 'utf8'), env: {} };
let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'baton-stores-'));
});

afterEach(() => rmSync(directory, { recursive: true, force: true }));

/** What a start does before it starts anything. */
async function settled(options: Partial<LocalClusterOptions>): Promise<ClusterConfig> {
  const { config, stores } = await settleDown({ portBase: 'free', ...options, directory }, {} as Guard);
  await keepPasswords(config, stores);
  await writeWhole(config.path, formatClusterFile(config, { withSecrets: true }));
  return config;
}

const codeOf = (error: unknown): unknown => (error as { code?: unknown }).code;

describe('a cluster with stores', () => {
  test('has as many services as make five with them, and a password in a file of its own', async () => {
    const config = await settled({ stores: [POSTGRES, REDIS] });
    expect(config.acceptors.map(({ name }) => name)).toEqual(['a1', 'a2', 'a3', 's1', 's2']);
    const file = join(directory, 's1.password');
    expect([readFileSync(file, 'utf8'), statSync(file).mode & 0o777]).toEqual([`${SECRET}\n`, 0o600]);
    const written = readFileSync(config.path, 'utf8');
    expect(written).toMatch(
      /url: "postgres:\/\/me@db\.example\/baton", password: \{ file: \.\/s1\.password \}/,
    );
    expect(written + inspect(config, { depth: 9 })).not.toMatch(/hunter2/);
    expect(acceptorUrls(config, places).slice(3)).toEqual([POSTGRES, REDIS]);
  });

  test('keeps them, and their passwords, between runs, also at other addresses', async () => {
    const first = await settled({ stores: [POSTGRES, REDIS], acceptors: 1 });
    for (const options of [
      {},
      { stores: [POSTGRES, REDIS] },
      { stores: [POSTGRES.replace(/:hunter[^@]*/, ''), REDIS] },
    ]) {
      const again = await settled(options);
      expect(shapeOf(again)).toEqual(shapeOf(first));
      expect(acceptorUrls(again, places).slice(1)).toEqual([POSTGRES, REDIS]);
    }
  });

  test('takes a new password for the same store', async () => {
    await settled({ stores: [POSTGRES] });
    const again = await settled({ stores: [POSTGRES.replace(/:hunter[^@]*/, ':new')] });
    expect(acceptorUrls(again, places).at(-1)).toBe('postgres://me:new@db.example/baton');
  });

  test('refuses to become one with others', async () => {
    const kept = shapeOf(await settled({ stores: [REDIS] }));
    const differ = (stores: readonly string[]) => () => demandSameShape(kept, { stores }, directory);
    expect(differ([POSTGRES])).toThrow(/has stores redis:.*, not postgres:/);
    expect(differ([POSTGRES])).not.toThrow(/hunter2/);
    expect(differ([])).toThrow(/, not none; choose another directory/);
    expect(() => demandSameShape(shapeFor({}), { stores: [REDIS] }, directory)).toThrow(
      /stores none, not redis:/,
    );
  });

  test('takes no orders for them', async () => {
    const config = await settled({ stores: [REDIS] });
    expect(() => refuseStore(config, 's1', 'kill')).toThrow(
      /s1 is a store, redis:.* this command cannot kill it\.$/,
    );
    refuseStore(config, 'a1', 'kill');
  });

  test('has no networks of its own', async () => {
    const error = await settleDown({ directory, namespaces: true, stores: [REDIS] }, {} as Guard).catch(
      (caught: unknown) => caught,
    );
    expect(codeOf(error)).toBe('OPTIONS_INVALID');
  });
});

describe('the number of services', () => {
  const five = ['a', 'b', 'c', 'd', 'e'].map((host) => `redis://${host}`);
  test('may be none where there are stores', () => {
    expect(shapeFor({ stores: five }).acceptors).toBe(0);
    expect(shapeFor({ stores: [REDIS], acceptors: 0 }).acceptors).toBe(0);
    expect(() => shapeFor({ acceptors: 0 })).toThrow(/acceptors must be from 1 to/);
    expect(() => shapeFor({ acceptors: 30, stores: [REDIS] })).toThrow(
      /acceptors must be from 1 to 30, not 31/,
    );
    expect(() => shapeFor({ acceptors: -1, stores: [REDIS, POSTGRES] })).toThrow(/acceptor services/);
  });
});

test.each([
  ['http://127.0.0.1:1', /one of these schemes: postgres,/],
  ['hunter2', /one of these schemes/],
  ['redis:hunter2', /needs the form/],
  ['redis://me:7/hunter2@db', /an @ after its host/],
  ['redis://me:hunter2%07@db', /cannot be sent/],
])('%s is no store', (url, sentence) => {
  let error: unknown;
  try {
    readStores([url]);
  } catch (caught) {
    error = caught;
  }
  expect(codeOf(error)).toBe('OPTIONS_INVALID');
  expect(String(error)).toMatch(sentence);
  expect(String(error)).not.toMatch(/hunter2/);
});

test('one store may not be two acceptors', () => {
  expect(() => readStores(['redis://a:1@db', 'redis://b:2@DB'])).toThrow(
    /The same store is given twice: redis:\/\/db/,
  );
});
