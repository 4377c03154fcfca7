import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import { ConfigError, parseClusterFile, readClusterFile } from './index.ts';

const GOOD = `cluster: demo
account:
  name: shop
  consistency: Strong
profile: fast
regions:
  - name: west
    nodes:
      - name: west-1
        listen: 127.0.0.1:4101
        http: 127.0.0.1:4201
  - name: east
    nodes:
      - name: east-1
        listen: 127.0.0.1:4102
  - name: north
    nodes:
      - name: north-1
        listen: "[::1]:4103"
acceptors:
  - { name: a1, url: "http://127.0.0.1:4001", data: ./a1 }
  - { name: a2, url: "http://127.0.0.1:4002", data: ./a2 }
  - { name: a3, url: "http://127.0.0.1:4003", data: ./a3 }
`;

const parse = (text: string | Uint8Array) => parseClusterFile(text, { path: 'baton.yaml' });

function errorOf(text: string | Uint8Array): ConfigError {
  try {
    parse(text);
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError);
    return error as ConfigError;
  }
  throw new Error('the file was taken');
}

const complaints = (text: string | Uint8Array): string[] => errorOf(text).message.split('\n');
/** The good file with one part of it written otherwise. */
const changed = (from: string, to: string): string => {
  expect(GOOD).toContain(from);
  return GOOD.replace(from, to);
};

describe('a cluster file', () => {
  test('is read with its defaults', () => {
    const { account, regions, acceptors, containers, limits, log, warnings, profile, tokens } = parse(GOOD);
    expect(account).toEqual({ name: 'shop', consistency: 'Strong', minimumDurability: 2 });
    expect(regions.map(({ name }) => name)).toEqual(['west', 'east', 'north']);
    expect(regions[2]!.nodes[0]).toEqual({
      name: 'north-1',
      listen: { host: '::1', port: 4103 },
      address: { host: '::1', port: 4103 },
      data: join(process.cwd(), 'north-1'),
    });
    expect(acceptors[0]!.serve).toEqual({
      listen: { host: '127.0.0.1', port: 4001 },
      data: join(process.cwd(), 'a1'),
      secure: false,
    });
    expect(containers).toEqual([{ name: 'items', partitionKey: ['/id'], partitionSets: 16 }]);
    expect([limits.logMs, limits.inFlight, log.level, profile]).toEqual([86_400_000, 2048, 'info', 'fast']);
    expect([tokens, warnings]).toEqual([{}, []]);
  });

  test('names paths relative to itself', () => {
    const { regions } = parseClusterFile(GOOD, { path: '/etc/baton/baton.yaml' });
    expect(regions[0]!.nodes[0]!.data).toBe('/etc/baton/west-1');
  });

  test('may use anchors', () => {
    const text = `${GOOD}tokens: { node: &t { env: TOKEN }, client: *t }\n`;
    expect(parse(text).tokens.client).toMatchObject({ kind: 'env', env: 'TOKEN' });
  });

  test('beyond loopback is taken with certificates', () => {
    const text = `${changed('127.0.0.1:4101', '0.0.0.0:4101\n        address: west.example:4101')}tls: { ca: ca.pem, cert: "{name}.pem", key: "{name}.key" }\n`;
    expect(parse(text).regions[0]!.nodes[0]).toMatchObject({
      listen: { host: '0.0.0.0', port: 4101 },
      address: { host: 'west.example', port: 4101 },
    });
  });

  test('of several machines may use one port and one directory on each', () => {
    const node = (at: string) =>
      `{ name: ${at}, listen: 0.0.0.0:4101, http: 0.0.0.0:4201, address: "${at}.example:4101", data: /var/lib/baton }`;
    const text = `cluster: demo
regions: [{ name: west, nodes: [${node('w')}] }, { name: east, nodes: [${node('e')}] }]
acceptors: [{ name: a1, url: "https://a.example:4001" }]
tls: { ca: ca.pem, cert: node.pem, key: node.key }
`;
    expect(parse(text).regions).toHaveLength(2);
    // Either of two regions may be lost, unless somebody asks for more.
    expect(parse(text).account.minimumDurability).toBe(1);
  });
});

const DOUBLED = '- { name: a3, url: "http://127.0.0.1:4003", data: ./a3 }';
const acceptorLine = (line: string): string => changed(DOUBLED, `- ${line}`);

