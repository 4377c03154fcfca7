import { createHmac } from 'node:crypto';
import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import { Secret } from '../config/index.ts';
import { authenticate, DATE_WINDOW_MS, mayWithReadOnlyKey } from './auth.ts';
import { AccountKeys } from './keys.ts';
import { resourceOf } from './resources.ts';

const NOW = Date.parse('Tue, 01 Jan 2030 12:00:00 GMT');
const DATE = 'Tue, 01 Jan 2030 12:00:00 GMT';
const TEXTS = {
  primary: Buffer.alloc(64, 1).toString('base64'),
  secondary: Buffer.alloc(64, 2).toString('base64'),
  primaryReadOnly: Buffer.alloc(64, 3).toString('base64'),
  secondaryReadOnly: Buffer.alloc(64, 4).toString('base64'),
};
const KEYS = new AccountKeys({
  primary: new Secret(TEXTS.primary),
  secondary: new Secret(TEXTS.secondary),
  primaryReadOnly: new Secret(TEXTS.primaryReadOnly),
  secondaryReadOnly: new Secret(TEXTS.secondaryReadOnly),
});

/** What a client signs, written down here once more. */
function signature(key: string, verb: string, type: string, link: string, date = DATE): string {
  const text = [verb.toLowerCase(), type.toLowerCase(), link, date.toLowerCase(), '', ''].join('\n');
  return createHmac('sha256', Buffer.from(key, 'base64')).update(text).digest('base64');
}

function header(signed: string): string {
  return encodeURIComponent(`type=master&ver=1.0&sig=${signed}`);
}

interface Asked {
  readonly method?: string;
  readonly path?: string;
  readonly authorization?: string | undefined;
  readonly date?: string | undefined;
  readonly nowMs?: number;
}

function ask({ method = 'GET', path = '/dbs/d/colls/c/docs/i', nowMs = NOW, ...rest }: Asked): {
  isReadOnly: boolean;
} {
  const signed = header(signature(TEXTS.primary, 'GET', 'docs', 'dbs/d/colls/c/docs/i'));
  const authorization = 'authorization' in rest ? rest.authorization : signed;
  const date = 'date' in rest ? rest.date : DATE;
  return authenticate(
    { method, resource: resourceOf(path), headers: { authorization, 'x-ms-date': date } },
    KEYS,
    nowMs,
  );
}

function statusOf(asked: Asked): number {
  try {
    ask(asked);
    return 200;
  } catch (error) {
    return (error as { status: number }).status;
  }
}

