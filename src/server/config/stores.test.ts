/** Acceptors that are stores: their URLs, their passwords, and what should not fail together. */
import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import { acceptorUrls, ConfigError, diffForReload, formatClusterFile, parseClusterFile } from './index.ts';

const SECRET = 'hunter2/hunter2@x y';
const PATH = '/etc/baton/baton.yaml';
const SERVICE = (number: number): string => `{ name: a${number}, url: "http://127.0.0.1:400${number}" }`;

const file = (...acceptors: readonly string[]): string => `cluster: demo
regions: [{ name: west, nodes: [{ name: w, listen: 127.0.0.1:4101 }] }]
acceptors:
${acceptors.map((line) => `  - ${line}\n`).join('')}`;
const parse = (...acceptors: readonly string[]) => parseClusterFile(file(...acceptors), { path: PATH });
const store = (more: string) => parse(SERVICE(1), SERVICE(2), `{ name: s1, ${more} }`);

function complaints(more: string): readonly string[] {
  try {
    store(more);
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError);
    expect(String(error)).not.toMatch(/hunter2/);
    return (error as ConfigError).problems.map(({ field, sentence }) => `${field}: ${sentence}`);
  }
  throw new Error('the file was taken');
}

const places = {
  readFile: (path: string): string => {
    if (path === '/etc/baton/secrets/pg') return `${SECRET}\n`;
    throw new Error(`no ${path}`);
  },
  env: { PGSECRET: 'from-a-variable' },
};

describe('an acceptor that is a store', () => {
  test('is known without its user and its files, and opened with them', () => {
    const config = store('url: "postgres://baton@DB.example:5433/baton?ca=ca/pg.pem"');
    expect(config.acceptors[2]).toEqual({
      name: 's1',
      url: 'postgres://db.example:5433/baton',
      store: { url: 'postgres://baton@DB.example:5433/baton?ca=/etc/baton/ca/pg.pem' },
    });
    expect(config.warnings).toEqual([]);
    expect(formatClusterFile(config)).toContain('"postgres://baton@DB.example:5433/baton?ca=./ca/pg.pem"');
    expect(acceptorUrls(config, places)).toEqual([
      'http://127.0.0.1:4001',
      'http://127.0.0.1:4002',
      'postgres://baton@DB.example:5433/baton?ca=/etc/baton/ca/pg.pem',
    ]);
  });

  test.each([
    ['postgres://baton@db/x', `"${SECRET}"`, 'postgres://baton:hunter2%2Fhunter2%40x%20y@db/x'],
    ['postgres://baton@db/x', '{ file: secrets/pg }', 'postgres://baton:hunter2%2Fhunter2%40x%20y@db/x'],
    ['cosmos://db/x/y', '{ env: PGSECRET }', 'cosmos://:from-a-variable@db/x/y'],
  ])('%s with the password %s is opened with it', (url, password, opened) => {
    const config = store(`url: "${url}", password: ${password}`);
    expect(acceptorUrls(config, places)[2]).toBe(opened);
  });

  test('shows its password nowhere', () => {
    const config = store(`url: "postgres://baton@db/x", password: "${SECRET}"`);
    const prints = [JSON.stringify(config), inspect(config, { depth: 9 }), formatClusterFile(config)];
    for (const print of prints) expect(print).not.toMatch(/hunter2/);
    expect(() => parseClusterFile(formatClusterFile(config), { path: PATH })).toThrow(
      /password was taken out/,
    );
    const again = parseClusterFile(formatClusterFile(config, { withSecrets: true }), { path: PATH });
    expect(acceptorUrls(again, places)).toEqual(acceptorUrls(config, places));
  });

  test('whose password is not there is named with its line', () => {
    const lines = ['{ file: nowhere }', '{ env: NOWHERE }'].map(
      (password, at) => `{ name: s${at}, url: "postgres://baton@db${at}/x", password: ${password} }`,
    );
    expect(() => acceptorUrls(parse(SERVICE(1), ...lines), places)).toThrow(
      expect.objectContaining({
        code: 'CONFIG_SECRET',
        message: `${PATH}:5:58 acceptors[1].password: The file /etc/baton/nowhere cannot be read.
${PATH}:6:58 acceptors[2].password: The environment variable NOWHERE is not set.`,
      }) as Error,
    );
  });

  test.each([
    ['a password in the URL', 'url: "postgres://me:hunter2@db/x"', /url: .* put it under `password` of this/],
    ['one with a slash in it', 'url: "postgres://me:7/hunter2@db/x"', /url: The URL has an @ after its host/],
    [
      'an unknown option',
      'url: "postgres://db/x?hunter2=1"',
      /url: A postgres URL has each option at most once/,
    ],
    ['no host', 'url: "redis:hunter2"', /url: An acceptor URL with redis needs the form/],
    ['a control character', 'url: "redis://hunter2\\u0001"', /url: The URL has a character that no URL has/],
    ['every address', 'url: "redis://0.0.0.0/0"', /url: Nobody can dial/],
    ['data', 'url: "redis://db/0", data: x', /data: Only an acceptor with an http or https URL/],
    [
      'a password without a store',
      'url: "http://127.0.0.1:1", password: hunter2',
      /password: .*tokens\.acceptor/,
    ],
    ['one in memory', 'url: "memory:x", password: hunter2', /password: Only a store has a password\./],
    ['an empty password', 'url: "redis://db/0", password: ""', /password: The password is empty/],
    ['a password in spaces', 'url: "redis://db/0", password: " hunter2"', /password: .* white space/],
    ['a number', 'url: "redis://db/0", password: 5', /password: This is a number; it needs: text/],
    ['a list', 'url: "redis://db/0", password: [hunter2]', /password: This is a list/],
    ['two ways', 'url: "redis://db/0", password: { file: a, env: B }', /password: Write the password as/],
    [
      'another way',
      'url: "redis://db/0", password: { hunter2: a }',
      /password: This has a field that is neither/,
    ],
    ['a bad password', 'url: "redis://db/0", password: "hunter2\\u0007"', /password: .* cannot be sent/],
  ])('is refused with %s', (_, more, sentence) => {
    expect(complaints(more)[0]).toMatch(sentence);
  });

  test('is refused twice', () => {
    const twice = ['redis://me@db', 'redis://you@DB:6379'].map(
      (url, at) => `{ name: s${at}, url: "${url}" }`,
    );
    expect(() => parse(SERVICE(1), ...twice)).toThrow(/acceptors\[2\]\.url: This URL is already used/);
  });

  test('that changes needs a restart, and does not say to what password', () => {
    const before = store('url: "postgres://baton@db/x", password: hunter2');
    const diff = (more: string) => {
      const { live, restart, refused } = diffForReload(before, store(more));
      expect([live, refused]).toEqual([[], []]);
      return restart.map(({ sentence }) => sentence);
    };
    expect(diff('url: "postgres://baton@db/x", password: hunter2')).toEqual([]);
    const changes = ['acceptors.s1.password changes; it needs a restart.'];
    expect(diff('url: "postgres://baton@db/x", password: hunter3')).toEqual(changes);
    expect(diff('url: "postgres://baton@db/x"')).toEqual(changes);
    expect(diff('url: "postgres://other@db/x", password: hunter2')).toEqual([
      'acceptors.s1.url changes from postgres://baton@db/x to postgres://other@db/x; it needs a restart.',
    ]);
  });
});