describe('a bad file is refused with line, field and a sentence:', () => {
  test.each<[what: string, text: string, message: string]>([
    [
      'no port',
      changed('127.0.0.1:4102', '127.0.0.1'),
      '15:17 regions[1].nodes[0].listen: "127.0.0.1" has no port; write it as host:port.',
    ],
    [
      'port out of range',
      changed(':4102', ':70000'),
      '15:17 regions[1].nodes[0].listen: "127.0.0.1:70000" needs a port from 1 to 65535.',
    ],
    [
      'port 0',
      changed(':4102', ':0'),
      '15:17 regions[1].nodes[0].listen: "127.0.0.1:0" needs a port from 1 to 65535.',
    ],
    [
      'bad host',
      changed('127.0.0.1:4102', '127.0.0.300:4102'),
      '15:17 regions[1].nodes[0].listen: "127.0.0.300:4102" has a host that is neither a name nor an IP address.',
    ],
    [
      'IPv6 without brackets',
      changed('127.0.0.1:4102', '"::1:4102"'),
      '15:17 regions[1].nodes[0].listen: "::1:4102" is not an address; write it as host:port, with an IPv6 host in brackets.',
    ],
    [
      'unknown field',
      changed('    http:', '    htpt:'),
      '11:9 regions[0].nodes[0].htpt: There is no field "htpt" here. Did you mean "http"?',
    ],
    [
      'far from any field',
      changed('profile: fast', 'colour: red'),
      '5:1 colour: There is no field "colour" here. There are: cluster, account, profile, regions, acceptors, containers, gateways, dns, tls, tokens, keys, limits, log.',
    ],
    [
      'missing field',
      changed('        listen: 127.0.0.1:4102\n', ''),
      '14:9 regions[1].nodes[0].listen: This field is missing.',
    ],
    [
      'no value',
      changed('profile: fast', 'profile:'),
      '5:9 profile: There is no value here; it needs: fast, paper or a mapping.',
    ],
    [
      'wrong kind',
      changed('name: shop', 'name: [shop]'),
      '3:9 account.name: This is a list; it needs a text.',
    ],
    [
      'a number for a name',
      changed('name: shop', 'name: 7'),
      '3:9 account.name: 7 is a number; put it in quotation marks if it is meant as a text.',
    ],
    [
      'a name for files',
      changed('name: west-1', 'name: ../west'),
      '9:15 regions[0].nodes[0].name: "../west" is not a name; use lower-case letters, digits and hyphens, with a letter or a digit at both ends.',
    ],
    [
      'a long name',
      changed('cluster: demo', `cluster: ${'x'.repeat(64)}`),
      `1:10 cluster: "${'x'.repeat(60)}..." is longer than 63 characters.`,
    ],
    [
      'a level',
      changed('Strong', 'strongest'),
      '4:16 account.consistency: "strongest" is not known here. Use one of: Strong, BoundedStaleness, Session, ConsistentPrefix, Eventual.',
    ],
    [
      'a level, nearly',
      changed('Strong', 'Sesion'),
      '4:16 account.consistency: "Sesion" is not known here. Did you mean "Session"?',
    ],
    [
      'a profile',
      changed('fast', 'quick'),
      '5:10 profile: "quick" is not known here. Use one of: fast, paper.',
    ],
    [
      'a short lease',
      changed('fast', '{ intervalMs: 1000, leaseMs: 1000, settleMs: 1 }'),
      '5:39 profile.leaseMs: A lease of 1000 ms ends before the next report, after 1000 ms.',
    ],
    [
      'a long settling',
      changed('fast', '{ intervalMs: 1000, leaseMs: 3000, settleMs: 3000 }'),
      '5:55 profile.settleMs: 3000 ms is not shorter than the lease of 3000 ms.',
    ],
    [
      'a fraction',
      changed('fast', '{ intervalMs: 0.5, leaseMs: 3000, settleMs: 1 }'),
      '5:24 profile.intervalMs: 0.5 is not a whole number from 10 to 31622400000.',
    ],
    [
      'no staleness',
      changed('Strong', 'BoundedStaleness'),
      '4:16 account.consistency: BoundedStaleness needs `staleness: { versions, ms }`.',
    ],
    [
      'staleness',
      changed('Strong', 'Strong\n  staleness: { versions: 1, ms: 1000 }'),
      '5:14 account.staleness: Only the level BoundedStaleness has a staleness.',
    ],
    [
      'half seconds',
      changed('Strong', 'BoundedStaleness\n  staleness: { versions: 1, ms: 1500 }'),
      '5:33 account.staleness.ms: 1500 is not a number of milliseconds that makes whole seconds.',
    ],
    [
      'too durable',
      changed('Strong', 'Strong\n  minimumDurability: 4'),
      '5:22 account.minimumDurability: 4 is more than the 3 regions of the cluster.',
    ],
    [
      'a doubled key',
      changed('profile: fast', 'cluster: two'),
      '5:1 cluster: This field is already on line 1.',
    ],
    [
      'a doubled name',
      changed('name: east-1', 'name: west-1'),
      '14:15 regions[1].nodes[0].name: This name is already used by regions[0].nodes[0].name on line 9.',
    ],
    [
      'a doubled region',
      changed('name: east\n', 'name: west\n'),
      '12:11 regions[1].name: This name is already used by regions[0].name on line 7.',
    ],
    [
      'an acceptor like a region',
      acceptorLine('{ name: west, url: "http://127.0.0.1:4003" }'),
      '23:13 acceptors[2].name: This name is already used by regions[0].name on line 7.',
    ],
    [
      'a doubled address',
      changed('127.0.0.1:4102', 'localhost:4201'),
      '15:17 regions[1].nodes[0].listen: This address is already used by regions[0].nodes[0].http on line 11.',
    ],
    [
      'a doubled directory',
      changed('127.0.0.1:4102', '127.0.0.1:4102\n        data: ./west-1/'),
      '16:15 regions[1].nodes[0].data: This directory is already used by regions[0].nodes[0].data on line 9.',
    ],
    [
      'a doubled URL',
      acceptorLine('{ name: a3, url: "http://127.0.0.1:4001" }'),
      '23:22 acceptors[2].url: This URL is already used by acceptors[0].url on line 21.',
    ],
    [
      'unequal regions',
      changed(
        '  - name: east\n    nodes:\n',
        '  - name: east\n    nodes:\n      - { name: e2, listen: "127.0.0.1:4109" }\n',
      ),
      '14:7 regions[1].nodes: This region has 2 nodes and the first has 1; every region needs as many.',
    ],
    [
      'no nodes',
      changed('nodes:\n      - name: east-1\n        listen: 127.0.0.1:4102', 'nodes: []'),
      '13:12 regions[1].nodes: The list is empty.',
    ],
    [
      'open',
      changed('127.0.0.1:4102', '10.0.0.1:4102'),
      '15:17 regions[1].nodes[0].listen: Listening on 10.0.0.1:4102, beyond loopback, needs `tls`; `baton certs` makes certificates.',
    ],
    [
      'open HTTP',
      changed('127.0.0.1:4201', '10.0.0.1:4201'),
      '11:15 regions[0].nodes[0].http: Listening on 10.0.0.1:4201, beyond loopback, needs `tls`; `baton certs` makes certificates.',
    ],
    [
      'a name that begins like loopback',
      changed('127.0.0.1:4102', '127.evil.example:4102'),
      '15:17 regions[1].nodes[0].listen: Listening on 127.evil.example:4102, beyond loopback, needs `tls`; `baton certs` makes certificates.',
    ],
    [
      'an open DNS',
      `${GOOD}dns: { listen: 0.0.0.0:53 }`,
      '24:16 dns.listen: Listening on 0.0.0.0:53, beyond loopback, needs `tls`; `baton certs` makes certificates.',
    ],
    [
      'a bad URL',
      acceptorLine('{ name: a3, url: "127.0.0.1:4003" }'),
      '23:22 acceptors[2].url: "127.0.0.1:4003" is not an acceptor URL, such as http://127.0.0.1:4001; the schemes are http, https, lmdb, memory, postgres, redis, etcd, azure-blob, dynamodb and cosmos.',
    ],
    [
      'a URL with a path',
      acceptorLine('{ name: a3, url: "http://a:1/x" }'),
      '23:22 acceptors[2].url: "http://a:1/x" has more than a host and a port.',
    ],
    [
      'a password in a URL',
      acceptorLine('{ name: a3, url: "http://:hunter2@a:1" }'),
      '23:22 acceptors[2].url: The URL has credentials in it; put the token under tokens.acceptor.',
    ],
    [
      'listen without data',
      acceptorLine('{ name: a3, url: "http://a:1", listen: "127.0.0.1:1" }'),
      '23:44 acceptors[2].listen: `listen` goes with `data`: without it `baton acceptor` does not start this one.',
    ],
    [
      'data of a store',
      acceptorLine('{ name: a3, url: "lmdb:x", data: y }'),
      '23:38 acceptors[2].data: Only an acceptor with an http or https URL is a process with data.',
    ],
    [
      'https without certificates',
      acceptorLine('{ name: a3, url: "https://127.0.0.1:1", data: y }'),
      '23:22 acceptors[2].url: An acceptor with an https URL needs `tls`.',
    ],
    [
      'a tab',
      changed('  name: shop', '\tname: shop'),
      '3:1 This is not YAML: A tab is used for indentation; use spaces.',
    ],
    ['two documents', `${GOOD}---\nx: 1\n`, '24:1 A second document begins here; a file has one.'],
    ['a list', '- a\n', '1:1 This is a list; it needs a mapping.'],
    ['nothing', '# only a comment\n', '1:1 The file is empty.'],
    [
      'a tag',
      changed('cluster: demo', 'cluster: !secret demo'),
      '1:10 This is not YAML: A tag is not known.',
    ],
    [
      'an unknown alias',
      changed('cluster: demo', 'cluster: *demo'),
      '1:10 cluster: An alias names an anchor that is not there.',
    ],
    [
      'a key path',
      `${GOOD}containers: [{ name: x, partitionKey: id }]`,
      '24:39 containers[0].partitionKey: "id" is not the path of a property, such as /id.',
    ],
    [
      'a zone',
      `${GOOD}dns: { listen: 127.0.0.1:53, zone: baton..local }`,
      '24:36 dns.zone: "baton..local" is not a DNS zone, such as baton.local.',
    ],
    [
      'a container whose partition-sets have no room',
      `${GOOD}containers: [{ name: ${'x'.repeat(61)} }]`,
      '24:22 containers[0].name: The names of its partition-sets would be longer than 63 characters; use at most 60.',
    ],
    [
      'two sources of a token',
      `${GOOD}tokens: { node: { file: x, env: Y } }`,
      '24:17 tokens.node: Write the token as {file: PATH} or as {env: NAME}.',
    ],
    ['half of the certificates', `${GOOD}tls: { ca: x, cert: y }`, '24:6 tls.key: This field is missing.'],
    [
      'a terminal escape',
      changed('cluster: demo', 'cluster: "\\e[31m"'),
      '1:10 cluster: "\\u{1b}[31m" is not a name; use lower-case letters, digits and hyphens, with a letter or a digit at both ends.',
    ],
  ])('%s', (_, text, message) => {
    expect(complaints(text)).toContain(`baton.yaml:${message}`);
  });

  test('an acceptor beyond loopback without a token or https', () => {
    const text = `${acceptorLine('{ name: a3, url: "http://10.0.0.1:1", data: y }')}tls: { ca: a, cert: b, key: c }`;
    expect(complaints(text)).toEqual([
      'baton.yaml:23:22 acceptors[2].url: An acceptor beyond loopback needs an https URL.',
      'baton.yaml:23:22 acceptors[2].url: An acceptor beyond loopback needs `tokens.acceptor`.',
    ]);
  });

  test('all addresses without one to dial', () => {
    expect(complaints(changed('127.0.0.1:4102', '0.0.0.0:4102'))).toContain(
      'baton.yaml:15:17 regions[1].nodes[0].listen: A node that listens on all addresses needs `address`: where others reach it.',
    );
  });

  test('everything at once, in the order of the file', () => {
    const text = changed('Strong', 'Storng').replace('name: east-1', 'name: west-1').replace('4103', 'x');
    expect(errorOf(text).problems.map(({ line, field }) => [line, field])).toEqual([
      [4, 'account.consistency'],
      [14, 'regions[1].nodes[0].name'],
      [19, 'regions[2].nodes[0].listen'],
    ]);
  });

  test('and one of many problems stays short', () => {
    const text = `cluster: x\nregions: [${'{},'.repeat(60)}]\nacceptors: []`;
    expect(complaints(text)).toHaveLength(51);
    expect(complaints(text).at(-1)).toMatch(/^\.\.\. and \d+ more\.$/);
  });
});

