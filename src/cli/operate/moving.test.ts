import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { FakeCluster } from './testing/fake-cluster.ts';

let fake: FakeCluster;

beforeEach(async () => {
  fake = await FakeCluster.start();
});

afterEach(() => fake.close());

function intents(): unknown[] {
  return fake.posts.map(({ body }) => body['intent']);
}

const ONE = ['--partition-set', 'items-00'];

describe('baton switchover', () => {
  it('moves what it is told to, waits until it is done, and says the gap', async () => {
    const { out, code, asked } = await fake.run(['switchover', '--to', 'east', ...ONE], { answer: 'no' });
    expect(out).toBe(`PARTITION-SET  FROM  TO    GCN  OUTCOME    GAP  WHY
items-00       west  east    2  done     84 ms
Switchover to east: 1 of 1 partition-set done; no writes for 84 ms or less.
The writes are pinned: they stay in east while it is healthy, until \`baton unpin\`.
`);
    expect([code, asked]).toEqual([0, []]);
    expect(fake.posts[0]!.body).toMatchObject({
      intent: { kind: 'switchover', target: 'east' },
      who: 'ops@here',
      gcn: 1,
      id: expect.stringMatching(/^switchover-/) as string,
    });
  });

  it('says the same as JSON, YAML and TSV', async () => {
    const json = JSON.parse(
      (await fake.run(['switchover', '--to', 'east', ...ONE, '-f', 'json'])).out,
    ) as object;
    expect(json).toMatchObject({
      partitionSets: [{ name: 'items-00', from: 'west', to: 'east', gcn: 2, outcome: 'done', gapMs: 84 }],
    });
    const back = await fake.run(['switchover', '--to', 'west', ...ONE, '-f', 'yaml']);
    expect(parse(back.out)).toMatchObject({ partitionSets: [{ from: 'east', to: 'west', gcn: 3 }] });
    const tsv = await fake.run(['switchover', '--to', 'east', ...ONE, '-f', 'tsv']);
    expect(tsv.out.split('\n')[1]).toBe('items-00\twest\teast\t4\tdone\t84 ms\t');
  });

  it('asks before it moves many, and does nothing without a yes', async () => {
    const args = ['switchover', '--to', 'east', '--all'];
    const no = await fake.run(args, { answer: 'n' });
    expect(no).toMatchObject({ code: 1, err: 'baton: Nothing was done. [NOT_CONFIRMED]\n' });
    expect(no.asked[0]).toContain('moves the writes of 2 partition-sets (2 in west) to east');
    const nobody = await fake.run(args);
    expect(nobody.code).toBe(1);
    expect(nobody.err).toContain('[ANSWER_NEEDED]');
    expect(fake.posts).toEqual([]);
    expect((await fake.run(args, { answer: 'y' })).code).toBe(0);
    expect(fake.posts).toHaveLength(2);
  });

  it('does not ask when it is forced to', async () => {
    const { code, asked } = await fake.run(['switchover', '--to', 'east', '--from', 'west', '--force'], {
      answer: 'n',
    });
    expect([code, asked, fake.posts.length]).toEqual([0, [], 2]);
  });

  it('wants to know which', async () => {
    expect((await fake.run(['switchover', '--to', 'east'])).err).toContain('Choose the partition-sets');
    expect((await fake.run(['switchover', '--to', 'mars', '--all'])).err).toContain(
      'it has west, east, north',
    );
    expect((await fake.run(['switchover', '--to', 'east', '--all', ...ONE])).code).toBe(2);
    expect(fake.posts).toEqual([]);
  });

  it('leaves alone what is there already', async () => {
    const { out, code } = await fake.run(['switchover', '--to', 'west', '--all', '--force']);
    expect([out, code]).toEqual(['2 partition-sets: already there.\n', 0]);
    expect(fake.posts).toEqual([]);
  });

  it('ends with 4 when it takes too long; the wish stays', async () => {
    fake.honours = false;
    const { out, code } = await fake.run(['switchover', '--to', 'east', ...ONE, '--timeout', '5']);
    expect(code).toBe(4);
    expect(out).toMatch(/pending .* not done yet; the intent switchover-\S+ stays open/);
  });

  it('ends with 1 when it was cancelled, or a failover came first', async () => {
    fake.honours = false;
    fake.refuse = ({ body }) => {
      fake.everywhere('items-00', (view) =>
        view.intents.recent.push({ id: body['id'], kind: 'switchover', end: 'cancelled' }),
      );
      return undefined;
    };
    const { out, code } = await fake.run(['switchover', '--to', 'east', ...ONE]);
    expect([code, out.includes('it was cancelled')]).toEqual([1, true]);
    fake.refuse = () => undefined;
    fake.honours = true;
    const { nodes } = fake;
    for (const node of nodes) node.view('items-01').intents.recent.length = 0;
    fake.refuse = () => {
      fake.everywhere('items-01', (view) => Object.assign(view, { gcn: 5, writeRegion: 'north' }));
      fake.honours = false;
      for (const node of nodes) node.view('items-01').intents.open = [];
      queueMicrotask(() => {
        for (const node of nodes) node.view('items-01').intents.open = [];
      });
      return undefined;
    };
    const overtaken = await fake.run(['switchover', '--to', 'east', '--partition-set', 'items-01']);
    expect(overtaken.code).toBe(1);
    expect(overtaken.out).toContain('north has the writes now: a failover came first');
  });

  it('says why it was refused', async () => {
    fake.refuse = () => ({
      code: 'INTENT_REFUSED',
      message: 'There is no write region to switch over from.',
    });
    const { out, code } = await fake.run(['switchover', '--to', 'east', ...ONE]);
    expect(code).toBe(1);
    expect(out).toContain('refused       There is no write region to switch over from. [INTENT_REFUSED]');
  });

  it('finds out what became of a wish that was perhaps heard', async () => {
    for (const node of fake.nodes) node.manner = 'applied and cut';
    const { code, out } = await fake.run(['switchover', '--to', 'east', ...ONE]);
    expect([code, out.includes('done')]).toEqual([0, true]);
  });

  it('ends with 3 when nobody could be told', async () => {
    for (const node of fake.nodes) {
      node.manner = 'well';
      node.server.on('request', () => {});
    }
    fake.refuse = () => undefined;
    for (const node of fake.nodes) await node.stop();
    expect((await fake.run(['switchover', '--to', 'east', ...ONE])).code).toBe(3);
  });

  it('shows what would happen', async () => {
    fake.everywhere('items-00', (view) => (view.leaseSet = ['west', 'north']));
    const { out, err, code } = await fake.run(['switchover', '--to', 'east', '--all', '--dry-run']);
    expect(out).toBe('Switchover to east: would be accepted by 2 partition-sets. Nothing was done.\n');
    expect(err).toContain('east is not in the lease set of 1 partition-set');
    expect(code).toBe(0);
    expect(fake.posts.every(({ body }) => body['dryRun'] === true)).toBe(true);
    expect(fake.node('west').view('items-00').writeRegion).toBe('west');
  });

  it('need not wait', async () => {
    fake.honours = false;
    const { out, code } = await fake.run(['switchover', '--to', 'east', ...ONE, '--no-wait']);
    expect([code, out.includes('accepted')]).toEqual([0, true]);
  });
});

