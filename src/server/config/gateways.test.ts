/** Gateways and keys in the cluster file: what fits together, what is said when it does not, and what a reload does. */
import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import {
  ConfigError,
  diffForReload,
  endpointOf,
  formatClusterFile,
  gatewayOf,
  parseClusterFile,
  resolveKeys,
  tlsFilesOf,
} from './index.ts';

const KEY = Buffer.alloc(48, 1).toString('base64');
const LATER = Buffer.alloc(64, 2).toString('base64');
const BASE = `cluster: demo
regions:
  - { name: west, nodes: [{ name: west-1, listen: 127.0.0.1:4101, http: 127.0.0.1:4201 }] }
  - { name: east, nodes: [{ name: east-1, listen: 127.0.0.1:4102 }] }
acceptors: [{ name: a1, url: "http://127.0.0.1:4001", data: ./a1 }]
dns: { listen: 127.0.0.1:4053 }
`;
const TLS = 'tls: { ca: ca.pem, cert: "{name}.pem", key: "{name}.key" }\n';

const path = '/etc/baton/baton.yaml';
const parse = (more: string) => parseClusterFile(BASE + more, { path });
const gateways = (...lines: string[]) => `gateways:\n${lines.map((line) => `  - ${line}\n`).join('')}`;

function complaints(more: string): string[] {
  try {
    parse(more);
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError);
    return (error as ConfigError).message.split('\n').map((line) => line.replace(`${path}:`, ''));
  }
  return [];
}

describe('gateways', () => {
  test('are of a region or of all, several of one region too', () => {
    const config = parse(
      gateways(
        '{ name: gateway, listen: 127.0.0.1:4400 }',
        '{ name: w1, region: west, listen: 127.0.0.1:4401, address: west.db.example:443, http: 127.0.0.1:4501 }',
        '{ name: w2, region: west, listen: 127.0.0.1:4402, address: west.db.example:443 }',
      ),
    );
    expect(config.gateways).toEqual([
      {
        name: 'gateway',
        listen: { host: '127.0.0.1', port: 4400 },
        address: { host: '127.0.0.1', port: 4400 },
      },
      {
        name: 'w1',
        region: 'west',
        listen: { host: '127.0.0.1', port: 4401 },
        address: { host: 'west.db.example', port: 443 },
        http: { host: '127.0.0.1', port: 4501 },
      },
      expect.objectContaining({ name: 'w2', region: 'west' }),
    ]);
    expect(endpointOf(config, gatewayOf(config, 'gateway')!)).toBe('http://127.0.0.1:4400/');
    expect(gatewayOf(config, 'west-1')).toBeUndefined();
  });

  test('speak https with certificates of their names', () => {
    const config = parse(gateways('{ name: door, listen: 0.0.0.0:443, address: "[2001:db8::1]:443" }') + TLS);
    expect(tlsFilesOf(config, 'door')?.cert).toBe('/etc/baton/door.pem');
    expect(endpointOf(config, config.gateways[0]!)).toBe('https://[2001:db8::1]:443/');
  });

  test('are none unless the file has some', () => {
    expect(parse('')).toMatchObject({ gateways: [], keys: {} });
  });

  test.each<[what: string, line: string, message: string]>([
    [
      'of a region that is not there',
      '{ name: x, region: south, listen: 127.0.0.1:4400 }',
      '8:24 gateways[0].region: There is no region "south" in this file; it has west, east.',
    ],
    [
      'with the name of a node',
      '{ name: west-1, listen: 127.0.0.1:4400 }',
      '8:13 gateways[0].name: This name is already used by regions[0].nodes[0].name on line 3.',
    ],
    [
      'with the name of a region',
      '{ name: west, listen: 127.0.0.1:4400 }',
      '8:13 gateways[0].name: This name is already used by regions[0].name on line 3.',
    ],
    [
      'at the address of a node',
      '{ name: x, listen: 127.0.0.1:4101 }',
      '8:24 gateways[0].listen: This address is already used by regions[0].nodes[0].listen on line 3.',
    ],
    [
      'whose status is at that of a node',
      '{ name: x, listen: 127.0.0.1:4400, http: 127.0.0.1:4201 }',
      '8:46 gateways[0].http: This address is already used by regions[0].nodes[0].http on line 3.',
    ],
    [
      'at the address of an acceptor',
      '{ name: x, listen: localhost:4001 }',
      '8:24 gateways[0].listen: This address is already used by acceptors[0].url on line 5.',
    ],
    [
      'beyond loopback without certificates',
      '{ name: x, listen: 10.0.0.1:443 }',
      '8:24 gateways[0].listen: Listening on 10.0.0.1:443, beyond loopback, needs `tls`; `baton certs` makes certificates.',
    ],
    [
      'whose status is beyond loopback without certificates',
      '{ name: x, listen: 127.0.0.1:4400, http: 10.0.0.1:4500 }',
      '8:46 gateways[0].http: Listening on 10.0.0.1:4500, beyond loopback, needs `tls`; `baton certs` makes certificates.',
    ],
    [
      'that nobody could dial',
      '{ name: x, listen: 0.0.0.0:443 }',
      '8:24 gateways[0].listen: A gateway that listens on all addresses needs `address`: where others reach it.',
    ],
    [
      'with a slip',
      '{ name: x, listen: 127.0.0.1:4400, regoin: west }',
      '8:40 gateways[0].regoin: There is no field "regoin" here. Did you mean "region"?',
    ],
  ])('%s are refused', (_, line, message) => {
    expect(complaints(gateways(line))).toContain(message);
  });

  test('of two regions do not share an address, nor does one with the global one', () => {
    const door = (name: string, port: number, region: string) =>
      `{ name: ${name}, listen: 127.0.0.1:${port},${region} address: db.example:443 }`;
    expect(complaints(gateways(door('a', 4400, ' region: west,'), door('b', 4401, '')))).toEqual([
      '9:49 gateways[1].address: This address is already used by gateways[0].address on line 8.',
    ]);
    expect(complaints(gateways(door('a', 4400, ''), door('b', 4401, '')))).toEqual([]);
  });
});

