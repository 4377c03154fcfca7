import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { makeAuthority } from '../../server/index.ts';
import { CHECKS, type Evidence } from './checks.ts';
import { OperatedCluster } from './cluster.ts';
import { findCluster } from './find.ts';
import { starting } from './find.ts';
import { FakeCluster, type Manner, NOW } from './testing/fake-cluster.ts';

let fake: FakeCluster;

beforeEach(async () => {
  fake = await FakeCluster.start();
});

afterEach(() => fake.close());

interface Answer {
  readonly healthy: boolean;
  readonly findings: readonly {
    check: string;
    severity: string;
    finding: string;
    means: string;
    remedy: string;
  }[];
}

async function findings(...args: string[]): Promise<[string, string, string][]> {
  const { out, code } = await fake.run(['doctor', '-f', 'json', ...args]);
  const answer = JSON.parse(out) as Answer;
  expect(code).toBe(answer.healthy ? 0 : 1);
  for (const { finding, means, remedy } of answer.findings)
    for (const sentence of [finding, means, remedy]) expect(sentence).toMatch(/^\S.{10,}[^.]\.$/);
  return answer.findings.map(({ check, severity, finding }) => [check, severity, finding]);
}

function everyAcceptor(change: (acceptor: { name: string; state: string }) => void): void {
  for (const { facts } of fake.nodes)
    (facts['acceptors'] as { name: string; state: string }[]).forEach(change);
}

