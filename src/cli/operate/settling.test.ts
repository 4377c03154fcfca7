import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { parse } from 'yaml';
import { operatorCommands } from './index.ts';
import { processStage, timeOfId } from './stage.ts';
import { FakeCluster, NOW } from './testing/fake-cluster.ts';

let fake: FakeCluster;

beforeEach(async () => {
  fake = await FakeCluster.start();
});

afterEach(() => fake.close());

function intents(): unknown[] {
  return fake.posts.map(({ body }) => body['intent']);
}

describe('baton pause and resume', () => {
  it('act on all partition-sets, or on those that are named', async () => {
    const { out, err, code } = await fake.run(['pause']);
    expect(out).toBe('Pausing automatic failovers: done in 2 partition-sets.\n');
    expect(err).toContain('baton resume');
    expect(code).toBe(0);
    expect((await fake.run(['list'])).out).toContain('automatic failovers PAUSED in 2 partition-sets');
    await fake.run(['resume', '--partition-set', 'items-01']);
    expect(intents()).toEqual([{ kind: 'pause' }, { kind: 'pause' }, { kind: 'resume' }]);
    expect((await fake.run(['list'])).out).toContain('PAUSED in 1 partition-set\n');
  });

  it('say what failed, in every form', async () => {
    fake.refuse = ({ path }) =>
      path.includes('items-01') ? { code: 'INTENT_REFUSED', message: 'No.' } : undefined;
    const { out, code } = await fake.run(['pause']);
    expect(out).toContain('done in 1 partition-set.\n');
    expect(out).toContain('items-01       refused  No. [INTENT_REFUSED]\n');
    expect(code).toBe(1);
    const json = JSON.parse((await fake.run(['pause', '-f', 'json'])).out) as object;
    expect(json).toMatchObject({ partitionSets: [{ outcome: 'accepted' }, { outcome: 'refused' }] });
    expect(parse((await fake.run(['resume', '-f', 'yaml'])).out)).toMatchObject({
      partitionSets: [{ outcome: 'accepted' }, { outcome: 'refused' }],
    });
    expect((await fake.run(['resume', '-f', 'tsv'])).out).toBe(
      'PARTITION-SET\tOUTCOME\tWHY\nitems-00\taccepted\t\nitems-01\trefused\tNo. [INTENT_REFUSED]\n',
    );
  });

  it('can be tried', async () => {
    expect((await fake.run(['pause', '--dry-run'])).out).toContain('Nothing was done.');
    expect(fake.node('west').view('items-00').pausedAutomatic).toBe(false);
  });
});

describe('baton priority', () => {
  it('says what will move, asks, and sends it', async () => {
    fake.everywhere('items-01', (view) => (view.configuration['failback'] = 'off'));
    const { asked, code } = await fake.run(['priority', 'east, west,north'], { answer: 'y' });
    expect(asked[0]).toContain('The writes of 1 partition-set then move to east');
    expect(asked[0]).toContain('1 partition-set stay where they are');
    expect(code).toBe(0);
    expect(intents()[0]).toEqual({ kind: 'priorities', priorities: ['east', 'west', 'north'] });
  });

  it('refuses what is no list of regions, and to act unasked', async () => {
    expect((await fake.run(['priority', 'east,mars'], { answer: 'y' })).code).toBe(2);
    expect((await fake.run(['priority', 'east,east'], { answer: 'y' })).code).toBe(2);
    const short = await fake.run(['priority', 'east,west'], { answer: 'y' });
    expect([short.code, short.err]).toEqual([2, expect.stringContaining('north is missing')]);
    expect((await fake.run(['priority', 'east,west,north'])).code).toBe(1);
    expect(fake.posts).toEqual([]);
    const dry = await fake.run(['priority', 'east,west,north', '--dry-run']);
    expect([dry.code, dry.err.includes('move to east')]).toEqual([0, true]);
    expect(fake.posts.every(({ body }) => body['dryRun'] === true)).toBe(true);
  });
});

