import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import {
  type ClusterConfig,
  ConfigError,
  diffForReload,
  formatClusterFile,
  parseClusterFile,
} from './index.ts';

const SECRET = 'S3cretS3cretS3cret';
const PATH = '/etc/baton/baton.yaml';
const parse = (text: string | Uint8Array) => parseClusterFile(text, { path: PATH });

/** Taken, or refused in the one way there is, with positions that exist and without the secret. */
function takenOrRefused(contents: string | Uint8Array): ClusterConfig | undefined {
  try {
    return parse(contents);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    expect(error.problems.length).toBeGreaterThan(0);
    const lines = contents.toString().split(/\n/).length;
    for (const { line, column, sentence } of error.problems) {
      expect(column).toBeGreaterThan(0);
      expect(line).toBeGreaterThan(0);
      if (typeof contents === 'string') expect(line).toBeLessThanOrEqual(lines);
      expect(sentence).toMatch(/^[^\n]+[.?]$/);
    }
    expect(error.message).not.toContain(SECRET);
    return undefined;
  }
}

const KEYS =
  'cluster account profile regions nodes name listen acceptors url password data tokens node file env keys primary gateways region tls dns zone limits log containers partitionKey staleness leaseMs __proto__ hasOwnProperty'.split(
    ' ',
  );
const MARKS = [
  ...'__proto__ constructor toString cluster regions nodes tokens name profile 127.0.0.1:1 1e999 .nan 0x null ~'.split(
    ' ',
  ),
  '\n',
  '\n  ',
  '\n\t',
  ' ',
  ': ',
  '- ',
  '? ',
  '[',
  ']',
  '{',
  '}',
  ', ',
  '&a ',
  '*a',
  '!!str ',
  '!x ',
  '| ',
  '> ',
  '"',
  "'",
  '#',
  '%YAML 1.1\n',
  '---\n',
  '...\n',
  '<<: ',
  '\\x',
  '\0',
  '\ufeff',
  '\ud800',
];

