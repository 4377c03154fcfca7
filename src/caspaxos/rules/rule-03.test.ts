import { describe, expect, test, vi } from 'vitest';
import {
  handling,
  increment,
  memoryUrls,
  openAround,
  openFor,
  storeOf,
} from '../../../test/caspaxos/clusters.ts';
import { temporaryDirectory } from '../../../test/caspaxos/directories.ts';
import { accept, promise, query, typesOf, valueIn } from '../../../test/conformance/messages.ts';
import { until } from '../../../test/support/until.ts';
import { DiskAcceptor } from '../service/disk-acceptor.ts';
import { Journal } from '../service/journal.ts';
import { RecordTable } from '../service/record-table.ts';
import { delaying, writes } from '../stores/faults.ts';
import { StoreAcceptor } from '../stores/store-acceptor.ts';

const JOURNAL_BYTES = 256 * 1024;

/** Whether the promise has settled after everything that was ready has run. */
async function isSettled(work: Promise<unknown>): Promise<boolean> {
  let settled = false;
  work.then(
    () => (settled = true),
    () => (settled = true),
  );
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  return settled;
}

describe('rule 3: persist before answering', () => {
  test('a disk that has not written answers nothing; once it has, it does', async () => {
    const disk = await DiskAcceptor.open({ directory: temporaryDirectory(), journalBytes: JOURNAL_BYTES });
    let write = (): void => {};
    const append = vi.spyOn(Journal.prototype, 'append').mockImplementationOnce(async function (
      this: Journal,
      payload,
    ) {
      await new Promise<void>((resolve) => {
        write = resolve;
      });
      return this.append(payload);
    });
    const work = disk.handle([accept('k', 1, 'v')], 0);
    expect(await isSettled(work)).toBe(false);
    write();
    expect(typesOf(await work)).toEqual(['2b']);
    append.mockRestore();
    await disk.close();
  });

  test('a disk whose write fails answers nothing, then or later, and forgets nothing it had answered', async () => {
    const directory = temporaryDirectory();
    const disk = await DiskAcceptor.open({ directory, journalBytes: JOURNAL_BYTES });
    await disk.handle([promise('k', 1), accept('k', 1, 'answered')], 0);
    const append = vi.spyOn(Journal.prototype, 'append').mockRejectedValueOnce(new Error('EIO'));
    const failed = { code: 'STORE_FAILED' };
    await expect(disk.handle([promise('k', 2), accept('k', 2, 'not answered')], 0)).rejects.toMatchObject(
      failed,
    );
    append.mockRestore();
    await expect(disk.handle([query('k')], 0)).rejects.toMatchObject(failed);
    await expect(disk.describe()).rejects.toMatchObject(failed);
    await expect(disk.list('', 1)).rejects.toMatchObject(failed);
    expect(disk.isBroken).toBe(true);
    await disk.close();
    const again = await DiskAcceptor.open({ directory, journalBytes: JOURNAL_BYTES });
    expect(valueIn((await again.handle([query('k')], 0))[0])).toBe('answered');
    await again.close();
  });

  test('a database whose checkpoint fails answers nothing more', async () => {
    const directory = temporaryDirectory();
    const disk = await DiskAcceptor.open({ directory, journalBytes: JOURNAL_BYTES });
    await disk.handle([accept('k', 1, 'answered')], 0);
    const save = vi.spyOn(RecordTable.prototype, 'save').mockRejectedValueOnce(new Error('ENOSPC'));
    await expect(disk.list('', 1)).rejects.toMatchObject({ code: 'STORE_FAILED' });
    save.mockRestore();
    await expect(disk.handle([query('k')], 0)).rejects.toMatchObject({ code: 'STORE_FAILED' });
    await disk.close();
    const again = await DiskAcceptor.open({ directory, journalBytes: JOURNAL_BYTES });
    expect(valueIn((await again.handle([query('k')], 0))[0])).toBe('answered');
    await again.close();
  });

  test('a store that has not written answers nothing; once it has, it does', async () => {
    const [url] = memoryUrls(1);
    let write = (): void => {};
    let isArmed = false;
    const acceptor = new StoreAcceptor(
      delaying(storeOf(url!), (call, at) => {
        if (!isArmed || at === 'before' || !writes(call)) return undefined;
        return new Promise((resolve) => {
          write = resolve;
        });
      }),
    );
    await acceptor.describe();
    isArmed = true;
    const work = acceptor.handle([accept('k', 1, 'v')], 0);
    expect(await isSettled(work)).toBe(false);
    write();
    expect(typesOf(await work)).toEqual(['2b']);
  });
});

describe('rule 3: the same ballot again', () => {
  test('with the same value is acknowledged, and written once', async () => {
    const disk = await DiskAcceptor.open({ directory: temporaryDirectory(), journalBytes: JOURNAL_BYTES });
    expect(typesOf(await disk.handle([accept('k', 1, 'v')], 0))).toEqual(['2b']);
    const { sequence } = disk;
    expect(typesOf(await disk.handle([accept('k', 1, 'v')], 0))).toEqual(['2b']);
    expect(disk.sequence).toBe(sequence);
    await disk.close();
  });

  test('with another value is refused, and leaves what was accepted', async () => {
    const disk = await DiskAcceptor.open({ directory: temporaryDirectory(), journalBytes: JOURNAL_BYTES });
    await disk.handle([accept('k', 1, 'v')], 0);
    expect(typesOf(await disk.handle([accept('k', 1, 'other')], 0))).toEqual(['alarm']);
    expect(valueIn((await disk.handle([query('k')], 0))[0])).toBe('v');
    await disk.close();
  });

  test('with another value raises an alarm that operators see and count', async () => {
    const urls = memoryUrls();
    let isBroken = false;
    const cluster = await openAround(urls, (acceptor) =>
      handling(acceptor, async (requests, index) => {
        const replies = await acceptor.handle(requests, index);
        if (!isBroken) return replies;
        return replies.map((reply) =>
          reply.type === '2b' ? { type: 'alarm' as const, acceptor: index, ballot: reply.ballot } : reply,
        );
      }),
    );
    const alarms: string[] = [];
    cluster.on('alarm', (error) => alarms.push(error.code));
    await cluster.change('k', increment);
    isBroken = true;
    const abort = new AbortController();
    const work = cluster.change('k', increment, { signal: abort.signal });
    await until('there are alarms', () => cluster.counters.alarms >= 3);
    abort.abort();
    expect((await work).outcome).toBe('unknown');
    expect(alarms).toHaveLength(cluster.counters.alarms);
    expect(new Set(alarms)).toEqual(new Set(['BALLOT_REUSED']));
  });

  test('never happens by itself: no alarm under contention', async () => {
    const acceptors = memoryUrls();
    const clusters = await Promise.all([0, 1, 2].map(() => openFor({ acceptors })));
    await Promise.all(
      clusters.flatMap((cluster) => Array.from({ length: 10 }, () => cluster.change('k', increment))),
    );
    expect((await clusters[0]!.read('k')).value).toBe(30);
    for (const { counters } of clusters) expect(counters.alarms).toBe(0);
  });
});
