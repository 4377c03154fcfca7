import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { FakeCluster, type FakeEntry } from './testing/fake-cluster.ts';

let fake: FakeCluster;

beforeEach(async () => {
  fake = await FakeCluster.start();
});

afterEach(() => fake.close());

function rowsIn(tsv: string): string[][] {
  return tsv
    .trimEnd()
    .split('\n')
    .map((line) => line.split('\t'));
}

describe('baton list', () => {
  it('has a row for each partition-set: where its writes are, and how each region is', async () => {
    fake.node('west').local['items-00'] = { lag: { east: 17 } };
    await fake.node('north').stop();
    fake.everywhere('items-01', (view) => {
      Object.assign(view, { writeRegion: 'east', pin: 'east', leaseSet: ['east', 'west'] });
      view.regions['north']!.isLive = false;
    });
    const { out, code } = await fake.run(['list']);
    expect(out).toBe(`Cluster demo: 2 partition-sets, 2 of 3 nodes up, at 2030-01-02T03:04:05.000Z

north-1 (north) does not answer: connection refused

PARTITION-SET  WRITE REGION   GCN  PHASE   LEASE SET        west     east         north
items-00       west             1  Steady  west,east,north  writes   running +17  silent
items-01       east (pinned)    1  Steady  west,east        running  writes       down
`);
    expect(code).toBe(0);
    fake.node('west').local['items-00'] = { canWrite: false };
    expect((await fake.run(['list'])).out).toMatch(/items-00 .* no writes {2}running/);
  });

  it('with --regions has a row for each partition-set and region', async () => {
    const { out, code } = await fake.run(['list', '--regions']);
    expect(out).toBe(`Cluster demo: 2 partition-sets, 3 of 3 nodes up, at 2030-01-02T03:04:05.000Z

PARTITION-SET  WRITE REGION  GCN  PHASE   REGION  ROLE    STATUS                      LAG  STATE
items-00       west            1  Steady  west    writer  ReadWrite                        running
items-00       west            1  Steady  east    reader  ReadOnlyReplicationAllowed    0  running
items-00       west            1  Steady  north   reader  ReadOnlyReplicationAllowed    0  running
items-01       west            1  Steady  west    writer  ReadWrite                        running
items-01       west            1  Steady  east    reader  ReadOnlyReplicationAllowed    0  running
items-01       west            1  Steady  north   reader  ReadOnlyReplicationAllowed    0  running
`);
    expect(code).toBe(0);
  });

  it('says the same as JSON, YAML and TSV', async () => {
    fake.node('west').local['items-00'] = { lag: { east: 17, north: null } };
    const json = JSON.parse((await fake.run(['list', '-f', 'json'])).out) as Record<string, unknown>;
    expect(json).toMatchObject({
      cluster: 'demo',
      summary: { byWriteRegion: { west: 2 }, byPhase: { Steady: 2 }, notWell: 0 },
      partitionSets: [
        {
          name: 'items-00',
          writeRegion: 'west',
          regions: [{ role: 'writer' }, { region: 'east', lag: { entries: 17 } }, { region: 'north' }],
        },
        {},
      ],
    });
    expect(JSON.stringify(json)).not.toContain('"lag":null');
    expect(parse((await fake.run(['list', '-f', 'yaml'])).out)).toEqual(json);
    const rows = rowsIn((await fake.run(['list', '-f', 'tsv'])).out);
    expect(rows).toHaveLength(7);
    expect(rows[2]).toEqual([
      'items-00',
      'west',
      '1',
      'Steady',
      'east',
      'reader',
      'ReadOnlyReplicationAllowed',
      '17',
      'running',
    ]);
  });

  it('shows dead nodes, and what is wrong with the partition-sets', async () => {
    await fake.node('west').stop();
    fake.everywhere('items-01', (view) => Object.assign(view, { phase: 'Ungraceful', writeRegion: null }));
    const { out } = await fake.run(['list']);
    expect(out).toContain('2 of 3 nodes up');
    expect(out).toContain('west-1 (west) does not answer: connection refused\n');
    expect(out).toContain('items-00: The node of the write region west does not answer.\n');
    expect(out).toContain('items-01: There is no write region: GCN 1 waits for an election.\n');
    fake.everywhere('items-00', (view) => Object.assign(view, { phase: 'Ungraceful', writeRegion: null }));
    expect((await fake.run(['list'])).out).toContain(
      '\nitems-00, items-01: There is no write region: GCN 1 waits for an election.\n',
    );
  });

  it('tells a node that is starting from one that is dead', async () => {
    fake.node('west').view('items-00').gcn = null;
    fake.node('east').view('items-00').gcn = null;
    const { out } = await fake.run(['list', '-r', '--partition-set', 'items-00']);
    expect(out).toContain('items-00: The node of the write region west is starting.\n');
    expect(out).toMatch(/ east +reader .* starting\n/);
    fake.node('north').view('items-00').gcn = null;
    expect((await fake.run(['list'])).out).toContain('items-00: No node has seen its state yet.\n');
  });

  it('shows only what it is asked for', async () => {
    const only = rowsIn((await fake.run(['list', '--partition-set', 'items-01', '-f', 'tsv'])).out);
    expect(new Set(only.slice(1).map(([name]) => name))).toEqual(new Set(['items-01']));
    const both = ['--partition-set', 'items-01,items-00', '--partition-set', 'items-00'];
    expect((await fake.run(['list', ...both, '-f', 'tsv'])).out.split('\n')).toHaveLength(8);
    expect((await fake.run(['list', '--container', 'items', '-f', 'tsv'])).out.split('\n')).toHaveLength(8);
    expect(await fake.run(['list', '--partition-set', 'other'])).toMatchObject({
      code: 2,
      err: 'baton: The cluster has no partition-set other; `baton list --all` shows their names. [PARTITION_SET_UNKNOWN]\n',
    });
    expect((await fake.run(['list', '--container', 'other'])).code).toBe(2);
  });

  it('is coloured on a terminal, unless NO_COLOR says no', async () => {
    await fake.node('west').stop();
    expect((await fake.run(['list'], { isTerminal: true })).out).toContain('\u001B[31m');
    expect((await fake.run(['list'], { isTerminal: true, env: { NO_COLOR: '1' } })).out).not.toContain(
      '\u001B[',
    );
    expect((await fake.run(['list'])).out).not.toContain('\u001B[');
  });

  it('is printed again and again, also while nobody answers', async () => {
    const { out, code } = await fake.run(['list', '--watch', '5', '-f', 'tsv'], { sleeps: 3 });
    expect(out.match(/^PARTITION-SET/gm)).toHaveLength(3);
    expect(code).toBe(0);
    for (const node of fake.nodes) await node.stop();
    expect((await fake.run(['list', '--watch'], { sleeps: 2, isTerminal: true })).out).toContain(
      'No node of the cluster demo answers',
    );
    expect(await fake.run(['list'])).toMatchObject({ code: 3, out: '' });
    expect((await fake.run(['list', '--watch', 'soon'])).code).toBe(2);
  });
});

