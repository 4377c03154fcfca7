import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { BATON, type Child, Nursery } from '../../../test/process/support/nursery.ts';
import { until } from '../../../test/support/until.ts';
import { freePort } from '../../server/index.ts';

const REGIONS = ['west', 'east', 'north'];
/** No node is taken for gone because the machine is slow. */
const PATIENT = ['--node-timeout', '60000'];

let nursery: Nursery;
let file: string;
const nodes = new Map<string, Child>();

beforeAll(async () => {
  nursery = new Nursery();
  file = join(nursery.directory, 'baton.yaml');
  const lines: string[] = [];
  for (const region of REGIONS) {
    const [listen, http] = [await freePort(), await freePort()];
    lines.push(
      `  - { name: ${region}, nodes: [{ name: ${region}-1, listen: '127.0.0.1:${listen}', http: '127.0.0.1:${http}', data: ./${region}-1 }] }`,
    );
  }
  lines.push('acceptors:');
  for (const name of ['a1', 'a2', 'a3'])
    lines.push(`  - { name: ${name}, url: 'http://127.0.0.1:${await freePort()}', data: ./${name} }`);
  // Elections end when all have reported; if one is slow they wait for it, so that the target of a forced one is elected.
  const text = `cluster: proof\nprofile: { intervalMs: 1000, leaseMs: 6000, settleMs: 4000 }\nregions:\n${lines.join('\n')}\ncontainers: [{ name: items, partitionSets: 4 }]\n`;
  writeFileSync(file, text);
  for (const name of ['a1', 'a2', 'a3'])
    quiet(nursery.spawn(BATON, ['acceptor', '--config', file, '--name', name]));
  for (const region of REGIONS) startNode(region);
});

afterEach(async ({ task }) => {
  if (task.result?.state === 'fail') await putRight();
});

afterAll(() => nursery.close());

function startNode(region: string): void {
  nodes.set(region, quiet(nursery.spawn(BATON, ['node', '--config', file, '--name', `${region}-1`])));
}

async function kill(region: string): Promise<void> {
  const node = nodes.get(region);
  nodes.delete(region);
  if (node === undefined) return;
  const exited = once(node, 'exit');
  node.kill('SIGKILL');
  await exited;
}

/** What a step that failed may have left: nodes that are gone, a pause. */
async function putRight(): Promise<void> {
  for (const region of REGIONS) if (!nodes.has(region)) startNode(region);
  await listed(() => true);
  await baton('resume');
  await listed(({ summary }) => summary.notWell === 0);
}

function quiet(child: Child): Child {
  child.stdout.resume();
  child.stderr.resume();
  return child;
}