describe('a file that wants too much:', () => {
  const laughs = `a: &a0 [${'x,'.repeat(10)}]\n${Array.from({ length: 12 }, (_, at) => `b${at}: &a${at + 1} [${`*a${at},`.repeat(10)}]`).join('\n')}`;
  test.each([
    ['a billion laughs', laughs, 'Aliases and lists make too many values.'],
    ['an alias in itself', 'a: &a { b: *a }', 'An alias leads back to itself.'],
    ['deep brackets', '['.repeat(500_000), 'Values are nested too deep here.'],
    ['deep braces', '{a: '.repeat(200_000), 'Values are nested too deep here.'],
    ['deep dashes', '- '.repeat(500_000), 'Values are nested too deep here.'],
    ['more than 1 MiB', ' '.repeat(1024 * 1024 + 1), 'The file is larger than 1 MiB.'],
    ['bad escapes', `"${'\\x'.repeat(500_000)}"`, 'A value is longer than 65536 characters.'],
    ['many lines', 'a:\n'.repeat(300_000), 'The file has too many parts.'],
  ])('%s', (_, text, sentence) => {
    expect(errorOf(text).problems.map((problem) => problem.sentence)).toContain(sentence);
  });

  test('bytes that are not UTF-8', () => {
    expect(complaints(new Uint8Array([0x61, 0xff, 0xfe]))).toEqual([
      'baton.yaml:1:1 The file is not UTF-8 text.',
    ]);
    expect(parse(new TextEncoder().encode(`\ufeff${GOOD}`)).cluster).toBe('demo');
  });
});

