import { expect, test } from 'vitest';
import { diffForReload, parseClusterFile } from './index.ts';

const BASE = `cluster: demo
account: { consistency: Strong }
profile: fast
regions:
  - { name: west, nodes: [{ name: w, listen: 127.0.0.1:4101 }] }
  - { name: east, nodes: [{ name: e, listen: 127.0.0.1:4102 }] }
acceptors: [{ name: a1, url: "http://127.0.0.1:4001" }]
containers: [{ name: items, partitionSets: 16 }]
tls: { ca: ca.pem, cert: c.pem, key: c.key }
tokens: { node: hunter2hunter2, client: { file: client }, operator: { env: OPERATOR } }
limits: { inFlight: 100 }
log: { level: info }
`;

const parse = (text: string) => parseClusterFile(text, { path: '/etc/baton.yaml' });

test('a file that says the same changes nothing', () => {
  const nothing = { live: [], restart: [], refused: [] };
  expect(diffForReload(parse(BASE), parse(`# with a comment\n${BASE}`))).toEqual(nothing);
});

test.each<[from: string, to: string, how: 'live' | 'restart' | 'refused', sentence: string]>([
  ['level: info', 'level: debug', 'live', 'log.level changes from info to debug; it holds at once.'],
  [
    'inFlight: 100',
    'inFlight: 200',
    'restart',
    'limits.inFlight changes from 100 to 200; it needs a restart.',
  ],
  [
    'inFlight: 100',
    'inFlight: 100, logHardBytes: 1048576',
    'live',
    'limits.logHardBytes is new: 1048576; it holds at once.',
  ],
  ['hunter2hunter2', 'hunter3hunter3', 'live', 'tokens.node changes; it holds at once.'],
  ['{ file: client }', '{ file: other }', 'live', 'tokens.client changes; it holds at once.'],
  [', operator: { env: OPERATOR }', '', 'live', 'tokens.operator changes; it holds at once.'],
  [
    '{ env: OPERATOR }',
    '{ env: OPERATOR }, viewer: lookerlooker',
    'live',
    'tokens.viewer changes; it holds at once.',
  ],
  ['c.pem', 'd.pem', 'restart', 'tls.cert changes from /etc/c.pem to /etc/d.pem; it needs a restart.'],
  [
    'listen: 127.0.0.1:4102',
    'listen: 127.0.0.1:4109, address: 127.0.0.1:4102',
    'restart',
    'regions.east.nodes.e.listen changes from 127.0.0.1:4102 to 127.0.0.1:4109; it needs a restart.',
  ],
  [
    'listen: 127.0.0.1:4102',
    'listen: 127.0.0.1:4102, http: 127.0.0.1:4109',
    'restart',
    'regions.east.nodes.e.http is new: 127.0.0.1:4109; it needs a restart.',
  ],
  [
    '4001',
    '4002',
    'restart',
    'acceptors.a1.url changes from http://127.0.0.1:4001 to http://127.0.0.1:4002; it needs a restart.',
  ],
  [
    'Strong',
    'Session',
    'refused',
    'account.consistency changes from Strong to Session; the registers hold it since the first start: use `baton config`.',
  ],
  [
    'profile: fast',
    'profile: paper',
    'refused',
    'profile changes from fast to paper; the registers hold it since the first start: use `baton config`.',
  ],
  [
    'partitionSets: 16',
    'partitionSets: 8',
    'refused',
    'containers.items.partitionSets changes from 16 to 8; the data of this cluster lies by it, so it cannot change.',
  ],
  [
    'cluster: demo\naccount: {',
    'cluster: other\naccount: { name: demo,',
    'refused',
    'cluster changes from demo to other; the data of this cluster lies by it, so it cannot change.',
  ],
])('%s to %s', (from, to, how, sentence) => {
  expect(BASE).toContain(from);
  const diff = diffForReload(parse(BASE), parse(BASE.replace(from, to)));
  const others = { live: [], restart: [], refused: [] };
  expect(diff).toEqual({ ...others, [how]: [{ field: expect.any(String) as string, sentence }] });
});

test('the order of regions is changed by a command', () => {
  const lines = BASE.split('\n');
  const swapped = [...lines.slice(0, 4), lines[5], lines[4], ...lines.slice(6)].join('\n');
  expect(diffForReload(parse(BASE), parse(swapped)).refused.map(({ sentence }) => sentence)).toEqual([
    'regions changes from west, east to east, west; the registers hold it since the first start: use `baton priority`.',
  ]);
});

test('a region or a column more is refused', () => {
  const more = '  - { name: north, nodes: [{ name: n, listen: 127.0.0.1:4103 }] }\nacceptors';
  const region = diffForReload(parse(BASE), parse(BASE.replace('acceptors', more)));
  expect(region.refused.map(({ field }) => field)).toContain('the set of regions');
  const column = BASE.replace('4101 }', '4101 }, { name: w2, listen: 127.0.0.1:4103 }').replace(
    '4102 }',
    '4102 }, { name: e2, listen: 127.0.0.1:4104 }',
  );
  expect(diffForReload(parse(BASE), parse(column)).refused.map(({ field }) => field)).toEqual([
    'the number of nodes of west',
    'the number of nodes of east',
  ]);
});

test('no change shows a token', () => {
  const after = parse(BASE.replace('hunter2hunter2', 'hunter3hunter3'));
  expect(JSON.stringify(diffForReload(parse(BASE), after))).not.toMatch(/hunter/);
});
