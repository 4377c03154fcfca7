/** What a local cluster is made of, and the file that comes of it. */
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { endpointOf, formatClusterFile, nodesOf, parseClusterFile } from '../config/index.ts';
import { LocalClusterError } from './errors.ts';
import { groundFrom, layOut } from './ground.ts';
import { planCluster, settle, withDoors } from './plan.ts';
import { demandSameShape, shapeFor, shapeOf } from './shape.ts';

const directory = join(tmpdir(), 'nobody-makes-this');
const codeOf = (body: () => unknown): string | undefined => {
  try {
    body();
  } catch (error) {
    return (error as LocalClusterError).code;
  }
  return undefined;
};

function planned(options: Parameters<typeof shapeFor>[0] = {}, secure = false) {
  const shape = shapeFor(options);
  return planCluster({ directory, shape, ground: groundFrom(4100, shape), secure });
}

describe('the shape', () => {
  test('is three regions, five acceptors, sixteen partition-sets, Strong, unless somebody says otherwise', () => {
    expect(shapeFor({})).toEqual({
      regions: ['west', 'east', 'north'],
      nodesPerRegion: 1,
      acceptors: 5,
      stores: [],
      partitionSets: 16,
      profile: 'fast',
      consistency: 'Strong',
      minimumDurability: 2,
    });
    expect(shapeFor({ regions: 1 }).minimumDurability).toBe(1);
    expect(shapeFor({ regions: 2 }).minimumDurability).toBe(1);
    expect(shapeFor({ regions: 4 }).minimumDurability).toBe(2);
  });

  test.each([
    { regions: 0 },
    { regions: 10 },
    { regions: ['a', 'a'] },
    { regions: ['No'] },
    { regions: [] },
    { acceptors: 0 },
    { acceptors: 31 },
    { nodesPerRegion: 17 },
    { partitionSets: 1.5 },
    { minimumDurability: 4 },
  ])('cannot be %o', (options) => {
    expect(codeOf(() => shapeFor(options))).toBe('OPTIONS_INVALID');
  });
});

describe('the cluster file', () => {
  test.each([
    {},
    { regions: 5, nodesPerRegion: 2, acceptors: 3, partitionSets: 7 },
    { regions: 1, acceptors: 1 },
    { consistency: 'BoundedStaleness' as const, profile: 'paper' as const },
  ])('of %o is good, and read back it is the same', (options) => {
    const config = planned(options);
    const read = parseClusterFile(formatClusterFile(config), { path: config.path });
    expect({ ...read, warnings: [] }).toEqual(config);
    expect(shapeOf(read)).toEqual(shapeFor(options));
  });

  test('beyond loopback has certificates', () => {
    const hosts = planned({}, true);
    expect(hosts.tls?.cert).toMatch(/\{name\}\.pem$/);
    expect(hosts.acceptors[0]!.url).toBe('https://127.0.0.1:4301');
  });

  test('moves to other addresses with everything else that people wrote into it', () => {
    const config = { ...planned(), log: { level: 'debug' as const }, cluster: 'mine' };
    const shape = shapeOf(config);
    const moved = settle(config, { directory, shape, ground: groundFrom(6000, shape), secure: false });
    expect(nodesOf(moved).map(({ listen }) => listen.port)).toEqual([6001, 6002, 6003]);
    expect(moved.acceptors[4]!.url).toBe('http://127.0.0.1:6205');
    expect(moved.dns?.listen.port).toBe(6053);
    expect(moved).toMatchObject({ cluster: 'mine', log: { level: 'debug' } });
  });
});

describe('gateways', () => {
  const shape = shapeFor({});
  const ground = groundFrom(4100, shape, { gateways: true });

  test('are one for all and one for each region, with keys in files', () => {
    const config = planCluster({ directory, shape, ground, secure: false });
    expect(config.gateways.map((gateway) => [gateway.name, endpointOf(config, gateway)])).toEqual([
      ['gateway', 'http://127.0.0.1:4400/'],
      ['west-gateway', 'http://127.0.0.1:4401/'],
      ['east-gateway', 'http://127.0.0.1:4402/'],
      ['north-gateway', 'http://127.0.0.1:4403/'],
    ]);
    expect(config.keys.primary).toMatchObject({ kind: 'file', file: join(directory, 'keys', 'primary') });
    const read = parseClusterFile(formatClusterFile(config), { path: config.path });
    expect(read.gateways).toEqual(config.gateways);
    expect(shapeOf(read)).toEqual(shape);
  });

  test('of a region are in its network, the global one is outside of all', () => {
    const hosts = { regions: ['10.1.1.2', '10.1.2.2', '10.1.3.2'], acceptors: [] };
    const { gateways } = layOut(shape, (offset) => 4100 + offset, { gateways: true, hosts });
    expect(gateways.map(({ listen }) => listen.host)).toEqual(['127.0.0.1', ...hosts.regions]);
    expect(gateways[1]).toMatchObject({ region: 'west', http: { host: '10.1.1.2', port: 4501 } });
  });

  test('come and go, and leave the rest of the file, and the keys that people wrote into it, as they are', () => {
    const plain = planned();
    expect(plain).toMatchObject({ gateways: [], keys: {} });
    const key = { at: { line: 1, column: 1 }, kind: 'env', env: 'KEY' } as const;
    const mine = withDoors({ ...plain, keys: { primary: key } }, directory, ground);
    expect(mine.keys).toEqual({ primary: key });
    expect(mine.regions).toBe(plain.regions);
    const without = withDoors(mine, directory, groundFrom(4100, shape));
    expect(without).toEqual({ ...plain, keys: { primary: key } });
  });
});

describe('a directory that holds a cluster', () => {
  const kept = shapeFor({});

  test('takes options that say the same, or nothing', () => {
    demandSameShape(kept, {}, directory);
    demandSameShape(kept, { regions: 3, acceptors: 5, profile: 'fast' }, directory);
    demandSameShape(kept, { regions: ['west', 'east', 'north'] }, directory);
  });

  test('refuses others, and names them', () => {
    const differ = (): void =>
      demandSameShape(kept, { regions: 5, acceptors: 5, partitionSets: 4 }, directory);
    expect(differ).toThrow(
      /regions west,east,north, not west,east,north,south,central; partition-sets 16, not 4; choose another directory/,
    );
    expect(codeOf(differ)).toBe('OPTIONS_DIFFER');
    expect(codeOf(() => demandSameShape(kept, { regions: ['east', 'west', 'north'] }, directory))).toBe(
      'OPTIONS_DIFFER',
    );
  });
});
