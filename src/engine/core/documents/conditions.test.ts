import { expect, test } from 'vitest';
import type { Version } from '../model.ts';
import { readResult } from './conditions.ts';
import type { Conditions } from './request.ts';

const document: Version = {
  epk: 'E',
  id: 'x',
  partitionKey: '["a"]',
  body: new Uint8Array(2),
  createdLsn: 4,
  previous: 0,
  epoch: 1,
  lsn: 4,
  at: 1000,
};
const { body: _, ...deletion } = document;

const cases: [name: string, version: Version | undefined, conditions: Conditions, status: number][] = [
  ['an item', document, {}, 200],
  ['nothing', undefined, {}, 404],
  ['a deletion', deletion, {}, 404],
  ['one that lives', { ...document, ttl: 5 }, {}, 200],
  ['one whose time is over', { ...document, ttl: 4 }, {}, 404],
  ['the same version', document, { ifNoneMatch: '"1-4"' }, 304],
  ['the same version, without quotation marks', document, { ifNoneMatch: '1-4' }, 304],
  ['any version', document, { ifNoneMatch: '*' }, 304],
  ['another version', document, { ifNoneMatch: '"1-3"' }, 200],
  ['the version that is wanted', document, { ifMatch: '"1-4"' }, 200],
  ['not the version that is wanted', document, { ifMatch: '"1-3"' }, 412],
  ['nothing to compare with', undefined, { ifNoneMatch: '*' }, 404],
];

test.each(cases)('a read that finds %s', (name, version, conditions, status) => {
  const result = readResult(version, conditions, 5000);
  expect(result.status, name).toBe(status);
  expect(result.version).toBe(status < 400 ? version : undefined);
});