test.each<[what: string, text: string, sentence: string]>([
  [
    'an even number of acceptors',
    changed(`  ${DOUBLED}\n`, ''),
    '2 acceptors survive the loss of no more than 1 do; use an odd number.',
  ],
  [
    'one acceptor',
    GOOD.replace(/ {2}- \{ name: a[23].*\n/g, ''),
    'With one acceptor there is no failover while it is away; use three or five.',
  ],
  [
    'writes that need every region',
    changed('Strong', 'Strong\n  minimumDurability: 3'),
    'Every write needs all 3 regions: the loss of one stops writes.',
  ],
  [
    'an acceptor in memory',
    acceptorLine('{ name: a3, url: "memory:x" }'),
    'Only one process sees this acceptor, and it forgets everything with it.',
  ],
  [
    'an acceptor in the clear',
    acceptorLine('{ name: a3, url: "http://10.0.0.1:1" }'),
    'What goes to this acceptor, the token too, can be read on the way; use https.',
  ],
  [
    'a token for viewers alone',
    `${GOOD}tokens: { viewer: lookerlooker }\n`,
    'Without a token for operators this cluster can be looked at, and nobody can act.',
  ],
])('a warning is given for %s', (_, text, sentence) => {
  expect(parse(text).warnings.map((warning) => warning.sentence)).toEqual([sentence]);
});

describe('a secret', () => {
  const SECRET = 'hunter2hunter2';
  test('is in nothing that prints the configuration', () => {
    const config = parse(`${GOOD}tokens: { node: ${SECRET} }\n`);
    for (const text of [JSON.stringify(config), inspect(config, { depth: 9, showHidden: true })])
      expect(text).not.toContain(SECRET);
  });

  test.each([
    `tokens: { node: "${SECRET} x" }`,
    `tokens: { node: { ${SECRET} } }`,
    `tokens: { node: [${SECRET}] }`,
    `tokens: ${SECRET}`,
    `tokens:\n  node: ${SECRET}: x`,
    `tokens:\n  node: "${SECRET}`,
    `tokens:\n  node: @${SECRET}`,
    `tokens:\n  node: *${SECRET}`,
    `tokens:\n  node: !${SECRET} x`,
    `tokens:\n  node: {env: "${SECRET}-"}`,
    `tokens:\n node: a\n  ${SECRET}`,
  ])('is in no message: %s', (text) => {
    const error = errorOf(GOOD + text);
    for (const shown of [error.message, JSON.stringify(error), inspect(error, { depth: 9 }), error.stack])
      expect(shown).not.toContain(SECRET);
  });
});

test('a file that cannot be read says so', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'baton-config-'));
  try {
    const path = join(directory, 'baton.yaml');
    await expect(readClusterFile(path)).rejects.toMatchObject({
      code: 'CONFIG_UNREADABLE',
      message: `The cluster file ${path} cannot be read: there is none.`,
    });
    await expect(readClusterFile(directory)).rejects.toMatchObject({ code: 'CONFIG_UNREADABLE' });
    await writeFile(path, GOOD);
    expect((await readClusterFile(path)).regions[0]!.nodes[0]!.data).toBe(join(directory, 'west-1'));
  } finally {
    await rm(directory, { recursive: true });
  }
});