describe('baton config set', () => {
  it('sends an intent for each setting', async () => {
    const args = ['config', 'set', 'consistency=Session', 'minimumDurability=2'];
    expect((await fake.run(args)).code).toBe(1);
    const { out, code, asked } = await fake.run([...args, '--partition-set', 'items-00'], { answer: 'y' });
    expect(asked[0]).toContain('This sets consistency=Session minimumDurability=2 in 1 partition-set.');
    expect(out).toBe('Setting consistency=Session minimumDurability=2: done in 1 partition-set.\n');
    expect(code).toBe(0);
    expect(intents()).toEqual([
      { kind: 'consistency', consistency: 'Session' },
      { kind: 'durability', minDurability: 2 },
    ]);
    expect(new Set(fake.posts.map(({ body }) => body['id'])).size).toBe(2);
  });

  it('does not go on in a partition-set that refused', async () => {
    fake.refuse = ({ path, body }) =>
      path.includes('items-01') && (body['intent'] as { kind: string }).kind === 'consistency'
        ? { code: 'INTENT_REFUSED', message: 'No.' }
        : undefined;
    const { out, code } = await fake.run(['config', 'set', 'consistency=Session', 'failback=off', '--force']);
    expect(code).toBe(1);
    expect(out).toContain('done in 1 partition-set.\n');
    expect(fake.posts.filter(({ path }) => path.includes('items-01'))).toHaveLength(1);
  });

  it('takes flags before and after the word set', async () => {
    await fake.run(['config', '--partition-set', 'items-01', 'set', 'failback=off', '--force']);
    expect(fake.posts.map(({ path }) => path)).toEqual(['/v1/partition-sets/items-01/intents']);
  });

  it('refuses what is no setting before it asks anybody', async () => {
    expect((await fake.run(['config', 'set', 'colour=red'], { answer: 'y' })).code).toBe(2);
  });
});