describe('baton doctor', () => {
  it('finds nothing where nothing is wrong', async () => {
    const { out, code } = await fake.run(['doctor']);
    expect(out).toContain('Cluster demo: nothing is wrong (14 checks).\n');
    expect(code).toBe(0);
    expect(await findings()).toEqual([]);
  });

  it('says what it found, what it means and what to do, in every form', async () => {
    fake.everywhere('items-00', (view) => (view.pausedAutomatic = true));
    const { out, code } = await fake.run(['doctor']);
    expect(out).toContain(`warning: Automatic failovers are paused in 1 partition-set: items-00. [pauses]
  Meaning: If their write region dies, they cannot be written until somebody acts.
  Remedy: When the work is done: baton resume.
`);
    expect(code).toBe(1);
    const tsv = (await fake.run(['doctor', '-f', 'tsv'])).out.split('\n');
    expect(tsv[1]).toMatch(/^warning\tpauses\tAutomatic .*: baton resume\.$/);
    const json = JSON.parse((await fake.run(['doctor', '-f', 'json'])).out) as object;
    expect(parse((await fake.run(['doctor', '-f', 'yaml'])).out)).toEqual(json);
  });

  it('finds dead nodes, and the writes that stop with them', async () => {
    await fake.node('west').stop();
    const found = await findings();
    expect(found).toEqual([
      [
        'nodes',
        'critical',
        expect.stringMatching(/^The node west-1 of west does not answer at 127.+: connection refused\.$/),
      ],
      [
        'partition-sets',
        'critical',
        'The write region west takes no writes for 2 partition-sets: items-00, items-01.',
      ],
    ]);
    expect((await fake.run(['doctor'])).out).toContain('Writes are accepted in 0 of 2 partition-sets.');
    for (const node of ['east', 'north']) await fake.node(node).stop();
    expect((await fake.run(['doctor'])).code).toBe(3);
  });

  it('says of a local cluster that has ended only that, and how to start it', async () => {
    const state = { version: 1, cluster: 'demo', config: '', portBase: null, namespaces: false };
    const ended = { ...state, supervisor: null, control: null, processes: [] };
    writeFileSync(join(fake.directory, 'cluster.json'), JSON.stringify(ended));
    expect(await findings()).toEqual([]);
    for (const node of fake.nodes) await node.stop();
    const { out, code } = await fake.run(['doctor', '-f', 'json', '--cluster', fake.directory]);
    const answer = JSON.parse(out) as Answer & { checks: string[] };
    expect(code).toBe(3);
    expect(answer.checks).toEqual(['nodes', 'certificates', 'exposed ports']);
    expect(answer.findings).toMatchObject([
      { check: 'nodes', severity: 'critical', finding: 'The cluster demo is not running.' },
    ]);
    expect(answer.findings[0]!.remedy).toMatch(/^Start it again: `baton up --data \S+`\.$/);
  });

  it('says once that a read region is dead', async () => {
    await fake.node('north').stop();
    for (const name of ['items-00', 'items-01'])
      fake.everywhere(name, (view) => (view.regions['north']!.isLive = false));
    expect((await findings()).map(([check]) => check)).toEqual(['nodes']);
  });

  it.each<[Manner, RegExp, RegExp]>([
    ['hang', /does not answer at .*: timed out\.$/, /Look at its process/],
    ['garbage', /does not answer at .*: not understood .*\.$/, /http address/],
  ])('knows what to do about a node that answers with: %s', async (manner, finding, remedy) => {
    fake.node('east').manner = manner;
    const { out } = await fake.run(['doctor', '-f', 'json', '--node-timeout', '500']);
    const [first, ...others] = (JSON.parse(out) as Answer).findings;
    expect(first!.finding).toMatch(finding);
    expect(first!.remedy).toMatch(remedy);
    expect(others).toEqual([]);
  });

  it('knows another node’s address', async () => {
    fake.node('east').facts['node'] = 'south-1';
    const { out } = await fake.run(['doctor', '-f', 'json']);
    expect((JSON.parse(out) as Answer).findings).toMatchObject([
      {
        finding: expect.stringContaining(': the node south-1 answers there.') as string,
        remedy: expect.stringContaining('Correct the http address') as string,
      },
    ]);
  });

  it('finds that it is not let in: that is no dead cluster', async () => {
    for (const node of fake.nodes) node.manner = 'not let in';
    expect(await findings()).toEqual([
      [
        'nodes',
        'critical',
        'west-1, east-1, north-1 do not let this operator in: The operator token is wrong.',
      ],
    ]);
    const { out } = await fake.run(['doctor']);
    expect(out).toContain(
      'OK: gateways, certificates, exposed ports.\nNot checked, because no node answers: acceptors, partition-sets,',
    );
    expect(out).toMatch(/Remedy: Name the operators’ token under tokens\.operator in \/.*baton\.yaml\.\n/);
  });

  it('looks again before it says that something is wrong', async () => {
    fake.everywhere('items-00', (view) => Object.assign(view, { phase: 'Ungraceful', writeRegion: null }));
    const settle = (): void =>
      fake.everywhere('items-00', (view) => Object.assign(view, { phase: 'Steady', writeRegion: 'west' }));
    expect((await fake.run(['doctor'], { onSleep: settle })).out).toContain('nothing is wrong');
  });

  it('tells a minority of acceptors from a majority, and who does not reach one', async () => {
    everyAcceptor((acceptor) => (acceptor.state = acceptor.name === 'a2' ? 'down' : 'up'));
    expect(await findings()).toEqual([['acceptors', 'warning', 'The acceptor a2 is down: 2 of 3 are up.']]);
    everyAcceptor((acceptor) => (acceptor.state = acceptor.name === 'a1' ? 'up' : 'down'));
    expect(await findings()).toEqual([
      ['acceptors', 'critical', 'A majority of acceptors is lost (a2, a3): 1 of 3 are up.'],
    ]);
    everyAcceptor((acceptor) => (acceptor.state = 'up'));
    (fake.node('east').facts['acceptors'] as { state: string }[])[0]!.state = 'down';
    expect(await findings()).toEqual([
      ['acceptors', 'warning', 'The acceptor a1 is not reached from east-1.'],
    ]);
  });

  it('finds nodes that wait for their acceptors', async () => {
    (fake.node('east').facts['acceptors'] as { state: string }[]).forEach((one) => (one.state = 'unknown'));
    expect(await findings()).toEqual([['acceptors', 'critical', 'east-1 waits for its acceptors.']]);
  });

  it('finds nodes that do not reach each other', async () => {
    (fake.node('west').facts['peers'] as { isUp: boolean }[])[0]!.isUp = false;
    expect(await findings()).toEqual([
      ['links', 'critical', 'Nodes that are up do not reach each other: west-1 to east-1.'],
    ]);
  });

  it('finds partition-sets without a writer, with two, with too few copies', async () => {
    fake.everywhere('items-00', (view) => Object.assign(view, { phase: 'Ungraceful', writeRegion: null }));
    fake.everywhere('items-01', (view) => (view.leaseSet = ['west']));
    fake.node('north').local['items-01'] = { canWrite: true };
    const kinds = (await findings()).map(([, severity, text]) => `${severity} ${text}`);
    expect(kinds).toContain('critical There is no write region for 1 partition-set: items-00.');
    expect(kinds).toContain(
      'critical Two regions say that they take the writes of 1 partition-set: items-01.',
    );
    expect(kinds).toContain(
      'critical The lease set is below the minimum durability in 1 partition-set: items-01.',
    );
    expect(kinds).toContain('warning east is alive and not in the lease set of 1 partition-set: items-01.');
  });

  it('finds regions that are down, built, or behind', async () => {
    fake.everywhere('items-00', (view) => (view.regions['north']!.isLive = false));
    fake.everywhere('items-01', (view) => (view.regions['north']!.building = true));
    for (const region of ['west', 'north']) Object.assign(fake.node(region).view('items-01'), { gcn: 2 });
    expect((await findings()).map(([, , text]) => text)).toEqual([
      'north does not report in 1 partition-set: items-00.',
      'east has not seen the GCN in force in 1 partition-set: items-01.',
      'north is being built in 1 partition-set: items-01.',
    ]);
  });

  it('finds a write region that has lost its data, and says so', async () => {
    fake.everywhere('items-00', (view) => (view.regions['west']!.building = true));
    expect((await findings()).map(([, severity, text]) => `${severity} ${text}`)).toContain(
      'critical The write region west has lost the data of 1 partition-set: items-00.',
    );
  });

  it('finds lag beyond what is allowed', async () => {
    fake.node('west').local['items-00'] = { lag: { east: 20_000, north: 10 } };
    expect(await findings()).toEqual([
      ['lag', 'warning', 'east lags by up to 20,000 writes in 1 partition-set: items-00.'],
    ]);
    expect(await findings('--max-lag', '50000')).toEqual([]);
  });

  it.each([
    [8e9, 'warning'],
    [1e9, 'critical'],
  ])('finds a disk with %d bytes of 100 GB: %s', async (freeBytes, severity) => {
    fake.node('east').facts['disk'] = { freeBytes, totalBytes: 100e9 };
    expect((await findings()).map(([check, how]) => [check, how])).toEqual([['disks', severity]]);
  });

  it('finds mixed versions and clocks that differ', async () => {
    fake.node('east').facts['version'] = '1.2.4';
    fake.node('east').facts['now'] = new Date(NOW + 90_000).toISOString();
    const found = await findings();
    expect(found.map(([check]) => check)).toEqual(['versions', 'clocks']);
    expect(found[0]![2]).toBe('Nodes run different versions: 1.2.3 (west-1, north-1), 1.2.4 (east-1).');
    expect(found[1]![2]).toMatch(
      /^The clocks of (?:west|north)-1 and east-1 differ by \d+(?:\.\d)? (?:s|min) or more\.$/,
    );
  });

  it('finds wishes that hang, not those that were just made', async () => {
    const open = (ms: number): object[] => [
      {
        id: `switchover-${(NOW - ms).toString(36)}-00000000000a`,
        kind: 'switchover',
        who: 'ops',
        target: 'east',
      },
    ];
    fake.everywhere('items-00', (view) => (view.intents.open = open(1000) as never));
    expect(await findings()).toEqual([]);
    fake.everywhere('items-00', (view) => (view.intents.open = open(120_000) as never));
    expect(await findings()).toEqual([
      ['intents', 'warning', 'Intents of operators are open: switchover east in items-00 (by ops).'],
    ]);
  });

  it('says of acknowledged writes that were undone that they were, and never as a warning', async () => {
    fake.node('west').local['items-00'] = { undoneWrites: 5, undoneCommitted: 4 };
    expect(await findings()).toEqual([
      ['lost writes', 'critical', '4 acknowledged writes were undone in items-00 (kept in west).'],
      ['lost writes', 'warning', '1 lost write is open in items-00 (kept in west).'],
    ]);
  });

  it('finds a copy that does not follow a write region which lacks committed writes', async () => {
    fake.node('east').local['items-01'] = { refuses: 'west' };
    expect(await findings()).toEqual([
      [
        'lost writes',
        'critical',
        'east does not follow west in items-01: the write region lacks committed writes.',
      ],
    ]);
  });

  it('finds lost writes that are open', async () => {
    fake.node('west').local['items-00'] = { undoneWrites: 2 };
    fake.node('east').local['items-01'] = { undoneWrites: 1 };
    expect(await findings()).toEqual([
      ['lost writes', 'warning', '3 lost writes are open in items-00, items-01 (kept in west, east).'],
    ]);
  });

  it('looks only at what it is asked for', async () => {
    fake.everywhere('items-00', (view) => (view.pausedAutomatic = true));
    expect(await findings('--partition-set', 'items-01')).toEqual([]);
  });
});