describe('of hundreds of partition-sets', () => {
  it('baton list counts, and shows those that are not well', async () => {
    const big = await FakeCluster.start({ partitionSets: 200 });
    try {
      big.everywhere('items-007', (view) => Object.assign(view, { phase: 'Ungraceful', writeRegion: null }));
      big.everywhere('items-123', (view) => Object.assign(view, { writeRegion: 'east', leaseSet: ['east'] }));
      const { out } = await big.run(['list']);
      expect(out).toContain('west          Steady                 198         0\n');
      expect(out).toContain('-             Ungraceful               1         1\n');
      expect(out).toContain('east          Steady                   1         1\n');
      expect(out.match(/^items-\d+ /gm)).toHaveLength(2);
      expect((await big.run(['list', '-r'])).out.match(/^items-\d+ /gm)).toHaveLength(6);
      expect(out).toContain('198 partition-sets more, all well; --all shows them.\n');
      expect((await big.run(['list', '--all'])).out.match(/^items-\d+ /gm)).toHaveLength(200);
      big.refuse = ({ path }) => (path.includes('items-150') ? { code: 'NO', message: 'No.' } : undefined);
      const moved = await big.run(['switchover', '--to', 'north', '--from', 'west', '--force']);
      expect(moved.out.match(/^items-\d+ /gm)).toEqual(['items-150 ']);
      expect(moved.out).toContain('197 of 198 partition-sets done; no writes for 84 ms or less.\n');
      expect((await big.run(['topology'])).out.match(/^items-\d+ /gm)).toHaveLength(6);
    } finally {
      await big.close();
    }
  });
});

