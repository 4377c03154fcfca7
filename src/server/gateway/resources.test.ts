import { describe, expect, test } from 'vitest';
import { type Resource, resourceOf } from './resources.ts';

describe('paths', () => {
  test.each<[string, Partial<Resource>]>([
    ['/', { type: 'account', link: '' }],
    ['', { type: 'account', link: '' }],
    ['/?x=1', { type: 'account', link: '' }],
    ['/dbs', { type: 'dbs', isFeed: true, link: '' }],
    ['/dbs/d', { type: 'dbs', isFeed: false, link: 'dbs/d', database: 'd' }],
    ['/dbs/d/', { type: 'dbs', isFeed: false, link: 'dbs/d', database: 'd' }],
    ['/dbs/d/colls', { type: 'colls', isFeed: true, link: 'dbs/d', database: 'd' }],
    ['/dbs/d/colls/c', { type: 'colls', isFeed: false, database: 'd', container: 'c' }],
    ['/dbs/d/colls/c/docs', { type: 'docs', isFeed: true, link: 'dbs/d/colls/c', container: 'c' }],
    ['/dbs/d/colls/c/docs?x', { type: 'docs', isFeed: true, link: 'dbs/d/colls/c' }],
    ['/dbs/d/colls/c/docs/i', { type: 'docs', isFeed: false, item: 'i' }],
    ['/dbs/d/colls/c/docs/i?', { type: 'docs', isFeed: false, item: 'i?' }],
    ['/dbs/d%20e/colls/%C3%A4/docs/%2525', { database: 'd e', container: 'ä', item: '%25' }],
    ['/dbs/d/colls/c/docs/a+b', { item: 'a+b' }],
    ['/dbs/d/colls/c/pkranges', { type: 'pkranges', isFeed: true, link: 'dbs/d/colls/c' }],
    ['/offers', { type: 'offers', isFeed: true, link: '' }],
    ['/offers/AAAA', { type: 'offers', isFeed: false, item: 'AAAA', otherLinks: ['aaaa', 'AAAA'] }],
    ['/dbs/d/colls/c/sprocs', { type: 'unsupported', what: 'Stored procedures are' }],
    ['/dbs/d/colls/c/sprocs/s', { type: 'unsupported', what: 'Stored procedures are' }],
    ['/dbs/d/users/u/permissions/p', { type: 'unsupported', what: 'Permissions are', database: 'd' }],
    ['/dbs/d/colls/c/operations/x', { type: 'unsupported', link: 'dbs/d/colls/c', signedType: 'colls' }],
  ])('%s', (path, expected) => {
    expect(resourceOf(path)).toMatchObject(expected);
  });

  test.each([
    ['/nothing', 404],
    ['/colls', 404],
    ['/dbs/d/docs', 404],
    ['/dbs/d/colls/c/dbs', 404],
    ['/constructor', 404],
    ['/dbs/d/__proto__/x', 404],
    ['/dbs/%zz', 400],
    ['/dbs/%', 400],
  ])('%s is refused with %i', (path, status) => {
    expect(() => resourceOf(path)).toThrowError(expect.objectContaining({ status }) as Error);
  });
});