describe('a warning is given for', () => {
  const warnings = (...urls: readonly string[]): readonly string[] =>
    parse(...urls.map((url, at) => `{ name: n${at}, url: "${url}" }`)).warnings.map(
      ({ sentence }) => sentence,
    );
  const [one, two] = ['http://127.0.0.1:1', 'http://127.0.0.1:2'];

  test('a majority on one server', () => {
    expect(warnings('redis://db/0', 'postgres://db/x', one)).toEqual([
      '2 of 3 acceptors are on db: without it there is no majority; spread them.',
    ]);
    expect(warnings('redis://127.0.0.1/0', 'redis://127.0.0.1/1', one)).toEqual([
      expect.stringMatching(/^2 of 3 acceptors are on 127\.0\.0\.1:\d+: /),
    ]);
  });

  test('a majority of one kind', () => {
    expect(warnings('redis://a', 'redis://b', one)).toEqual([
      '2 of 3 acceptors are redis stores: what breaks one may break all of them; mix kinds.',
    ]);
  });

  test('half of them, because the other half is no majority', () => {
    expect(warnings('redis://a', 'redis://b', one, two)[0]).toMatch(/^2 of 4 acceptors are redis stores/);
  });

  test('a store in the clear', () => {
    expect(warnings('redis://a?tls=off', one, two)).toEqual([
      expect.stringMatching(/can be read on the way/),
    ]);
  });

  test('nothing else', () => {
    expect(warnings('redis://a', one, two)).toEqual([]);
    expect(warnings('redis://a', 'redis://b', 'postgres://c/x', 'postgres://d/x', one)).toEqual([]);
    expect(warnings('redis://127.0.0.1', 'postgres://127.0.0.1/x', one)).toEqual([]);
  });
});