describe('baton topology', () => {
  it('has the nodes, and what is assigned, reported and done side by side', async () => {
    await fake.node('north').stop();
    fake.everywhere('items-00', (view) => {
      Object.assign(view.regions['north']!, { isLive: false, reportedUnder: null, progress: null });
      view.leaseSet = ['west', 'east'];
    });
    fake.node('east').view('items-00').gcn = 0;
    const { out } = await fake.run(['topology', '--partition-set', 'items-00']);
    expect(out).toContain('west-1   west    127.0.0.1:');
    expect(out).toMatch(/north-1 {2}north {3}127\.0\.0\.1:\d+ +unreachable/);
    const rows = rowsIn((await fake.run(['topology', '--partition-set', 'items-00', '-f', 'tsv'])).out);
    expect(rows.slice(1)).toEqual([
      [
        'items-00',
        '1',
        'west',
        'ReadWrite',
        'yes',
        'log 1/100, committed 99',
        '1',
        'writer, writes, log 1/100',
        '1',
        '',
        'running',
      ],
      [
        'items-00',
        '1',
        'east',
        'ReadOnlyReplicationAllowed',
        'yes',
        'log 1/100, committed 99',
        '1',
        'reader, log 1/100',
        '0',
        '0',
        'behind',
      ],
      ['items-00', '1', 'north', 'ReadOnlyReplicationAllowed', 'no', 'nothing', '-', '-', '-', '', 'down'],
    ]);
  });

  it('says the same as JSON and YAML', async () => {
    const { out } = await fake.run(['topology', '-f', 'json']);
    const json = JSON.parse(out) as { partitionSets: unknown[] };
    expect(json.partitionSets[0]).toMatchObject({
      regions: [
        { assigned: { role: 'writer' }, reported: { beat: 10 }, actual: { canWrite: true, seesGcn: 1 } },
        {},
        {},
      ],
    });
    const yaml = parse((await fake.run(['topology', '-f', 'yaml'])).out) as { partitionSets: unknown };
    expect(yaml.partitionSets).toEqual(json.partitionSets);
  });
});