const name = fc.stringMatching(/^[a-z0-9]([a-z0-9-]{0,10}[a-z0-9])?$/);
const path = fc.oneof(
  fc.stringMatching(/^\.\/[a-zA-Z0-9 _.{}'"#:&*!|>%@`,-]{1,12}x$/),
  fc.stringMatching(/^\/var\/[a-z0-9\u00e0-\u00ff ]{1,12}$/),
);
const secret = fc.oneof(
  fc.constant(SECRET),
  fc.stringMatching(/^[!-~]{1,20}$/),
  fc.record({ file: path }),
  fc.record({ env: fc.stringMatching(/^[A-Z_]{1,8}$/) }),
);
const some = <T>(inner: fc.Arbitrary<T>) => fc.option(inner, { nil: undefined });

/** Objects whose YAML is a good file. */
const goodFile = fc
  .record({
    names: fc.uniqueArray(name, { minLength: 12, maxLength: 12 }),
    regions: fc.integer({ min: 1, max: 4 }),
    columns: fc.integer({ min: 1, max: 2 }),
    host: fc.constantFrom('127.0.0.1', 'localhost', '[::1]', 'db.example', '10.1.2.3'),
    level: fc.constantFrom('Strong', 'Session', 'BoundedStaleness'),
    profile: some(fc.constantFrom('fast', 'paper', { intervalMs: 20, leaseMs: 50, settleMs: 0 })),
    key: some(fc.constantFrom('/id', ['/a', '/b/c'], '/"x/y"', '/with space', '/#x')),
    sets: some(fc.integer({ min: 1, max: 200 })),
    data: some(path),
    lmdb: path,
    storePassword: some(secret),
    storeOptions: fc.constantFrom('', '?tls=off', '?tls=on&ca=./ca%20of%26all.pem', '?ca=/etc/ca.pem'),
    tokens: fc.record({
      node: some(secret),
      client: some(secret),
      operator: some(secret),
      viewer: some(secret),
      acceptor: secret,
    }),
    limits: some(
      fc.record({ logMs: some(fc.nat(1e6)), logHardBytes: some(fc.integer({ min: 2 ** 20, max: 2 ** 35 })) }),
    ),
    log: some(fc.record({ level: some(fc.constantFrom('debug', 'silent')) })),
    zone: some(fc.constantFrom('baton.local', 'a', '1.2')),
    doors: fc.array(fc.record({ region: some(fc.constant('r0')), http: fc.boolean() }), { maxLength: 2 }),
    keys: some(
      fc.record({
        primary: fc.constant(Buffer.alloc(40, 7).toString('base64')),
        secondaryReadOnly: some(fc.record({ file: path })),
      }),
    ),
  })
  .map((parts) => {
    const { names, regions, columns, host, level, data } = parts;
    let port = 4000;
    const at = (): string => `${host}:${(port += 1)}`;
    const node = (region: number, column: number) => ({
      name: names[region * 2 + column],
      listen: at(),
      ...(column === 0 && { http: at() }),
      ...(region === 0 && column === 0 && { data }),
    });
    return {
      cluster: names[8],
      account: {
        name: names[9],
        consistency: level,
        ...(level === 'BoundedStaleness' && { staleness: { versions: 5, ms: 5000 } }),
        minimumDurability: regions > 2 ? 2 : undefined,
      },
      profile: parts.profile,
      regions: Array.from({ length: regions }, (_, region) => ({
        name: `r${region}`,
        nodes: Array.from({ length: columns }, (_unused, column) => node(region, column)),
      })),
      acceptors: [
        { name: names[10], url: `https://${host}:4900`, data: './acceptor' },
        { name: names[11], url: `lmdb:${parts.lmdb}` },
        {
          name: 'store',
          url: `postgres://me%40x@${host}/baton${parts.storeOptions}`,
          password: parts.storePassword,
        },
      ],
      containers: [{ name: 'items', partitionKey: parts.key, partitionSets: parts.sets }, { name: names[8] }],
      ...(parts.doors.length > 0 && {
        gateways: parts.doors.map(({ region, http }, index) => ({
          name: `door${index}-of-${names[8]}`,
          region,
          listen: at(),
          ...(http && { http: at(), address: `doors.example:${4000 + index}` }),
        })),
      }),
      dns: parts.zone === undefined ? undefined : { listen: at(), zone: parts.zone },
      tls: { ca: './ca.pem', cert: './{name}.pem', key: './{name}.key' },
      tokens: parts.tokens,
      keys: parts.keys,
      limits: parts.limits,
      log: parts.log,
    };
  });

/** Without where things stand. */
function plain(config: ClusterConfig): unknown {
  return JSON.parse(
    JSON.stringify({ ...config, warnings: [] }, (key, value: unknown) => (key === 'at' ? undefined : value)),
  );
}

describe('a configuration', () => {
  test('is the same after it was written and read again', () => {
    fc.assert(
      fc.property(goodFile, (file) => {
        const config = parse(stringify(file));
        const again = parse(formatClusterFile(config, { withSecrets: true }));
        expect(plain(again)).toEqual(plain(config));
        expect(diffForReload(config, again)).toEqual({ live: [], restart: [], refused: [] });
      }),
      { seed: 7, numRuns: 150 },
    );
  });

  test('is written without its secrets unless they are asked for', () => {
    fc.assert(
      fc.property(goodFile, (file) => {
        const config = parse(stringify({ ...file, tokens: { node: SECRET, acceptor: { env: 'X' } } }));
        expect(JSON.stringify(config)).not.toContain(SECRET);
        expect(formatClusterFile(config)).not.toContain(SECRET);
        expect(formatClusterFile(config, { withSecrets: true })).toContain(SECRET);
      }),
      { seed: 8, numRuns: 20 },
    );
  });
});

describe('whatever is in a file, it is taken or refused in words:', () => {
  test('bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 400 }), (bytes) => {
        takenOrRefused(bytes);
      }),
      { seed: 1, numRuns: 400 },
    );
  });

  test('marks of YAML in any order', () => {
    const mark = fc.constantFrom(...MARKS);
    fc.assert(
      fc.property(fc.array(mark, { maxLength: 60 }), (marks) => {
        takenOrRefused(marks.join(''));
      }),
      { seed: 2, numRuns: 1500 },
    );
  });

  test('structures with the right names in the wrong places', () => {
    const key = fc.constantFrom(...KEYS);
    const { value } = fc.letrec((tie) => ({
      value: fc.oneof(
        { maxDepth: 5, depthSize: 'small' },
        fc.constantFrom(
          null,
          true,
          0,
          -1,
          1.5,
          Infinity,
          '',
          'west',
          'http://x',
          '127.0.0.1:1',
          'https://:p@h',
          'postgres://u:p@h/d',
          'postgres://u:1/p@h',
          'redis://h',
          '[::1]:9',
          'lmdb:',
        ),
        fc.array(tie('value'), { maxLength: 4 }),
        fc.array(fc.tuple(key, tie('value')), { maxLength: 8 }).map((pairs) => new Map(pairs)),
      ),
    }));
    fc.assert(
      fc.property(fc.array(fc.tuple(key, value), { maxLength: 10 }), (pairs) => {
        takenOrRefused(stringify(new Map(pairs)));
      }),
      { seed: 3, numRuns: 600 },
    );
  });

  test('a good file with some of it cut, doubled, moved or written over', () => {
    const slip = fc.record({
      at: fc.nat(),
      length: fc.nat(30),
      put: fc.constantFrom('', 'x', '\n', ' ', '\t', ':', '- ', '"', '{', '0', '\u0085', '*a', '#', 'again'),
    });
    let refused = 0;
    fc.assert(
      fc.property(goodFile, fc.array(slip, { minLength: 1, maxLength: 4 }), (file, slips) => {
        let text = stringify({ ...file, tokens: { node: SECRET, acceptor: { env: 'X' } } });
        for (const { at, length, put } of slips) {
          const from = at % text.length;
          const cut = text.slice(from, from + length);
          // A secret that a slip tore apart, or put under another name, is no longer known as one.
          if (/S3|3c|cr|re|et|nod|ode|tok/.test(cut)) continue;
          text = text.slice(0, from) + (put === 'again' ? cut + cut : put) + text.slice(from + length);
        }
        if (/^tokens:\n {2}node: S3cretS3cretS3cret$/m.test(text) && takenOrRefused(text) === undefined)
          refused += 1;
      }),
      { seed: 4, numRuns: 600 },
    );
    expect(refused).toBeGreaterThan(100);
  });
});
