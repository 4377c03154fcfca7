import { describe, expect, test } from 'vitest';
import { epkOf } from '../../engine/index.ts';
import { PROFILES } from '../../failover/index.ts';
import {
  acceptorOf,
  type ClusterConfig,
  columnOf,
  failoverConfigurationOf,
  nodeOf,
  parseClusterFile,
  partitionSetsOf,
  partitionSetsOn,
  peersOf,
  timingsOf,
  tlsFilesOf,
  trimPolicyOf,
} from './index.ts';

function clusterOf(columns: number, more = ''): ClusterConfig {
  let port = 5000;
  const regions = ['west', 'east', 'north'].map((region) => {
    const nodes = Array.from(
      { length: columns },
      (_, at) => `{ name: ${region}-${at}, listen: "127.0.0.1:${(port += 1)}" }`,
    );
    return `  - { name: ${region}, nodes: [${nodes.join(', ')}] }`;
  });
  const text = `cluster: demo\nregions:\n${regions.join('\n')}\nacceptors: [{ name: a1, url: "http://127.0.0.1:4001" }]\n${more}`;
  return parseClusterFile(text, { path: '/etc/baton.yaml' });
}

describe('the nodes of a cluster', () => {
  const config = clusterOf(2);

  test('are found by name, with their region and column', () => {
    expect(nodeOf(config, 'east-1')).toMatchObject({ name: 'east-1', region: 'east', column: 1 });
    expect(columnOf(config, 'north-0')).toBe(0);
    expect([nodeOf(config, 'a1'), columnOf(config, 'east')]).toEqual([undefined, undefined]);
    expect(acceptorOf(config, 'a1')).toEqual({ name: 'a1', url: 'http://127.0.0.1:4001' });
  });

  test('have one peer in each other region', () => {
    expect(peersOf(config, 'east-1').map(({ name }) => name)).toEqual(['west-1', 'north-1']);
    expect(peersOf(config, 'nobody')).toEqual([]);
  });
});

describe('the partition-sets', () => {
  const config = clusterOf(
    3,
    'containers: [{ name: items, partitionSets: 16 }, { name: b, partitionKey: [/t, /u], partitionSets: 101 }]',
  );
  const sets = partitionSetsOf(config);

  test('have names in order', () => {
    const names = sets.map(({ name }) => name);
    expect([names[0], names[15], names[16], names.at(-1)]).toEqual([
      'items-00',
      'items-15',
      'b-000',
      'b-100',
    ]);
    expect(new Set(names).size).toBe(117);
    expect(sets[16]).toMatchObject({ container: 'b', partitionKey: ['/t', '/u'] });
  });

  test('share all keys among them, without a gap', () => {
    const items = sets.slice(0, 16);
    expect([items[0]!.from, items[15]!.to]).toEqual(['', 'FF']);
    for (const [at, { to }] of items.slice(0, -1).entries()) expect(to).toBe(items[at + 1]!.from);
    expect(items[8]!.from).toBe('2'.padEnd(32, '0'));
    for (const key of ['a', 'b', 7, null]) {
      const epk = epkOf([key]);
      expect(items.filter(({ from, to }) => from <= epk && epk < to)).toHaveLength(1);
    }
  });

  test('lie in every region on the node of their column, each once', () => {
    for (const region of ['west', 'east', 'north']) {
      const held = [0, 1, 2].flatMap((column) => partitionSetsOn(config, `${region}-${column}`));
      expect(held.map(({ name }) => name).toSorted()).toEqual(sets.map(({ name }) => name).toSorted());
    }
    const names = partitionSetsOn(config, 'east-1').map(({ name }) => name);
    expect(names.slice(0, 6)).toEqual(['items-01', 'items-04', 'items-07', 'items-10', 'items-13', 'b-001']);
    expect(partitionSetsOn(config, 'nobody')).toEqual([]);
  });
});

describe('what follows from a file', () => {
  test('is the configuration that partition-sets begin with', () => {
    expect(failoverConfigurationOf(clusterOf(1))).toMatchObject({
      priorities: ['west', 'east', 'north'],
      consistency: 'Strong',
      minDurability: 2,
      timings: PROFILES.fast,
    });
    const account =
      'account: { consistency: BoundedStaleness, staleness: { versions: 7, ms: 9000 }, minimumDurability: 1 }';
    const timings = { intervalMs: 100, leaseMs: 300, settleMs: 20 };
    const bounded = clusterOf(1, `${account}\nprofile: { intervalMs: 100, leaseMs: 300, settleMs: 20 }`);
    expect(timingsOf(bounded)).toEqual(timings);
    expect(failoverConfigurationOf(bounded)).toMatchObject({
      consistency: 'BoundedStaleness',
      staleness: { writes: 7, seconds: 9 },
      minDurability: 1,
      timings,
    });
  });

  test('is when the log is cut', () => {
    expect(trimPolicyOf(clusterOf(1, 'limits: { logMs: 5, logBytes: 2000000 }'))).toEqual({
      keepMs: 5,
      keepBytes: 2_000_000,
      hardBytes: Infinity,
    });
  });

  test('are the certificate files of each', () => {
    const config = clusterOf(
      1,
      'tls: { ca: certs/ca.pem, cert: "certs/{name}.pem", key: "certs/{name}.key" }',
    );
    expect(tlsFilesOf(config, 'west-0')).toEqual({
      ca: '/etc/certs/ca.pem',
      cert: '/etc/certs/west-0.pem',
      key: '/etc/certs/west-0.key',
    });
    expect(tlsFilesOf(clusterOf(1), 'west-0')).toBeUndefined();
  });
});