describe('baton history', () => {
  const raised = {
    at: '2030-01-01T00:00:00.000Z',
    what: 'raised',
    who: 'east',
    why: 'silence',
    from: 1,
    to: 2,
    region: 'west',
  };
  const elected = {
    ...raised,
    at: '2030-01-01T00:00:01.000Z',
    what: 'elected',
    from: 2,
    to: 2,
    region: 'east',
  };

  it('has the real cause of every change, once, whoever tells of it', async () => {
    fake.node('west').history['items-00'] = [raised];
    fake.node('east').history['items-00'] = [raised, elected];
    fake.node('east').history['items-01'] = [{ ...raised, why: 'forced', at: '2030-01-01T00:00:00.500Z' }];
    const { out, code } = await fake.run(['history']);
    expect(out.trimEnd().split('\n').slice(1)).toEqual([
      '2030-01-01T00:00:00.000Z  items-00       1 to 2  raised   west is no longer the write region (GCN 1 to 2, recorded by east): its lease expired without a renewal.',
      '2030-01-01T00:00:00.500Z  items-01       1 to 2  raised   west is no longer the write region (GCN 1 to 2, by east): an operator forced it.',
      '2030-01-01T00:00:01.000Z  items-00            2  elected  east was elected write region (GCN 2, recorded by east).',
    ]);
    expect(code).toBe(0);
    expect(rowsIn((await fake.run(['history', '-f', 'tsv'])).out)).toHaveLength(4);
    const json = JSON.parse((await fake.run(['history', '-f', 'json'])).out) as { history: unknown[] };
    expect(json.history[0]).toMatchObject({ partitionSet: 'items-00', why: 'silence' });
    expect(parse((await fake.run(['history', '-f', 'yaml'])).out)).toEqual(json);
  });

  it('shows the last ones, and that there are others before', async () => {
    fake.node('east').history['items-00'] = [raised, elected];
    const { out } = await fake.run(['history', '--limit', '1']);
    expect(out).not.toContain('raised');
    expect(out).toContain('There are earlier changes; --limit 2 shows more.');
    expect((await fake.run(['history', '--limit', '2'])).out).not.toContain('earlier');
    expect((await fake.run(['history', '--limit', '1.5'])).code).toBe(2);
  });

  it('has one line for what happened to many partition-sets at once', async () => {
    const later = { ...raised, at: '2030-01-01T00:00:00.200Z', who: 'north' };
    fake.node('east').history['items-00'] = [raised, elected];
    fake.node('east').history['items-01'] = [later, { ...elected, region: 'north' }];
    fake.node('east').history['items-02'] = [{ ...raised, at: '2030-01-01T00:00:20.000Z' }];
    const { out } = await fake.run(['history']);
    expect(out.trimEnd().split('\n').slice(1)).toEqual([
      '2030-01-01T00:00:00.000Z  items-00 and 1 more  1 to 2  raised   west is no longer the write region (GCN 1 to 2, recorded by east, north): its lease expired without a renewal.',
      '2030-01-01T00:00:01.000Z  items-00                  2  elected  east was elected write region (GCN 2, recorded by east).',
      '2030-01-01T00:00:01.000Z  items-01                  2  elected  north was elected write region (GCN 2, recorded by east).',
      '2030-01-01T00:00:20.000Z  items-02             1 to 2  raised   west is no longer the write region (GCN 1 to 2, recorded by east): its lease expired without a renewal.',
    ]);
    expect(rowsIn((await fake.run(['history', '-f', 'tsv'])).out)).toHaveLength(6);
  });

  it('goes through as many pages as it takes', async () => {
    const entry = (at: number): FakeEntry => ({
      ...raised,
      at: `2030-01-01T00:00:${String(at).padStart(2, '0')}.000Z`,
      from: at,
      to: at + 1,
    });
    const all = Array.from({ length: 20 }, (_, at) => entry(at));
    // Each has seen a part: one was away in the beginning, the other in the end.
    fake.node('west').history['items-00'] = all.slice(5);
    fake.node('east').history['items-00'] = all.slice(0, 12);
    fake.node('east').history['items-01'] = [entry(30)];
    for (const node of fake.nodes) node.pageSize = 3;
    const changes = async (...args: string[]): Promise<[string, number][]> => {
      const { out } = await fake.run(['history', '-f', 'json', ...args]);
      const { history } = JSON.parse(out) as { history: { partitionSet: string; from: number }[] };
      return history.map(({ partitionSet, from }) => [partitionSet, from]);
    };
    const numbers = (from: number, to: number): [string, number][] =>
      Array.from({ length: to - from }, (_, at) => ['items-00', from + at]);
    expect(await changes()).toEqual([...numbers(0, 20), ['items-01', 30]]);
    expect(await changes('--limit', '7')).toEqual([...numbers(14, 20), ['items-01', 30]]);
    expect(await changes('--partition-set', 'items-00')).toEqual(numbers(0, 20));
    expect(await changes('--partition-set', 'items-01')).toEqual([['items-01', 30]]);
  });

  it('shows words that only a newer version knows', async () => {
    fake.node('east').history['items-00'] = [{ ...raised, what: 'rerouted', why: 'weather' }];
    expect((await fake.run(['history'])).out).toContain('rerouted: weather.');
  });

  it('may be empty', async () => {
    expect((await fake.run(['history'])).out).toBe('Nothing has changed yet.\n');
  });
});

