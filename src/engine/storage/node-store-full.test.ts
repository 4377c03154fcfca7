/** A node on a file system that is really full: it says so, keeps what it has, and goes on by itself when there is room. */
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { bodyText, entryOf, put } from '../../../test/conformance/partition-entries.ts';
import { ALL, synced } from '../../../test/conformance/partition-store.ts';
import { SmallDisk } from '../../../test/support/small-disk.ts';
import { until } from '../../../test/support/until.ts';
import { NodeStore } from './node-store.ts';

test('a full disk stops writes with a code; what was undone meanwhile stays undone, and all goes on when there is room', async (context) => {
  const disk = SmallDisk.mount(context, 24);
  const directory = join(disk.path, 'node');
  const open = async (): Promise<NodeStore> => {
    const node = await NodeStore.open({ directory, journalBytes: 256 * 1024, commitMs: 1, flushMs: 1 });
    onTestFinished(() => node.close());
    return node;
  };
  let node = await open();
  let { tail } = node.partition('p');
  for (let round = 1; round <= 3; round += 1) {
    const store = node.partition('p');
    const start = tail.lsn;
    let error: unknown;
    for (let lsn = start + 1; error === undefined; lsn += 1) {
      if (lsn === start + 10) disk.fill(300_000);
      store.append([entryOf(round, lsn, [put(`d${lsn % 7}`, lsn, { previous: Math.max(0, lsn - 7) })])]);
      tail = { epoch: round, lsn };
      error = await synced(store).catch((failure: unknown) => failure);
    }
    expect(error).toMatchObject({ code: 'DISK_FULL' });
    expect(store.tail).toEqual(tail);
    // The last ones turn out never to have been, under the next epoch.
    store.truncate(tail.lsn - 5, 0);
    await expect(synced(store)).rejects.toMatchObject({ code: 'DISK_FULL' });
    disk.free();
    await until('there is room', () => synced(store).then(() => true));
    tail = { epoch: round, lsn: tail.lsn - 5 };
    const bodies = store.scan(ALL).map((version) => bodyText(version));
    await node.abandon();
    node = await open();
    const again = node.partition('p');
    expect(again.tail).toEqual(tail);
    expect(again.scan(ALL).map((version) => bodyText(version))).toEqual(bodies);
  }
});
