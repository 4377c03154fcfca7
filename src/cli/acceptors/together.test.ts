import { describe, expect, test } from 'vitest';
import { placeOf, secretsIn, withoutSecrets } from './place.ts';
import { togetherWarnings } from './together.ts';

function codes(...urls: string[]): readonly string[] {
  return togetherWarnings(urls.map(placeOf)).map(({ code }) => code);
}

describe('acceptors together', () => {
  test('in places that fail on their own are well', () => {
    expect(codes('http://10.0.0.1:7400', 'postgres://u:p@db.example/baton', 'redis://cache.example')).toEqual(
      [],
    );
    expect(
      codes(
        'https://a.example:7400',
        'dynamodb://eu-west-1/baton',
        'postgres://u@x.postgres.database.azure.com/baton',
        'etcd://e1.example,e2.example,e3.example',
        'redis://r.example',
      ),
    ).toEqual([]);
  });

  test('are too few, or of an even number, or named twice', () => {
    expect(codes('http://10.0.0.1:7400')).toEqual(['ALONE']);
    expect(codes('http://a:1', 'http://b:1', 'http://c:1', 'http://d:1')).toEqual(['EVEN']);
    expect(codes('http://a:1', 'http://b:1', 'http://b:1')).toContain('DUPLICATE');
  });

  test('of which one server holds a majority', () => {
    const urls = ['postgres://db.example/one', 'redis://db.example', 'http://10.0.0.1:7400'];
    expect(codes(...urls)).toEqual(['ONE_SERVER']);
    expect(codes(...urls, 'http://10.0.0.2:7400', 'http://10.0.0.3:7400')).toEqual([]);
  });

  test('of which one machine, or one process, holds a majority, said once', () => {
    expect(codes('http://127.0.0.1:1', 'http://127.0.0.1:2', 'http://far:1')).toEqual(['ONE_MACHINE']);
    expect(codes('lmdb:/x/a', 'redis://localhost', 'http://far:1')).toEqual(['ONE_MACHINE']);
    const dynalite = 'dynamodb://eu-west-1/t?endpoint=http%3A%2F%2F127.0.0.1%3A8000';
    expect(codes(dynalite, 'redis://localhost', 'http://far:1')).toEqual(['ONE_MACHINE']);
    expect(codes('memory:a', 'memory:b', 'memory:c')).toEqual(['ONE_PROCESS']);
  });

  test('of which one region, or one provider, holds a majority', () => {
    expect(codes('dynamodb://eu-west-1/a', 'dynamodb://eu-west-1/b', 'http://far:1')).toEqual(['ONE_REGION']);
    expect(codes('dynamodb://eu-west-1/a', 'redis://x.cache.amazonaws.com', 'http://far:1')).toEqual([
      'ONE_PROVIDER',
    ]);
    expect(
      codes(
        'postgres://x.postgres.database.azure.com/d',
        'redis://x.redis.cache.windows.net',
        'http://far:1',
      ),
    ).toEqual(['ONE_PROVIDER']);
  });
});

describe('what a URL keeps to itself', () => {
  test('is found, as it is written and as it is meant, and taken out', () => {
    const secrets = secretsIn('postgres://user:p%40ss@host/db');
    expect(secrets).toEqual(['p%40ss', 'p@ss']);
    expect(withoutSecrets('no p@ss for user p%40ss', secrets)).toBe('no *** for user ***');
    expect(secretsIn('postgres://user@host/db')).toEqual([]);
    expect(secretsIn('lmdb:/a:b@c')).toEqual([]);
  });

  test('is not in its place', () => {
    expect(JSON.stringify(placeOf('redis://user:secret@host/1'))).not.toContain('secret');
    expect(placeOf('postgres://u:p@[::1]:99/d?table=s.t')).toMatchObject({ hosts: ['::1'], path: ['d'] });
  });
});
