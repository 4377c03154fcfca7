import { expect, test } from 'vitest';
import { readStoreUrl, STORE_SCHEMES, withLocalFiles, withPassword } from './forms.ts';

test('URLs of stores are read, others are not', () => {
  expect(readStoreUrl('redis://me:secret@DB')?.place).toMatch(/^redis:\/\/db/);
  for (const url of ['http://a:1', 'memory:x', 'lmdb:/x', '', 'redis', 'redis2://a', 'constructor:x'])
    expect(readStoreUrl(url)).toBeUndefined();
  for (const scheme of STORE_SCHEMES)
    expect(() => readStoreUrl(`${scheme}:secret`)).toThrow(/needs the form/);
});

test.each([
  ['redis://db/0', 'redis://:a%2Fb%40@db/0', 'redis://db/0'],
  ['redis://me@db/0?tls=on', 'redis://me:a%2Fb%40@db/0?tls=on', 'redis://me@db/0?tls=on'],
  ['redis://me:old@db', 'redis://me:a%2Fb%40@db', 'redis://me@db'],
  ['redis://:old@db?x=a@b', 'redis://:a%2Fb%40@db?x=a@b', 'redis://db?x=a@b'],
])('%s takes a password, and loses it', (url, secret, plain) => {
  expect(withPassword(url, 'a/b@')).toBe(secret);
  expect(withPassword(url, undefined)).toBe(plain);
  expect(withPassword(secret, undefined)).toBe(plain);
});

test('files of this machine are changed, and nothing else', () => {
  const inEtc = (path: string): string => `/etc/${path}`;
  expect(withLocalFiles('redis://db/ca=x?prefix=ca&ca=my%20ca&key=k', inEtc)).toBe(
    'redis://db/ca=x?prefix=ca&ca=/etc/my%20ca&key=/etc/k',
  );
  expect(withLocalFiles('redis://db/0', inEtc)).toBe('redis://db/0');
});