describe('baton config', () => {
  it('shows together what is configured alike', async () => {
    fake.everywhere('items-01', (view) => (view.configuration['consistency'] = 'Session'));
    const { out } = await fake.run(['config']);
    expect(out).toContain('items-00:\nSETTING');
    expect(out).toContain('items-01:\nSETTING');
    expect(out).toContain('consistency        Session\n');
    const rows = rowsIn((await fake.run(['config', '-f', 'tsv'])).out);
    expect(rows).toContainEqual(['items-01', 'consistency', 'Session']);
    const json = JSON.parse((await fake.run(['config', '-f', 'json'])).out) as object;
    expect(json).toMatchObject({ partitionSets: [{ configuration: { consistency: 'Strong' } }, {}] });
    expect(parse((await fake.run(['config', '-f', 'yaml'])).out)).toEqual(json);
  });
});

describe('finding it', () => {
  it('by flag and by BATON_CLUSTER, from anywhere', async () => {
    const cwd = '/';
    expect((await fake.run(['list'], { cwd })).code).toBe(2);
    expect((await fake.run(['list', '--cluster', fake.directory], { cwd })).code).toBe(0);
    expect(
      (await fake.run(['list'], { cwd, env: { BATON_CLUSTER: join(fake.directory, 'baton.yaml') } })).code,
    ).toBe(0);
  });

  it('with the flag before a subcommand as after it', async () => {
    const { code } = await fake.run(
      ['config', '--cluster', fake.directory, 'set', 'failback=off', '--dry-run'],
      { cwd: '/' },
    );
    expect(code).toBe(0);
  });

  it('with the operator’s token', async () => {
    const secret = await FakeCluster.start({ more: 'tokens: { operator: { env: OPERATOR } }\n' });
    try {
      secret.token = 'a-token-of-operators-0123456789ab';
      expect((await secret.run(['list'], { env: { OPERATOR: secret.token } })).code).toBe(0);
      const wrong = await secret.run(['list'], { env: { OPERATOR: 'another-token-0123456789abcdef012' } });
      expect(wrong).toMatchObject({ code: 1 });
      expect(wrong.err).toContain('does not let this operator in');
      expect(wrong.err + wrong.out).not.toContain('another-token');
    } finally {
      await secret.close();
    }
  });

  it('refuses formats and times that are none', async () => {
    expect(await fake.run(['list', '-f', 'xml'])).toMatchObject({ code: 2 });
    expect(await fake.run(['list', '--node-timeout', '0'])).toMatchObject({ code: 2 });
  });
});

describe('a container that was made through the API', () => {
  it.each([
    ['list'],
    ['topology'],
    ['history'],
    ['doctor', '--if-dies', 'west'],
    ['pause'],
    ['switchover', '--to', 'east', '--force'],
    ['failover', '--to', 'east', '--force'],
    ['unpin', '--force'],
    ['config', 'set', 'minimumDurability=1', '--force'],
    ['intents'],
    ['lost-writes'],
  ])('is known to baton %s %s %s %s', async (...args) => {
    fake.addContainer('shop/orders', ['shop-orders-00']);
    fake.everywhere('shop-orders-00', (view) => {
      view.pin = 'west';
      view.intents.open = [{ id: 'a-wish', kind: 'pause', who: 'ops' }];
    });
    const change = { at: '2030-01-01', what: 'created', who: 'west', why: 'creation', region: 'west' };
    fake.node('west').history['shop-orders-00'] = [{ ...change, from: 0, to: 1 }];
    fake.node('west').lost = [
      { partitionSet: 'shop-orders-00', epoch: 1, lsn: 4, writtenAt: '', undoneAt: '' },
    ];
    const { code, out } = await fake.run([...args, '--container', 'shop/orders', '-f', 'json']);
    expect(code).toBe(0);
    expect(out).toContain('shop-orders-00');
    expect(out).not.toContain('items-00');
    expect((await fake.run([...args, '--container', 'deleted', '-f', 'json'])).code).not.toBe(0);
  });
});