describe('baton lost-writes', () => {
  const LOST = {
    partitionSet: 'items-00',
    epoch: 1,
    lsn: 41,
    writtenAt: '2030-01-01T00:00:00.000Z',
    undoneAt: '2030-01-01T00:00:05.000Z',
    documents: [
      { id: 'a', partitionKey: ['a'], body: { id: 'a', n: 1 } },
      { id: 'b', partitionKey: ['a'] },
    ],
  };

  beforeEach(() => {
    fake.node('west').lost = [{ ...LOST }, { ...LOST, lsn: 40, closed: 'returned' }];
    fake.node('east').lost = [{ ...LOST }];
  });

  it('lists what is open, or all', async () => {
    const { out } = await fake.run(['lost-writes']);
    expect(out).toContain(
      'items-00/1/41  west, east          2  2030-01-01T00:00:00.000Z  2030-01-01T00:00:05.000Z  open',
    );
    expect(out).not.toContain('items-00/1/40');
    const all = JSON.parse((await fake.run(['lost-writes', '--all', '-f', 'json'])).out) as {
      lostWrites: unknown[];
    };
    expect(all.lostWrites).toHaveLength(2);
    expect(all.lostWrites[0]).toMatchObject({ id: 'items-00/1/40', state: 'returned' });
    expect(parse((await fake.run(['lost-writes', '--all', '-f', 'yaml'])).out)).toEqual(all);
    expect((await fake.run(['lost-writes', '-f', 'tsv'])).out.split('\n')).toHaveLength(3);
    expect((await fake.run(['lost-writes', '--partition-set', 'items-01'])).out).toBe(
      'There are no open lost writes.\n',
    );
  });

  it('goes through as many pages as it takes, or as many as are wanted', async () => {
    const many = Array.from({ length: 25 }, (_, at) => ({ ...LOST, lsn: at + 1 }));
    fake.node('west').lost = [...many.slice(0, 20), { ...LOST, partitionSet: 'items-01', lsn: 7 }];
    fake.node('east').lost = many.slice(10);
    for (const node of fake.nodes) node.pageSize = 4;
    const listed = async (...args: string[]): Promise<{ ids: string[]; hasMore: boolean }> => {
      const { out } = await fake.run(['lost-writes', '-f', 'json', ...args]);
      const { lostWrites, hasMore } = JSON.parse(out) as { lostWrites: { id: string }[]; hasMore: boolean };
      return { ids: lostWrites.map(({ id }) => id), hasMore };
    };
    const ids = (count: number): string[] => Array.from({ length: count }, (_, at) => `items-00/1/${at + 1}`);
    expect(await listed()).toEqual({ ids: [...ids(25), 'items-01/1/7'], hasMore: false });
    expect(await listed('--limit', '12')).toEqual({ ids: ids(12), hasMore: true });
    expect(await listed('--partition-set', 'items-01')).toEqual({ ids: ['items-01/1/7'], hasMore: false });
    expect((await fake.run(['lost-writes', '--limit', '5'])).out).toContain(
      '\nThere are more; --limit 10 shows more, `baton lost-writes export` writes all of them to a file.\n',
    );
    expect((await fake.run(['lost-writes', '--limit', 'x'])).code).toBe(2);
    const args = ['lost-writes', 'export', '--out', 'all.jsonl'];
    expect((await fake.run(args)).out).toContain('Wrote 26 lost writes');
    const dismissed = await fake.run(['lost-writes', 'dismiss', '--all', '--dry-run', '-f', 'tsv']);
    expect(dismissed.out.match(/would be dismissed/g)).toHaveLength(26);
    fake.gets.length = 0;
    expect((await fake.run(['lost-writes', 'show', 'items-00/1/18'])).out).toContain('in west, east\n');
    const asked = fake.gets.filter(({ path }) => path.startsWith('/v1/lost-writes'));
    expect(asked).toHaveLength(3);
  });

  it('says whose lost writes are missing from the list', async () => {
    await fake.node('east').stop();
    expect((await fake.run(['lost-writes'])).err).toBe(
      'east-1 does not answer (connection refused): what it keeps is missing here.\n',
    );
  });

  it('shows one', async () => {
    const { out } = await fake.run(['lost-writes', 'show', 'items-00/1/41']);
    expect(out).toContain('["a"]          a   {"id":"a","n":1}\n["a"]          b   (deleted)\n');
    for (const id of ['items-00/9/9', 'items-00/1/0', 'other/1/41', '41'])
      expect(await fake.run(['lost-writes', 'show', id])).toMatchObject({ code: 1 });
  });

  it('exports them as lines of JSON, and overwrites nothing', async () => {
    const args = ['lost-writes', 'export', '--out', 'lost.jsonl', '--all'];
    expect((await fake.run(args)).out).toContain('Wrote 2 lost writes to ');
    const lines = readFileSync(join(fake.directory, 'lost.jsonl'), 'utf8').trimEnd().split('\n');
    expect(lines.map((line) => (JSON.parse(line) as { id: string }).id)).toEqual([
      'items-00/1/40',
      'items-00/1/41',
    ]);
    expect(await fake.run(args)).toMatchObject({ code: 2 });
  });

  it('reapplies at one node that keeps it, dismisses at all of them', async () => {
    const reapplied = await fake.run(['lost-writes', 'reapply', 'items-00/1/41', '--overwrite'], {
      answer: 'y',
    });
    expect(reapplied.asked[0]).toContain(
      'writes 1 lost write again, also over documents that have changed since',
    );
    expect(reapplied.out).toContain('items-00/1/41  reapplied');
    expect(fake.posts.map(({ node, path, body }) => [node, path, body])).toEqual([
      ['west-1', '/v1/lost-writes/reapply', { partitionSet: 'items-00', epoch: 1, lsn: 41, force: true }],
    ]);
    fake.node('west').lost = [{ ...LOST }];
    fake.node('east').lost = [{ ...LOST }];
    expect((await fake.run(['lost-writes', 'dismiss', '--all', '--force'])).code).toBe(0);
    expect(fake.posts.slice(1).map(({ node, path }) => [node, path])).toEqual([
      ['west-1', '/v1/lost-writes/dismiss'],
      ['east-1', '/v1/lost-writes/dismiss'],
    ]);
  });

  it('refuses to act unasked, and can be tried', async () => {
    expect((await fake.run(['lost-writes', 'dismiss', '--all'])).code).toBe(1);
    expect((await fake.run(['lost-writes', 'dismiss'])).code).toBe(2);
    expect((await fake.run(['lost-writes', 'dismiss', '--all', '--dry-run'])).out).toContain(
      'would be dismissed',
    );
    expect((await fake.run(['lost-writes', 'reapply', 'items-00/1/40', '--force'])).out).toContain(
      'already returned',
    );
    expect(fake.posts).toEqual([]);
  });

  it('says why a node refused', async () => {
    fake.refuse = () => ({ code: 'LOST_WRITE_NOT_APPLIED', message: 'The document was changed since.' });
    const { out, code } = await fake.run(['lost-writes', 'reapply', '--all', '--force']);
    expect([code, out.includes('[LOST_WRITE_NOT_APPLIED]')]).toEqual([1, true]);
  });
});

describe('baton unpin', () => {
  it('says what will move, asks, and sends it to those that are pinned', async () => {
    fake.everywhere('items-01', (view) => Object.assign(view, { writeRegion: 'east', pin: 'east' }));
    const { asked, out, code } = await fake.run(['unpin'], { answer: 'y' });
    expect(asked[0]).toContain(
      'This unpins 1 partition-set (1 in east).\nThe writes of 1 partition-set then return',
    );
    expect([out, code]).toEqual(['Unpinning: done in 1 partition-set.\n', 0]);
    expect(fake.posts.map(({ path, body }) => [path, body['intent']])).toEqual([
      ['/v1/partition-sets/items-01/intents', { kind: 'unpin' }],
    ]);
    expect(await fake.run(['unpin'])).toMatchObject({ code: 0, out: 'Nothing is pinned.\n' });
  });

  it('knows what stays, does nothing unasked, and can be tried', async () => {
    fake.everywhere('items-01', (view) => {
      Object.assign(view, { writeRegion: 'east', pin: 'east' });
      view.configuration['failback'] = 'off';
    });
    expect(await fake.run(['unpin'])).toMatchObject({ code: 1 });
    const { err, out } = await fake.run(['unpin', '--dry-run']);
    expect(err).toContain('The writes of 0 partition-sets then return');
    expect(out).toContain('would be accepted by 1 partition-set. Nothing was done.');
    expect(fake.node('west').view('items-01').pin).toBe('east');
  });
});