interface Ended {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

async function baton(...args: string[]): Promise<Ended> {
  const child = nursery.spawn(BATON, [...args, ...PATIENT], { BATON_CLUSTER: file });
  const [out, err]: [Buffer[], Buffer[]] = [[], []];
  child.stdout.on('data', (bytes: Buffer) => out.push(bytes));
  child.stderr.on('data', (bytes: Buffer) => err.push(bytes));
  const [code] = (await once(child, 'close')) as [number];
  return { code, out: Buffer.concat(out).toString(), err: Buffer.concat(err).toString() };
}

interface Listed {
  readonly summary: { readonly notWell: number };
  readonly partitionSets: readonly {
    readonly name: string;
    readonly writeRegion: string | null;
    readonly paused: boolean;
    readonly problems: readonly { readonly severity: string; readonly sentence: string }[];
  }[];
}

async function listed(isSo: (list: Listed) => boolean): Promise<Listed> {
  return until('the list is as it should be', async () => {
    const { out } = await baton('list', '-f', 'json');
    const list = JSON.parse(out) as Listed;
    if (!isSo(list)) throw new Error(out);
    return list;
  });
}

async function ends(code: number, ...args: string[]): Promise<Ended> {
  const ended = await baton(...args);
  expect(ended.code, `baton ${args.join(' ')}: ${ended.out}${ended.err}`).toBe(code);
  return ended;
}

function writersIn({ partitionSets }: Listed): (string | null)[] {
  return partitionSets.map(({ writeRegion }) => writeRegion);
}

/** One story: every step stands on the ones before. */
describe('three real nodes', () => {
  it('are listed, well, with the preferred region as writer', async () => {
    const list = await listed(
      ({ summary, partitionSets }) =>
        summary.notWell === 0 && partitionSets.every(({ writeRegion }) => writeRegion === 'west'),
    );
    expect(list.partitionSets.map(({ name }) => name)).toEqual([
      'items-00',
      'items-01',
      'items-02',
      'items-03',
    ]);
    expect((await baton('topology')).out).toContain('ReadOnlyReplicationAllowed');
    await until('nothing is wrong', async () => (await baton('doctor')).out.includes('nothing is wrong'));
    expect((await baton('doctor', '--if-dies', 'west')).out).toContain('failover in 4 partition-sets');
  });

  it('do not move back by themselves when they are told not to', async () => {
    await ends(1, 'config', 'set', 'failback=off');
    const { out } = await ends(0, 'config', 'set', 'failback=off', '--force');
    expect(out).toBe('Setting failback=off: done in 4 partition-sets.\n');
    expect((await baton('config')).out).toMatch(/failback +off/);
  });

  it('switch over without loss, and the history says so', async () => {
    expect((await baton('switchover', '--to', 'east', '--all')).err).toContain('[ANSWER_NEEDED]');
    const dry = await ends(0, 'switchover', '--to', 'east', '--all', '--dry-run');
    expect(dry.out).toBe('Switchover to east: would be accepted by 4 partition-sets. Nothing was done.\n');
    const { out } = await ends(0, 'switchover', '--to', 'east', '--partition-set', 'items-00', '-f', 'json');
    const moved = JSON.parse(out) as { partitionSets: { outcome: string; to: string; gapMs: number }[] };
    expect(moved.partitionSets, out).toMatchObject([{ outcome: 'done', to: 'east' }]);
    expect(moved.partitionSets[0]!.gapMs).toBeGreaterThanOrEqual(0);
    const history = await baton('history', '--partition-set', 'items-00');
    expect(history.out).toContain('an operator requested it.');
    expect(history.out).toContain('A planned move of the writes to east started (GCN ');
    expect(history.out).toContain('The writes moved to east without loss (GCN ');
  });

  it('pause and resume', async () => {
    await ends(0, 'pause');
    await listed(({ partitionSets }) => partitionSets.every(({ paused }) => paused));
    const doctor = await ends(1, 'doctor');
    expect(doctor.out).toContain('Automatic failovers are paused in 4 partition-sets');
    await ends(0, 'resume');
    await listed(({ partitionSets }) => partitionSets.every(({ paused }) => !paused));
  });

  it('fail over by force', async () => {
    const dry = await ends(0, 'failover', '--partition-set', 'items-01', '--to', 'north', '--dry-run');
    expect(dry.out).toContain('would be accepted');
    const { out } = await ends(0, 'failover', '--partition-set', 'items-01', '--to', 'north', '--force');
    expect(out).toMatch(/items-01 +\w+ +north +\d+ +done/);
    expect((await baton('history', '--partition-set', 'items-01')).out).toContain('an operator forced it');
    await ends(2, 'failover', '--partition-set', 'items-01', '--to', 'mars', '--force');
  });

  it('take other priorities', async () => {
    await ends(0, 'priority', 'east,north,west', '--force');
    expect((await baton('config', '-f', 'tsv')).out).toContain('items-00\tpriorities\teast,north,west\n');
  });

  it('lose a region: the others take over, and doctor says what is wrong', async () => {
    const { partitionSets: before } = await listed(
      (list) => list.summary.notWell === 0 && writersIn(list).includes('west'),
    );
    const lost = before.find(({ writeRegion }) => writeRegion === 'west')!.name;
    await kill('west');
    // Down everywhere: where it is still taken for live, the death of another would be no outage.
    await listed(({ partitionSets }) =>
      partitionSets.every(
        ({ writeRegion, problems }) =>
          writeRegion !== 'west' &&
          problems.every(({ severity }) => severity === 'warning') &&
          problems.some(({ sentence }) => sentence === 'west is down.'),
      ),
    );
    expect((await baton('list')).out).toContain('west-1 (west) does not answer');
    const { out } = await ends(1, 'doctor');
    expect(out).toContain('The node west-1 of west does not answer');
    expect((await baton('history', '--partition-set', lost)).out).toMatch(
      /west is no longer the write region .*: its lease expired without a renewal\./,
    );
    expect((await baton('lost-writes')).out).toBe('There are no open lost writes.\n');
    const prediction = await ends(1, 'doctor', '--if-dies', 'east');
    expect(prediction.out).toContain('outage in 4 partition-sets');
  });

  it('are all dead: that is another exit code', async () => {
    for (const region of REGIONS) await kill(region);
    await ends(3, 'list');
    await ends(3, 'switchover', '--to', 'east', '--partition-set', 'items-00');
  });
});