describe('baton failover', () => {
  it('asks first, takes the writes by force, and waits for the election', async () => {
    const { out, asked, code } = await fake.run(['failover', ...ONE], { answer: 'yes' });
    expect(asked[0]).toContain('from their regions by force; the best region is elected.');
    expect(out).toContain('items-00       west  east    2  done     0 ms\n');
    expect(code).toBe(0);
    expect(intents()).toEqual([{ kind: 'failover' }]);
  });

  it('refuses without a terminal, unless it is forced', async () => {
    expect((await fake.run(['failover', ...ONE])).code).toBe(1);
    expect(fake.posts).toEqual([]);
    expect((await fake.run(['failover', ...ONE, '--to', 'north', '--accept-loss', '--force'])).code).toBe(0);
    expect(intents()).toEqual([{ kind: 'failover', target: 'north', acceptLoss: true }]);
  });

  it('warns of what can be lost', async () => {
    fake.everywhere('items-00', (view) => (view.configuration['consistency'] = 'Session'));
    const { asked } = await fake.run(['failover', '--all', '--accept-loss'], { answer: 'n' });
    expect(asked[0]).toContain('In 1 partition-set the consistency level lets acknowledged writes be lost.');
    expect(asked[0]).toContain('YOU ACCEPT THE LOSS');
  });

  it('says how a loss is accepted where the cluster wants that', async () => {
    fake.refuse = () => ({ code: 'INTENT_REFUSED', message: 'Name a member, or accept the loss.' });
    const { err, code } = await fake.run(['failover', ...ONE, '--to', 'north', '--force']);
    expect([code, err]).toEqual([1, 'Use --accept-loss to accept the loss.\n']);
  });

  it('waits until the elected region takes writes', async () => {
    for (const { local } of fake.nodes) local['items-00'] = { canWrite: false };
    expect((await fake.run(['failover', ...ONE, '--force', '--timeout', '1'])).code).toBe(4);
    await fake.node('north').stop();
    expect((await fake.run(['failover', ...ONE, '--to', 'north', '--force', '--timeout', '1'])).code).toBe(0);
  });

  it('ends with 4 when nobody is elected in time', async () => {
    fake.honours = false;
    expect((await fake.run(['failover', ...ONE, '--force', '--timeout', '3'])).code).toBe(4);
  });

  it('shows what would happen', async () => {
    const { out, code } = await fake.run(['failover', '--from', 'west', '--dry-run']);
    expect(out).toContain('Writes move to east in about 3.3 s; nothing acknowledged is lost.');
    expect(out).toContain('Nothing was done.');
    expect(code).toBe(0);
    const json = JSON.parse(
      (await fake.run(['failover', '--from', 'west', '--dry-run', '-f', 'json'])).out,
    ) as object;
    expect(json).toMatchObject({
      dryRun: true,
      partitionSets: [{ ifItsWriterDies: { effect: 'failover' } }, {}],
    });
    fake.refuse = () => ({ code: 'INTENT_REFUSED', message: 'No.' });
    expect((await fake.run(['failover', '--all', '--dry-run'])).code).toBe(1);
    expect(fake.node('west').view('items-00').writeRegion).toBe('west');
  });

  it('knows the regions', async () => {
    expect((await fake.run(['failover', '--from', 'mars', '--force'])).code).toBe(2);
  });
});