describe('keys', () => {
  const FILES: Readonly<Record<string, string>> = { '/etc/baton/good': `${LATER}\n`, '/etc/baton/bad': 'x' };
  const places = {
    readFile: (file: string) => {
      const text = FILES[file];
      if (text === undefined) throw new Error(`no ${file}`);
      return text;
    },
    env: { KEY },
  };

  test('come from the file itself, from other files and from variables', () => {
    const keys = resolveKeys(
      parse(`keys: { primary: "${KEY}", secondary: { file: good }, primaryReadOnly: { env: KEY } }`),
      places,
    );
    expect([keys.primary, keys.secondary, keys.primaryReadOnly].map((key) => key?.reveal())).toEqual([
      KEY,
      LATER,
      KEY,
    ]);
    expect(keys.secondaryReadOnly).toBeUndefined();
  });

  test('that are not there, or no keys, are all named', () => {
    const config = parse(
      'keys: { primary: { file: none }, secondary: { file: bad }, primaryReadOnly: { env: NO } }',
    );
    expect(() => resolveKeys(config, places)).toThrow(
      [
        `${path}:7:18 keys.primary: The file /etc/baton/none cannot be read.`,
        `${path}:7:45 keys.secondary: The key is not base64; \`openssl rand -base64 48\` makes a good one.`,
        `${path}:7:77 keys.primaryReadOnly: The environment variable NO is not set.`,
      ].join('\n'),
    );
  });

  test.each<[written: string, sentence: string]>([
    ['"not base64!"', 'The key is not base64; `openssl rand -base64 48` makes a good one.'],
    [`"${Buffer.alloc(31).toString('base64')}"`, 'The key has 31 bytes; it needs 32 or more.'],
    [`"${KEY}="`, 'The key is not base64; `openssl rand -base64 48` makes a good one.'],
    ['""', 'The key is empty.'],
    ['"[redacted]"', 'The key was taken out of this file; write it as {file: PATH} or {env: NAME}.'],
    [`"${'A'.repeat(1028)}"`, 'The key is longer than 1024 characters.'],
    ['{ file: x, env: Y }', 'Write the key as {file: PATH} or as {env: NAME}.'],
    ['{ path: x }', 'This has a field that is neither `file` nor `env`.'],
    ['7', 'This is a number; it needs: base64, as text, {file: PATH} or {env: NAME}.'],
  ])('%s is refused', (written, sentence) => {
    expect(complaints(`keys: { primary: ${written} }`).join('\n')).toContain(`keys.primary: ${sentence}`);
  });

  test('are shown by nothing', () => {
    const config = parse(`keys: { primary: "${KEY}" }`);
    for (const text of [JSON.stringify(config), inspect(config, { depth: 9 }), formatClusterFile(config)])
      expect(text).not.toContain(KEY);
    expect(formatClusterFile(config, { withSecrets: true })).toContain(KEY);
    for (const wrong of [`"${KEY} x"`, `[${KEY}]`, `{ "${KEY}": 1 }`, `{ env: "${KEY}" }`])
      expect(complaints(`keys: { primary: ${wrong} }`).join('\n')).not.toContain(KEY);
  });
});

describe('a reload', () => {
  const before = `${gateways('{ name: door, listen: 127.0.0.1:4400 }')}keys: { primary: { file: good }, secondary: "${KEY}" }\n`;
  const diff = (from: string, to: string) => {
    expect(before).toContain(from);
    return diffForReload(parse(before), parse(before.replace(from, to)));
  };

  test('takes new keys at once', () => {
    expect(diff('file: good', 'file: other').live).toEqual([
      { field: 'keys.primary', sentence: 'keys.primary changes; it holds at once.' },
    ]);
    expect(diff(KEY, LATER).live.map(({ field }) => field)).toEqual(['keys.secondary']);
    expect(JSON.stringify(diff(KEY, LATER))).not.toContain(LATER);
  });

  test('leaves gateways to a restart', () => {
    expect(diff('4400', '4400, http: 127.0.0.1:4500').restart.map(({ sentence }) => sentence)).toEqual([
      'gateways.door.http is new: 127.0.0.1:4500; it needs a restart.',
    ]);
    expect(diff('listen', 'region: west, listen')).toMatchObject({
      live: [],
      restart: [{ field: 'gateways.door.region' }],
      refused: [],
    });
  });

  test('finds a file that was written and read again the same', () => {
    const config = parse(before);
    const again = parseClusterFile(formatClusterFile(config, { withSecrets: true }), { path });
    expect(diffForReload(config, again)).toEqual({ live: [], restart: [], refused: [] });
    expect(again.gateways).toEqual(config.gateways);
  });
});