describe('baton intents', () => {
  const id = `switchover-${NOW.toString(36)}-00000000000a`;

  it('has those that are open and the last that were closed', async () => {
    for (const name of ['items-00', 'items-01'])
      fake.everywhere(name, (view) => {
        view.intents.open = [{ id, kind: 'switchover', who: 'ops', target: 'east' }];
        view.intents.recent = [{ id: 'by-hand', kind: 'pause', end: 'honoured' }];
      });
    const { out, code } = await fake.run(['intents']);
    expect(out.trimEnd().split('\n').slice(1)).toEqual([
      `${' '.repeat(26)}pause                 honoured  2 partition-sets: items-00, items-01  by-hand`,
      `2030-01-02T03:04:05.000Z  switchover east  ops  open      2 partition-sets: items-00, items-01  ${id}`,
    ]);
    expect(code).toBe(0);
    expect((await fake.run(['intents', '-f', 'tsv'])).out.split('\n')).toHaveLength(6);
    const json = JSON.parse((await fake.run(['intents', '--open', '-f', 'json'])).out) as object;
    const open = { id, kind: 'switchover', state: 'open', target: 'east', who: 'ops' };
    expect(json).toEqual({
      intents: ['items-00', 'items-01'].map((partitionSet) => ({
        partitionSet,
        ...open,
        madeAt: '2030-01-02T03:04:05.000Z',
      })),
    });
  });

  it('may be empty', async () => {
    expect((await fake.run(['intents'])).out).toBe('There are no open or recent intents.\n');
    expect((await fake.run(['intents', '--open'])).out).toBe('There are no open intents.\n');
  });

  it('are withdrawn where they are open', async () => {
    fake.everywhere('items-01', (view) => (view.intents.open = [{ id, kind: 'switchover', who: 'ops' }]));
    const { out, code } = await fake.run(['intents', 'withdraw', id]);
    expect([out, code]).toEqual([`Withdrawing ${id}: done in 1 partition-set.\n`, 0]);
    expect(fake.posts.map(({ path, body }) => [path, body['intent']])).toEqual([
      ['/v1/partition-sets/items-01/intents', { kind: 'withdraw', intent: id }],
    ]);
    expect(await fake.run(['intents', 'withdraw', id])).toMatchObject({
      code: 1,
      err: `baton: There is no open intent ${id}. [REFUSED]\n`,
    });
  });
});

describe('every command', () => {
  it('has help with an example, and says what it is', () => {
    for (const command of operatorCommands(processStage())) {
      for (const one of [command, ...command.commands]) {
        let help = '';
        one.configureOutput({ writeOut: (text) => (help += text) });
        one.outputHelp();
        expect(help, one.name()).toMatch(/\nExamples?:\n {2}baton /);
        expect(help).toContain('--format');
        expect(one.description()).toMatch(/\.$/);
      }
    }
  });

  it('ends with 2 when the command line is wrong', async () => {
    const exit = vi.spyOn(process, 'exit').mockImplementation((code) => {
      throw new Error(`exit ${code}`);
    });
    const stderr = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    try {
      await expect(fake.run(['list', '--colour'])).rejects.toThrow('exit 2');
      await expect(fake.run(['switchover'])).rejects.toThrow('exit 2');
      await expect(fake.run(['config', 'get'])).rejects.toThrow('exit 2');
    } finally {
      exit.mockRestore();
      stderr.mockRestore();
    }
  });
});

it('the id of a wish tells when it was made', () => {
  const before = Date.now();
  const id = processStage().newId();
  expect(timeOfId(`switchover-${id}`)).toBeGreaterThanOrEqual(before);
  expect(timeOfId(`switchover-${id}`)).toBeLessThanOrEqual(Date.now());
  expect(timeOfId(`pause-${NOW.toString(36)}-00000000000a`)).toBe(NOW);
  expect(timeOfId('by-hand')).toBeUndefined();
});
