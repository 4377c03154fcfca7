import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { temporaryDirectory } from '../../../test/caspaxos/directories.ts';
import { failSyncs, readHalves } from '../../../test/support/failing-disk.ts';
import { until } from '../../../test/support/until.ts';
import { JournalMark } from './journal-mark.ts';

const marked = (sequence: number) => ({ salt: 7, sequence, size: 4096 });

async function opened(): Promise<{ directory: string; mark: JournalMark }> {
  const directory = temporaryDirectory();
  const mark = await JournalMark.open(directory, marked(1));
  onTestFinished(() => mark.close().catch(() => undefined));
  return { directory, mark };
}

test('a mark is read whole from a disk that gives half of what it is asked for', async () => {
  const { directory, mark } = await opened();
  await readHalves();
  for (const sequence of [2, 3, 4]) {
    mark.write(marked(sequence));
    expect(await JournalMark.read(directory)).toEqual(marked(sequence));
  }
});

test('a mark whose sync failed is written again until it is on the disk, and nothing is marked meanwhile', async () => {
  const { directory, mark } = await opened();
  const path = join(directory, 'journal-mark');
  const onDisk = readFileSync(path);
  const syncs = await failSyncs('the disk says no');
  mark.write(marked(2));
  await until('a sync that fails', () => syncs.count() > 0);
  expect(messageOf(() => mark.write(marked(3)))).toBe('the disk says no');
  // The system has forgotten what it could not write.
  writeFileSync(path, onDisk);
  expect(await JournalMark.read(directory)).toEqual(marked(1));
  syncs.mend();
  await until('a sync that succeeds', () => messageOf(() => mark.write(marked(3))) === undefined);
  const content = readFileSync(path);
  expect(content.includes(bytesOf(2))).toBe(true);
  expect(await JournalMark.read(directory)).toEqual(marked(3));
});

test('a mark that cannot be synced is not opened, and says so when it is closed', async () => {
  const { directory, mark } = await opened();
  const syncs = await failSyncs('the disk says no');
  await expect(JournalMark.open(directory, marked(2))).rejects.toThrow('the disk says no');
  mark.write(marked(2));
  await expect(mark.close()).rejects.toThrow('the disk says no');
  expect(syncs.count()).toBe(2);
});

function messageOf(write: () => void): string | undefined {
  try {
    write();
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

function bytesOf(sequence: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleLE(sequence);
  return bytes;
}
