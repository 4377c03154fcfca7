import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { describe, expect, onTestFinished, test } from 'vitest';
import { isLoopback, StoreUrl, type StoreUrlForm } from './store-url.ts';

const FORM: StoreUrlForm = {
  scheme: 'store',
  form: 'store://USER:PASSWORD@HOST:PORT/PLACE?prefix=NAME',
  defaultPort: 99,
  options: ['prefix'],
};
const SEVERAL: StoreUrlForm = { ...FORM, severalHosts: true };
const PORTLESS: StoreUrlForm = { scheme: 'store', form: 'store://REGION/TABLE', options: ['prefix'] };

function parse(text: string, form = FORM): StoreUrl {
  return new StoreUrl(text, form);
}

describe('a store URL', () => {
  test('has hosts, path, options and credentials', () => {
    const url = parse('store://us%40er:p%3Aa:s@Host.Example:1234/a%2Fb/c?prefix=x%26y');
    expect([url.user, url.password]).toEqual(['us@er', 'p:a:s']);
    expect(url.hosts).toEqual([{ host: 'host.example', port: 1234 }]);
    expect(url.path).toEqual(['a/b', 'c']);
    expect(url.option('prefix')).toBe('x&y');
    expect(url.option('tls')).toBeUndefined();
  });

  test('may have no credentials, or only one of the two', () => {
    const both = ({ user, password }: StoreUrl): unknown => [user, password];
    expect(both(parse('store://h'))).toEqual([undefined, undefined]);
    expect(both(parse('store://u@h'))).toEqual(['u', undefined]);
    expect(both(parse('store://:p@h'))).toEqual([undefined, 'p']);
    expect(both(parse('store://u:@h'))).toEqual(['u', '']);
  });

  test('has several hosts, or ports, only where that is meant', () => {
    const url = parse('store://a:1,[::1],B', SEVERAL);
    expect(url.hosts).toEqual([
      { host: 'a', port: 1 },
      { host: '::1', port: 99 },
      { host: 'b', port: 99 },
    ]);
    expect(url.place).toBe('store://a:1,[::1]:99,b:99');
    expect(() => parse('store://a,b')).toThrow('needs the form');
    expect(parse('store://eu-west-1/t', PORTLESS).place).toBe('store://eu-west-1/t');
    expect(() => parse('store://eu-west-1:80/t', PORTLESS)).toThrow('needs the form');
  });

  test.each([
    'other://h',
    'store:h',
    'store://',
    'store://h:0',
    'store://h:65536',
    'store://h:port',
    'store://h h',
    'store://u:p@ss@h',
    'store://user:2024/s3cret@h/path',
    'store://user:2024?s3cret@h',
    'store://h/%zz',
    'store://u:%zz@h',
    'store://h#fragment',
    'store://h?unknown=1',
    'store://h?prefix=1&prefix=2',
    'store://h?prefix=',
    'store://h?prefix',
    'store://h?tls=yes',
    'store://h?tls=off&ca=/file',
  ])('%s is none', (text) => {
    expect(() => parse(text)).toThrow(expect.objectContaining({ code: 'URL_INVALID' }));
  });

  test('that is wrong is not quoted: it may hold a password', () => {
    for (const text of [
      'store://u:hunter2@h:port',
      'store://u:hunter2@h?unknown=1',
      'store://u:hunter2@h?tls=x',
    ]) {
      expect(() => parse(text)).toThrow(
        expect.not.objectContaining({ message: expect.stringContaining('hunter2') }),
      );
    }
  });
});

describe('the place of a store', () => {
  test('is the same however it is spelled', () => {
    expect(parse('store://u:p@H/a//b/?prefix=x').place).toBe('store://h:99/a/b?prefix=x');
    expect(parse('store://h:99/a/b?ca=/file&prefix=%78').place).toBe('store://h:99/a/b?prefix=x');
    expect(parse('store://h/%61?tls=on').place).toBe('store://h:99/a?tls=on');
  });

  test('is all that is printed of a URL', () => {
    const url = parse('store://u:hunter2@h/a');
    expect(JSON.stringify({ url })).toBe('{"url":"store://h:99/a"}');
    expect(inspect(url, { depth: 9, showHidden: true })).not.toContain('hunter2');
  });
});

describe('TLS', () => {
  test('is left out on this machine only, or where it is said', () => {
    const secure = (text: string): boolean => parse(text, SEVERAL).isSecure;
    expect(secure('store://h')).toBe(true);
    expect(secure('store://127.0.0.1')).toBe(false);
    expect(secure('store://localhost,[::1]')).toBe(false);
    expect(secure('store://localhost,h')).toBe(true);
    expect(secure('store://h?tls=off')).toBe(false);
    expect(secure('store://127.0.0.1?tls=on')).toBe(true);
    expect(parse('store://127.0.0.1').tls).toBeUndefined();
    expect(parse('store://h').tls).toEqual({});
  });

  test('takes its certificates from files, and says which one is missing', () => {
    const directory = mkdtempSync(join(tmpdir(), 'baton-url-'));
    onTestFinished(() => rmSync(directory, { recursive: true }));
    const file = join(directory, 'ca.pem');
    writeFileSync(file, 'PEM');
    expect(parse(`store://h?ca=${file}&key=${file}`).tls).toEqual({ ca: 'PEM', key: 'PEM' });
    expect(() => parse(`store://h?cert=${file}x`).tls).toThrow(
      expect.objectContaining({
        code: 'URL_INVALID',
        message: expect.stringContaining('The cert file of store://h:99'),
      }),
    );
  });

  test('loopback is an address, and a name', () => {
    expect(['localhost', '::1', '127.0.0.1', '127.1.2.3'].every(isLoopback)).toBe(true);
    expect(['127.example.com', '10.0.0.1', 'localhost.example', '::2'].some(isLoopback)).toBe(false);
  });
});