describe('signatures', () => {
  test('each of the four keys signs; two of them only read', () => {
    const found = Object.values(TEXTS).map(
      (key) =>
        ask({ authorization: header(signature(key, 'GET', 'docs', 'dbs/d/colls/c/docs/i')) }).isReadOnly,
    );
    expect(found).toEqual([false, false, true, true]);
  });

  test('of a known request: the bytes are those of the canonical text', () => {
    const text = `get\ndocs\ndbs/d/colls/c/docs/i\n${DATE.toLowerCase()}\n\n`;
    const signed = createHmac('sha256', Buffer.alloc(64, 1)).update(text).digest('base64');
    expect(ask({ authorization: `type=master&ver=1.0&sig=${signed}` })).toEqual({ isReadOnly: false });
  });

  test.each([
    ['percent-encoded', (sig: string) => encodeURIComponent(`type=master&ver=1.0&sig=${sig}`)],
    [
      'in small hexadecimal digits',
      (sig: string) => header(sig).replaceAll(/%../g, (at) => at.toLowerCase()),
    ],
    ['plain', (sig: string) => `type=master&ver=1.0&sig=${sig}`],
    ['in capitals', (sig: string) => `Type=Master&Ver=1.0&Sig=${sig}`],
  ])('are taken %s', (_, spell) => {
    const signed = signature(TEXTS.primary, 'GET', 'docs', 'dbs/d/colls/c/docs/i');
    expect(statusOf({ authorization: spell(signed) })).toBe(200);
  });

  test('of another verb, resource, date or key are refused with 401', () => {
    const other = Buffer.alloc(64, 9).toString('base64');
    expect(statusOf({ method: 'DELETE' })).toBe(401);
    expect(statusOf({ path: '/dbs/d/colls/c/docs/j' })).toBe(401);
    expect(statusOf({ path: '/dbs/d/colls/c' })).toBe(401);
    expect(statusOf({ date: 'Tue, 01 Jan 2030 12:00:01 GMT' })).toBe(401);
    expect(statusOf({ authorization: header(signature(other, 'GET', 'docs', 'dbs/d/colls/c/docs/i')) })).toBe(
      401,
    );
  });

  test.each([
    undefined,
    '',
    'Bearer x',
    'type=master&ver=1.0',
    'type=master&ver=1.0&sig=',
    'type=master&ver=2.0&sig=AAAA',
    `type=master&ver=1.0&sig=${Buffer.alloc(32).toString('base64')}`,
    'type=aad&ver=1.0&sig=AAAA',
    'type=resource&ver=1&sig=AAAA',
    '%zz',
    'sig=&&&===',
  ])('%j is refused with 401', (authorization) => {
    expect(statusOf({ authorization })).toBe(401);
  });

  test('a date too far away is refused with 403, and one that cannot be read with 401', () => {
    expect(statusOf({ nowMs: NOW + DATE_WINDOW_MS })).toBe(200);
    expect(statusOf({ nowMs: NOW - DATE_WINDOW_MS })).toBe(200);
    expect(statusOf({ nowMs: NOW + DATE_WINDOW_MS + 1 })).toBe(403);
    expect(statusOf({ nowMs: NOW - DATE_WINDOW_MS - 1 })).toBe(403);
    expect(statusOf({ date: undefined })).toBe(401);
    const nonsense = 'yesterday, GMT';
    const signed = signature(TEXTS.primary, 'GET', 'docs', 'dbs/d/colls/c/docs/i', nonsense);
    expect(statusOf({ date: nonsense, authorization: header(signed) })).toBe(401);
  });

  test('who cannot set x-ms-date sends date, signed on either line', () => {
    const resource = resourceOf('/dbs');
    const signedAs = (lines: string): string =>
      header(createHmac('sha256', Buffer.alloc(64, 2)).update(`get\ndbs\n\n${lines}`).digest('base64'));
    const small = DATE.toLowerCase();
    for (const authorization of [signedAs(`${small}\n\n`), signedAs(`\n${small}\n`)])
      expect(
        authenticate({ method: 'GET', resource, headers: { authorization, date: DATE } }, KEYS, NOW),
      ).toEqual({
        isReadOnly: false,
      });
  });

  test.each([
    ['GET', '/', '', ''],
    ['GET', '/dbs', 'dbs', ''],
    ['POST', '/dbs/d/colls', 'colls', 'dbs/d'],
    ['GET', '/dbs/d/colls/c/pkranges', 'pkranges', 'dbs/d/colls/c'],
    ['PUT', '/dbs/d/colls/c/docs/a%20b', 'docs', 'dbs/d/colls/c/docs/a b'],
    ['PUT', '/dbs/d/colls/c/docs/a%20b', 'docs', 'dbs/d/colls/c/docs/a%20b'],
    ['GET', '/dbs/d/colls/c/docs/%C3%A9?1', 'docs', 'dbs/d/colls/c/docs/é?1'],
    ['GET', '/dbs/AAAAAQ==/colls', 'colls', 'aaaaaq=='],
    ['PUT', '/offers/AAAAAw==', 'offers', 'aaaaaw=='],
    ['GET', '/offers', 'offers', ''],
    ['POST', '/dbs/d/colls/c/operations/partitionkeydelete', 'colls', 'dbs/d/colls/c'],
  ])('%s %s is signed as %j of %j', (method, path, type, link) => {
    expect(
      statusOf({ method, path, authorization: header(signature(TEXTS.primary, method, type, link)) }),
    ).toBe(200);
  });

  test('a name alone is no resource: only a rid is signed without its parents', () => {
    const signed = header(signature(TEXTS.primary, 'GET', 'colls', 'c'));
    expect(statusOf({ path: '/dbs/d/colls/c', authorization: signed })).toBe(401);
  });
});

test('a read-only key may read and ask', () => {
  expect(mayWithReadOnlyKey('GET', {})).toBe(true);
  expect(mayWithReadOnlyKey('HEAD', {})).toBe(true);
  expect(mayWithReadOnlyKey('POST', { 'x-ms-documentdb-isquery': 'True' })).toBe(true);
  expect(mayWithReadOnlyKey('POST', {})).toBe(false);
  expect(mayWithReadOnlyKey('POST', { 'content-type': 'application/query+json' })).toBe(false);
  for (const method of ['PUT', 'PATCH', 'DELETE'])
    expect(mayWithReadOnlyKey(method, { 'x-ms-documentdb-isquery': 'true' })).toBe(false);
});

test('keys do not show themselves', () => {
  expect(inspect(KEYS) + JSON.stringify(KEYS)).not.toContain('AQEB');
});
