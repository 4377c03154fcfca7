import { openCluster } from '../../caspaxos/index.ts';
import { describe, expect, onTestFinished, test } from 'vitest';
import { errorOf, increment, memoryUrls, openFor } from '../../../test/caspaxos/clusters.ts';
import { healthy } from '../../../test/failover/reports.ts';
import { temporaryDirectory } from '../../../test/caspaxos/directories.ts';
import { registerOf, StateCodec } from '../../failover/index.ts';
import { baton } from './testing/run.ts';

/** A survivor, and where its registers may go. Two of the three acceptors were services that are gone. */
async function lost(): Promise<{ from: string; to: string[] }> {
  const [from] = memoryUrls(1) as [string];
  const others = [0, 1].map(() => `lmdb:${temporaryDirectory()}`);
  const cluster = await openCluster({ acceptors: [from, ...others] });
  onTestFinished(() => cluster.close());
  await cluster.change('k', increment);
  await cluster.change('l', increment);
  await cluster.delete('l');
  return { from, to: memoryUrls() };
}

describe('baton acceptors recover', () => {
  test('recovers, and says where to go on', async () => {
    const { from, to } = await lost();
    const { out, err, code } = await baton('recover', '--from', from, '--to', ...to, '--changes-may-be-lost');
    expect(err).toContain('1 of 3 acceptors in set 1, about 2 registers');
    expect(err).toContain('Changes that only lost acceptors had accepted are gone');
    expect(out).toContain('2 registers recovered, 1 of them deleted.');
    expect([code, out.includes('Next: name the new acceptors')]).toEqual([0, true]);
    const recovered = await openFor({ acceptors: to });
    expect((await recovered.read('k')).value).toBe(1);
    const again = await baton(
      'recover',
      '--from',
      from,
      '--to',
      ...to,
      '--changes-may-be-lost',
      '-f',
      'json',
    );
    expect(JSON.parse(again.out)).toMatchObject({ from: [from], to, registers: 0, wasCopied: true });
    expect(again.err).toContain('only its end is repeated');
  });

  test('lists the failover states that were recovered, for a comparison of the GCNs', async () => {
    const [from] = memoryUrls(1) as [string];
    const others = [0, 1].map(() => `lmdb:${temporaryDirectory()}`);
    const cluster = await openFor({ acceptors: [from, ...others] });
    const state = healthy();
    for (const name of ['q', 'p'])
      await cluster.change(registerOf(name), () => ({ ...state, gcn: 7, partitionSet: name }), {
        codec: new StateCodec(),
      });
    await cluster.delete(registerOf('q'));
    await cluster.change(registerOf('newer'), () => ({ schema: 'of another version' }));
    const to = memoryUrls();
    const { out, code } = await baton(
      'recover',
      '--from',
      from,
      '--to',
      ...to,
      '--changes-may-be-lost',
      '-f',
      'json',
    );
    const { writer: writeRegion, leaseSet } = state;
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({
      tombstones: 1,
      partitionSets: [
        { partitionSet: 'newer', error: 'STATE_MALFORMED' },
        { partitionSet: 'p', gcn: 7, writeRegion, leaseSet },
      ],
    });
  });

  test('asks before it begins, and does nothing without a yes or when it is dry', async () => {
    const { from, to } = await lost();
    const silent = await baton('recover', '--from', from, '--to', ...to);
    expect([silent.code, silent.out]).toEqual([1, '']);
    expect(silent.err).toMatch(/--changes-may-be-lost confirms it.* \[ANSWER_NEEDED\]\n$/);
    const no = await baton({ answer: 'n' }, 'recover', '--from', from, '--to', ...to);
    expect([no.code, no.err]).toEqual([1, 'baton: Nothing was done. [NOT_CONFIRMED]\n']);
    const dry = await baton('recover', '--from', from, '--to', ...to, '--dry-run', '-f', 'json');
    expect(JSON.parse(dry.out)).toMatchObject({ dryRun: true, state: 'not begun', registers: 2, members: 3 });
    expect(await errorOf(openCluster({ acceptors: [from], timeoutMs: 300 }))).toMatchObject({
      message: 'there was no error',
    });
    const yes = await baton({ answer: 'yes' }, 'recover', '--from', from, '--to', ...to, '-f', 'tsv');
    expect([yes.code, yes.out]).toEqual([0, 'PARTITION-SET\tGCN\tWRITE REGION\tLEASE SET\n']);
  });

  test('ends with 1 when it is refused, with 2 when the command line is wrong, and never shows a password', async () => {
    const { from, to } = await lost();
    const used = (await lost()).from;
    const refused = await baton('recover', '--from', from, '--to', used, '--changes-may-be-lost');
    expect([refused.code, refused.out]).toEqual([1, '']);
    expect(refused.err).toMatch(/^baton: .* \[ACCEPTOR_IN_USE\]\n$/);
    const twice = await baton('recover', '--from', from, '--to', to[0]!, from, '--changes-may-be-lost');
    expect(twice.code).toBe(2);
    const away = await baton('recover', '--from', 'http://:hunter2@127.0.0.1:1', '--to', ...to);
    expect(away.code).toBe(1);
    expect(away.err).toMatch(/\[UNREACHABLE\]\n$/);
    expect(away.err).not.toContain('hunter2');
  });
});