describe('gateways', () => {
  let [server, readiness]: [Server, object | undefined] = [createServer(), undefined];
  let seen: IncomingHttpHeaders[] = [];

  beforeEach(async () => {
    [readiness, seen] = [undefined, []];
    server = createServer(({ headers, url }, response) => {
      seen.push(headers);
      const status = url !== '/readiness' ? 404 : readiness === undefined ? 200 : 503;
      response.writeHead(status).end(JSON.stringify(readiness ?? { status: 'ok', reasons: [] }));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    appendFileSync(
      join(fake.directory, 'baton.yaml'),
      `gateways:
  - { name: door, region: west, listen: '127.0.0.1:4301', http: '127.0.0.1:${port}' }
  - { name: unasked, listen: '127.0.0.1:4302' }
keys: { primary: { env: KEY } }
tokens: { operator: { env: TOKEN } }
`,
    );
  });

  afterEach(() => server.close());

  async function found(): Promise<Answer['findings']> {
    const env = { TOKEN: 'a-secret-of-operators-0123456789' };
    return (JSON.parse((await fake.run(['doctor', '-f', 'json'], { env })).out) as Answer).findings;
  }

  it('that are ready are no finding; they are not shown the operators’ token', async () => {
    expect(await found()).toEqual([]);
    expect(seen).toHaveLength(1);
    expect(seen[0]).not.toHaveProperty('authorization');
  });

  it('that are not ready say why', async () => {
    readiness = { status: 'starting', reasons: ['It waits for the catalogue.'] };
    expect(await found()).toMatchObject([
      {
        check: 'gateways',
        severity: 'warning',
        finding: 'The gateway door of west is not ready: It waits for the catalogue.',
        remedy: expect.stringContaining('the nodes of west') as string,
      },
    ]);
  });

  it('that are dead are to be started', async () => {
    await new Promise((resolve) => server.close(resolve));
    const finding = expect.stringMatching(
      /^The gateway door of west does not answer at 127\.0\.0\.1:\d+: connection refused\.$/,
    ) as string;
    const remedy = expect.stringContaining('baton gateway --config FILE --name door') as string;
    expect(await found()).toMatchObject([{ check: 'gateways', severity: 'warning', finding, remedy }]);
  });
});

describe('what only the cluster file tells', () => {
  async function evidence(change: (config: Evidence['found']['config']) => object): Promise<Evidence> {
    const found = await findCluster(undefined, { env: {}, cwd: fake.directory });
    const view = await new OperatedCluster(found, { timeoutMs: 1000, now: () => NOW }).look();
    const config = { ...found.config, ...change(found.config) };
    return { view, found: { ...found, config }, certificates: [], shutGateways: [], now: NOW, maxLag: 1 };
  }

  it('doors that stand open', async () => {
    const open = await evidence(({ regions }) => ({
      regions: regions.map(({ name, nodes }) => ({
        name,
        nodes: nodes.map((node) => ({ ...node, listen: { host: '0.0.0.0', port: 1 } })),
      })),
    }));
    expect(CHECKS['exposed ports']!(open)).toMatchObject([{ severity: 'critical' }]);
    expect(CHECKS['exposed ports']!(await evidence(() => ({})))).toEqual([]);
  });

  it.each([
    [40, []],
    [20, [{ severity: 'warning', finding: 'The certificate in ca.pem ends in 20 days.' }]],
    [3, [{ severity: 'critical' }]],
    [-1, [{ severity: 'critical', finding: 'The certificate in ca.pem has expired.' }]],
  ])('a certificate with %d days left', async (days, expected) => {
    const expires = new Date(NOW + days * 24 * 3_600_000 + 1000).toISOString();
    const facts = { file: 'ca.pem', expires } as Evidence['certificates'][number];
    const found = CHECKS['certificates']!({ ...(await evidence(() => ({}))), certificates: [facts] });
    expect(found).toMatchObject(expected);
    expect(found).toHaveLength(expected.length);
  });

  it('reads the certificates that lie here', async () => {
    const { cert } = await makeAuthority({ days: 10, now: new Date('2028-01-01') });
    writeFileSync(join(fake.directory, 'ca.pem'), cert);
    const yaml = join(fake.directory, 'baton.yaml');
    writeFileSync(
      yaml,
      `${readFileSync(yaml, 'utf8').replaceAll("url: 'http:", "url: 'https:")}tls: { ca: ca.pem, cert: x.pem, key: x.key }\n`,
    );
    const { out, code } = await fake.run(['doctor'], {});
    // These nodes speak no TLS: none of them answers.
    expect(code).toBe(3);
    expect(out).toContain('does not answer');
    expect(out).toMatch(/The certificate in .*ca\.pem has expired\./);
  });
});

describe('baton doctor --if-dies', () => {
  async function effects(region: string): Promise<[string, string][]> {
    const { out } = await fake.run(['doctor', '--if-dies', region, '-f', 'tsv']);
    return out
      .trimEnd()
      .split('\n')
      .slice(1)
      .map((line) => line.split('\t').slice(1) as [string, string]);
  }

  it('says where writes go, and how long they wait', async () => {
    expect((await effects('west'))[0]).toEqual([
      'failover',
      'Writes move to east in about 3.3 s; nothing acknowledged is lost.',
    ]);
    expect((await effects('east'))[0]).toEqual([
      'short stall',
      'Writes wait up to 2.0 s until east is out of the lease set, then go on in west.',
    ]);
    expect((await fake.run(['doctor', '--if-dies', 'west'])).code).toBe(0);
    expect((await fake.run(['doctor', '--if-dies', 'mars'])).code).toBe(2);
  });

  it('says how a local cluster brings its processes back', () => {
    expect(starting({ isLocal: true, dataFlag: '' }, 'node', 'west-1')).toBe('baton chaos heal west-1');
    const elsewhere = { isLocal: true, dataFlag: ' --data ./two' };
    expect(starting(elsewhere, 'node', 'west-1')).toBe('baton chaos heal west-1 --data ./two');
    expect(starting({ isLocal: false, dataFlag: '' }, 'node', 'west-1')).toBe(
      'baton node --config FILE --name west-1',
    );
  });

  it('prefers who has most, then priority', async () => {
    fake.everywhere('items-00', (view) => (view.regions['north']!.progress = { epoch: 1, lsn: 101 }));
    const [first, second] = await effects('west');
    expect([first![1], second![1]]).toEqual([
      expect.stringContaining('to north'),
      expect.stringContaining('to east'),
    ]);
  });

  it('says when writes would stop', async () => {
    fake.everywhere('items-00', (view) => (view.regions['north']!.isLive = false));
    fake.everywhere('items-01', (view) => (view.pausedAutomatic = true));
    expect(await effects('west')).toEqual([
      ['outage', 'Writes stop: east alone is below the minimum durability of 2.'],
      ['outage', 'Writes stop: automatic failovers are paused (baton resume).'],
    ]);
    expect((await effects('east'))[0]).toEqual([
      'outage',
      'Writes stop: 1 region left, and the minimum durability is 2.',
    ]);
    const { out, code } = await fake.run(['doctor', '--if-dies', 'west']);
    expect(out).toContain('If west failed: outage in 2 partition-sets.\n');
    expect(code).toBe(1);
  });

  it('elects nobody outside the lease set at Strong, anybody at weaker levels', async () => {
    fake.everywhere('items-00', (view) => (view.leaseSet = ['west']));
    fake.everywhere('items-01', (view) => {
      view.leaseSet = ['west'];
      view.configuration['consistency'] = 'Session';
      view.regions['east']!.progress = { epoch: 1, lsn: 93 };
      view.regions['north']!.progress = { epoch: 1, lsn: 93 };
    });
    const [strong, session] = await effects('west');
    expect(strong![0]).toBe('outage');
    expect(session).toEqual([
      'failover',
      'Writes move to east in about 3.3 s; 7 writes that it lacks now would become lost writes.',
    ]);
    expect((await effects('north')).map(([effect]) => effect)).toEqual(['nothing', 'nothing']);
  });

  it('counts the lease that an election at a weaker level waits for most of the regions', async () => {
    fake.everywhere('items-00', (view) => {
      view.configuration['consistency'] = 'Session';
      view.regions['north']!.isLive = false;
    });
    expect((await effects('west'))[0]![1]).toMatch(/^Writes move to east in about 6\.0 s;/);
  });
});
