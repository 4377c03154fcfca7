import { describe, expect, test } from 'vitest';
import { MemoryStore, StoreAcceptor } from '../../caspaxos/index.ts';
import { KINDS } from './kinds.ts';
import { permissionsFor } from './permissions.ts';
import { placeOf } from './place.ts';
import { baton } from './testing/run.ts';

let places = 0;

function memory(): string {
  places += 1;
  return `memory:command-${process.pid}-${places}`;
}

/** A store that was put back from an old copy, and found out by somebody. */
async function retired(): Promise<string> {
  const url = memory();
  const store = new MemoryStore(url.slice('memory:'.length));
  const acceptor = new StoreAcceptor(store);
  const { id } = await acceptor.describe();
  acceptor.expect(id);
  const promise = (counter: number) =>
    acceptor.handle(
      [{ key: 'k', set: 0, message: { type: '1a', ballot: { counter, proposer: 'p', incarnation: 1 } } }],
      0,
    );
  await promise(1);
  const [old] = await store.read(['register/k']);
  await promise(2);
  const [now] = await store.read(['register/k']);
  await store.write([{ key: 'register/k', text: old!.text, expected: now!.version }]);
  const found = await promise(3)
    .then(() => promise(4))
    .catch((error: unknown) => error);
  expect(found).toMatchObject({ code: 'ACCEPTOR_BEHIND' });
  return url;
}

describe('baton acceptors check', () => {
  test('of a store that somebody has retired says so', async () => {
    const url = await retired();
    const { out, code } = await baton('check', url, '--races', '2', '--samples', '5');
    expect(code).toBe(1);
    expect(out).toContain('as from an old copy. Replace it. [ACCEPTOR_BEHIND]');
  });

  test('says for each what was seen, what will be stored, and what is missing', async () => {
    const { out, code } = await baton(
      'check',
      memory(),
      memory(),
      memory(),
      '--races',
      '2',
      '--samples',
      '5',
    );
    expect(code).toBe(0);
    for (const said of [
      'ok        replaces: of several who replace a version, exactly one succeeds',
      'conditional writes of 100',
      'Will be stored',
      'Warning: it is not durable',
      '[ONE_PROCESS]',
      'The checks leave at most',
      '3 acceptors: nothing is wrong.',
    ])
      expect(out).toContain(said);
  });

  test('is JSON for programs', async () => {
    const { out, code } = await baton('check', memory(), '--races', '1', '--samples', '1', '-f', 'json');
    const value = JSON.parse(out) as {
      ok: boolean;
      acceptors: { verdict: string; checks: unknown[] }[];
      warnings: unknown;
    };
    expect([code, value.ok, value.acceptors[0]!.verdict]).toEqual([0, true, 'ok']);
    expect(value.acceptors[0]!.checks).toHaveLength(9);
    expect(value.warnings).toMatchObject([{ code: 'ALONE' }]);
  });

  test('goes on with the others when one cannot be reached, and says so without its credentials', async () => {
    const url = 'http://:hunter2@127.0.0.1:1';
    for (const format of ['pretty', 'json', 'tsv']) {
      const { out, err, code } = await baton(
        'check',
        url,
        memory(),
        '--races',
        '1',
        '--samples',
        '1',
        '-f',
        format,
      );
      expect(code).toBe(1);
      expect(out).toContain('UNREACHABLE');
      expect(out).toContain('replaces');
      expect(out + err).not.toContain('hunter2');
    }
  });

  test('refuses what is no acceptor URL before it connects to any', async () => {
    const unknown = await baton('check', memory(), 'mysql://u:hunter2@host');
    expect([unknown.code, unknown.out]).toEqual([2, '']);
    expect(unknown.err).toMatch(/^baton: .*mysql:.* \[SCHEME_UNKNOWN\]\n$/);
    const wrong = await baton('check', 'postgres://u:hunter2@ho st/db');
    expect([wrong.code, wrong.err.includes('hunter2')]).toEqual([2, false]);
    expect(wrong.err).toMatch(/\[URL_INVALID\]\n$/);
    expect((await baton('check', memory(), '--races', '0')).err).toMatch(/--races .*\[USAGE\]\n$/);
    expect((await baton('check', memory(), '-f', 'xml')).code).toBe(2);
    expect((await baton('check', memory(), '--ca', '/nowhere/ca.pem')).err).toContain('--ca');
  });
});

describe('baton acceptors cost', () => {
  test('multiplies', async () => {
    const args = [
      '--partition-sets',
      '100',
      '--price-write',
      '0.7',
      '--write-units',
      '2',
      '--price-read',
      '0.15',
    ];
    const { out, code } = await baton('cost', ...args);
    expect(code).toBe(0);
    expect(out).toMatch(/conditional writes +52,560,000 +20/);
    const { month } = JSON.parse((await baton('cost', ...args, '-f', 'json')).out) as {
      month: { price: number };
    };
    expect(month.price).toBeCloseTo(52.56 * 2 * 0.7 + 78.84 * 0.15);
  });

  test('refuses what is no number, and no profile', async () => {
    expect((await baton('cost', '--regions', '1.5')).err).toMatch(/--regions .*\[USAGE\]\n$/);
    expect((await baton('cost', '--price-write', '-1')).code).toBe(2);
    expect((await baton('cost', '--profile', 'slow')).err).toContain('paper and fast');
  });
});

describe('what is explained', () => {
  const URLS: Readonly<Record<string, string>> = {
    http: 'http://h:1',
    https: 'https://h:1',
    lmdb: 'lmdb:/srv/acceptor',
    memory: 'memory:m',
    postgres: 'postgres://u:hunter2@h/d?table=s.t',
    redis: 'redis://u:hunter2@h/0?prefix=p',
    etcd: 'etcd://u:hunter2@h?prefix=p/',
    'azure-blob': 'azure-blob://:hunter2@a.blob.core.windows.net/c',
    dynamodb: 'dynamodb://k:hunter2@eu-west-1/t',
    cosmos: 'cosmos://:hunter2@a.documents.azure.com/d/c',
  };

  test('is there for every kind, with the names of the URL and none of its secrets', () => {
    expect(Object.keys(KINDS).toSorted()).toEqual(Object.keys(URLS).toSorted());
    for (const [scheme, url] of Object.entries(URLS)) {
      const place = placeOf(url);
      const text = [KINDS[scheme]!.where(place), ...permissionsFor(place).grant].join('\n');
      expect(text.length, scheme).toBeGreaterThan(10);
      expect(text, scheme).not.toContain('hunter2');
    }
    expect(permissionsFor(placeOf(URLS['postgres']!)).grant).toContain(
      'GRANT SELECT, INSERT, UPDATE ON TABLE s.t TO baton;',
    );
    expect(JSON.parse(permissionsFor(placeOf(URLS['dynamodb']!)).grant.join('\n'))).toMatchObject({
      Statement: [{ Resource: 'arn:aws:dynamodb:eu-west-1:ACCOUNT:table/t' }],
    });
  });
});
