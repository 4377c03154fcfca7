import { expect, test } from 'vitest';
import { hasTooManyFields, MAX_FIELDS, takeAbsoluteForm } from './request-head.ts';

const ask = (url: string) => ({ url, headers: { host: 'given' } as { host?: string }, rawHeaders: [] });

test.each([
  ['http://h/a/b?c', '/a/b?c', 'h'],
  ['HTTPS://h:81/', '/', 'h:81'],
  ['http://[::1]:80/a?http://x/y', '/a?http://x/y', '[::1]:80'],
  ['http://h', '/', 'h'],
  ['http://h?a', '/?a', 'h'],
  // In other forms, or without a host.
  ['/http://h/a', '/http://h/a', 'given'],
  ['*', '*', 'given'],
  ['h:443', 'h:443', 'given'],
  ['http:///a', 'http:///a', 'given'],
  ['http://user@h/a', 'http://user@h/a', 'given'],
  ['ftp://h/a', 'ftp://h/a', 'given'],
])('%s asks for %s of %s', (given, path, host) => {
  const request = ask(given);
  takeAbsoluteForm(request);
  expect([request.url, request.headers.host]).toEqual([path, host]);
});

test('fields are counted, not names and values', () => {
  const fields = (count: number): string[] => Array.from({ length: count }, () => ['a', '']).flat();
  expect(hasTooManyFields({ ...ask('/'), rawHeaders: fields(MAX_FIELDS) })).toBe(false);
  expect(hasTooManyFields({ ...ask('/'), rawHeaders: fields(MAX_FIELDS + 1) })).toBe(true);
});
