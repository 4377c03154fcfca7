import { join } from 'node:path';
import { expect, test } from 'vitest';
import {
  failoverConfigurationOf,
  nodesOf,
  readClusterFile,
  tlsFilesOf,
} from '../../src/server/config/index.ts';
import { DEPLOY } from './files.ts';

const config = await readClusterFile(join(DEPLOY, 'baton.yaml'));

test('the example is a good cluster file, without a warning', () => {
  expect(config.warnings).toEqual([]);
  expect(config.regions).toHaveLength(3);
});

test('it survives the loss of a region and of two acceptors', () => {
  const { minDurability } = failoverConfigurationOf(config);
  expect(minDurability).toBeLessThan(config.regions.length);
  expect(config.acceptors).toHaveLength(5);
  const places = config.acceptors.map(({ url }) => new URL(url).hostname.split('.').slice(0, 2).join('.'));
  expect(new Set(places).size).toBe(config.acceptors.length);
});

test('its directories are those that the units give to a process of that name', () => {
  const acceptors = config.acceptors.map(({ name, serve }) => ({ name, data: serve?.data }));
  const keepers = [...nodesOf(config), ...acceptors];
  expect(keepers).toHaveLength(11);
  for (const { name, data } of keepers) expect(data).toBe(`/var/lib/baton/${name}`);
});

test('every region has a door, and the keys of its clients are two of each kind, none of them in the file', () => {
  const { gateways, regions, keys } = config;
  expect(gateways.map(({ region }) => region)).toEqual(regions.map(({ name }) => name));
  expect(Object.keys(keys)).toEqual(['primary', 'secondary', 'primaryReadOnly', 'secondaryReadOnly']);
  for (const source of Object.values(keys)) expect(source).toHaveProperty('file');
});

test('it has certificates for everybody, and a token of its own for every kind of caller, none of them in the file', () => {
  expect(tlsFilesOf(config, 'west-1')).toMatchObject({ cert: expect.stringMatching(/certs\/west-1\.pem$/) });
  const { node, client, operator, acceptor } = config.tokens;
  for (const source of [node, client, operator, acceptor]) expect(source).toHaveProperty('file');
});
