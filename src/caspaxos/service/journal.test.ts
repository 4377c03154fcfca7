import { readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { temporaryDirectory } from '../../../test/caspaxos/directories.ts';
import { randomFrom } from '../../../test/caspaxos/lines.ts';
import { failNextWrite, failSyncs, readHalves } from '../../../test/support/failing-disk.ts';
import { until } from '../../../test/support/until.ts';
import { Journal, type JournalRecord } from './journal.ts';

const SIZE = 64 * 1024;
const BLOCK = 4096;
const MARK = 'journal-mark';

interface Opened {
  readonly journal: Journal;
  readonly found: readonly string[];
}

async function open(
  directory: string,
  options: { checkpoint?: number; salt?: string; isNew?: boolean; isMarked?: boolean; size?: number } = {},
): Promise<Opened> {
  const found: string[] = [];
  const restore = async (records: readonly JournalRecord[]): Promise<void> => {
    found.push(...records.map(({ sequence, payload }) => `${sequence}: ${payload.toString()}`));
  };
  const { checkpoint = 0, salt = 'me', isNew = false, isMarked = !isNew, size = SIZE } = options;
  const journal = await Journal.open({
    directory,
    salt,
    checkpoint,
    size,
    isNew,
    isMarked,
    restore,
    lost,
  });
  onTestFinished(() => journal.close());
  return { journal, found };
}

class Lost extends Error {}
const lost = (what: string): Error => new Lost(`${what}.`);

async function written(...payloads: string[]): Promise<string> {
  const directory = temporaryDirectory();
  const { journal } = await open(directory, { isNew: true });
  for (const payload of payloads) await journal.append(Buffer.from(payload));
  return directory;
}

/** As {@link written}, by a process that was killed in the middle of the last append: nobody was told of it. */
async function killedWriting(last: string, ...payloads: string[]): Promise<string> {
  const directory = temporaryDirectory();
  const { journal } = await open(directory, { isNew: true });
  for (const payload of payloads) await journal.append(Buffer.from(payload));
  const mark = readFileSync(join(directory, MARK));
  await journal.append(Buffer.from(last));
  writeFileSync(join(directory, MARK), mark);
  return directory;
}

/** Changes one byte of a journal file. */
function damage(directory: string, file: 0 | 1, at: number): void {
  const path = join(directory, `journal-${file}`);
  const content = readFileSync(path);
  content[at] = content[at]! ^ 0xff;
  writeFileSync(path, content);
}

describe('a journal', () => {
  test('gives back what was appended, in order', async () => {
    const directory = await written('one', '', 'three');
    const { journal, found } = await open(directory);
    expect(found).toEqual(['1: one', '2: ', '3: three']);
    expect(journal.sequence).toBe(3);
  });

  test('gives all of it back from a disk that reads half of what it is asked for', async () => {
    const directory = temporaryDirectory();
    const { journal } = await open(directory, { isNew: true });
    const payloads = Array.from({ length: 12 }, (_, at) => String.fromCodePoint(97 + at).repeat(BLOCK));
    for (const payload of payloads) await journal.append(Buffer.from(payload));
    await readHalves();
    const { found } = await open(directory);
    expect(found).toEqual(payloads.map((payload, at) => `${at + 1}: ${payload}`));
  });

  test('answers nothing more while its mark cannot be synced', async () => {
    const { journal } = await open(temporaryDirectory(), { isNew: true });
    const syncs = await failSyncs('the disk says no');
    await journal.append(Buffer.from('one'));
    await until('a sync of the mark', () => syncs.count() > 0);
    await expect(journal.append(Buffer.from('two'))).rejects.toThrow('the disk says no');
    journal.checkpointed(journal.sequence);
    syncs.mend();
    await until('a sync that succeeds', async () => {
      const isTaken = await journal.append(Buffer.from('three')).then(
        () => true,
        () => false,
      );
      journal.checkpointed(journal.sequence);
      return isTaken;
    });
  });

  test('does not give back what the database holds already', async () => {
    const directory = await written('one', 'two', 'three');
    expect((await open(directory, { checkpoint: 2 })).found).toEqual(['3: three']);
    expect((await open(directory, { checkpoint: 3 })).found).toEqual([]);
  });

  test('goes on counting after a restart, and what it writes over is what was restored', async () => {
    const directory = await written('one', 'two', 'three');
    const { journal } = await open(directory);
    await journal.append(Buffer.from('four'));
    expect((await open(directory, { checkpoint: 3 })).found).toEqual(['4: four']);
  });

  test('takes its two files in turns, and waits for the checkpoint of the full one', async () => {
    const directory = temporaryDirectory();
    const { journal } = await open(directory, { isNew: true });
    const payload = Buffer.alloc(BLOCK * 3);
    let appended = 0;
    while (!journal.isFullFor(payload.length)) {
      await journal.append(payload);
      appended += 1;
    }
    // Sixteen blocks a file, four a record.
    expect(appended).toBe(8);
    expect(journal.needsCheckpoint).toBe(true);
    await expect(journal.append(payload)).rejects.toThrow('still waits for its checkpoint');
    journal.checkpointed(3);
    expect(journal.isFullFor(payload.length)).toBe(true);
    journal.checkpointed(4);
    expect(journal.isFullFor(payload.length)).toBe(false);
    await journal.append(payload);
    const sequences = (await open(directory, { checkpoint: 4 })).found.map((line) => line.split(':')[0]);
    expect(sequences).toEqual(['5', '6', '7', '8', '9']);
  });

  test('uses up the number of a record whose append failed, and waits for the checkpoint that covers it', async () => {
    const directory = await written('one');
    const { journal } = await open(directory, { checkpoint: 1 });
    await failNextWrite('the disk says no');
    await expect(journal.append(Buffer.alloc(20_000))).rejects.toThrow('the disk says no');
    expect([journal.sequence, journal.needsCheckpoint, journal.isFullFor(1)]).toEqual([2, true, true]);
    await expect(journal.append(Buffer.from('x'))).rejects.toThrow('still waits for its checkpoint');
    // Before, a restart may find one record or two.
    expect(journal.answered).toBe(1);
    journal.checkpointed(1);
    expect([journal.answered, journal.needsCheckpoint]).toEqual([1, true]);
    journal.checkpointed(2);
    expect(journal.answered).toBe(2);
    await journal.append(Buffer.from('three'));
    expect(journal.answered).toBe(3);
    expect((await open(directory, { checkpoint: 2 })).found).toEqual(['3: three']);
  });

  test('refuses a record larger than a file', async () => {
    const { journal } = await open(temporaryDirectory(), { isNew: true });
    await expect(journal.append(Buffer.alloc(SIZE))).rejects.toThrow('larger than the journal');
    await journal.append(Buffer.alloc(SIZE - 24));
  });

  test('keeps its files at their full size', async () => {
    const directory = await written('one');
    expect(statSync(join(directory, 'journal-0')).size).toBe(SIZE);
    expect(statSync(join(directory, 'journal-1')).size).toBe(SIZE);
  });
});

describe('a journal after a crash', () => {
  test.each([0, 8, 24, 30, BLOCK + 100])(
    'drops a last record that is torn at byte %i: it was never answered',
    async (at) => {
      const directory = await killedWriting('x'.repeat(6000), 'one', 'two');
      damage(directory, 0, 2 * BLOCK + at);
      const { journal, found } = await open(directory);
      expect(found).toEqual(['1: one', '2: two']);
      await journal.append(Buffer.from('again'));
      expect((await open(directory, { checkpoint: 2 })).found).toEqual(['3: again']);
    },
  );

  test.each([0, 1])(
    'does not start when record %i of three is unreadable: it was answered',
    async (record) => {
      // The mark does not know of the third: the record behind it tells.
      const directory = await killedWriting('three', 'one', 'two');
      damage(directory, 0, record * BLOCK + 26);
      await expect(open(directory)).rejects.toBeInstanceOf(Lost);
      // Nor does it touch anything: whoever looks finds what was there.
      await expect(open(directory)).rejects.toBeInstanceOf(Lost);
    },
  );

  test('does not start when records are missing after the checkpoint', async () => {
    const directory = await written('one', 'two', 'three');
    const { journal } = await open(directory, { checkpoint: 3 });
    // Written over the first record, so that 1 is gone; a database that claims only 0 has lost it.
    await journal.append(Buffer.from('four'));
    await expect(open(directory, { checkpoint: 0 })).rejects.toBeInstanceOf(Lost);
  });

  test.each([0, 1] as const)('does not start without file %i', async (file) => {
    const directory = await written('one');
    rmSync(join(directory, `journal-${file}`));
    await expect(open(directory)).rejects.toBeInstanceOf(Lost);
  });

  test.each([0, 2 * BLOCK + 10])(
    'does not start when a file was cut short to %i bytes: what was behind had been answered',
    async (bytes) => {
      const directory = await written('one', 'two', 'three');
      truncateSync(join(directory, 'journal-0'), bytes);
      await expect(open(directory)).rejects.toThrow(/journal-0 was cut short/);
      expect(statSync(join(directory, 'journal-0')).size).toBe(bytes);
    },
  );

  test('does not begin a new life over the records of another', async () => {
    const directory = await written('one');
    await expect(open(directory, { isNew: true, salt: 'another' })).rejects.toThrow(
      /database .* is empty, but its journal is not/,
    );
    expect((await open(directory)).found).toEqual(['1: one']);
  });

  test('begins a new life over files without a record: its first start was cut off', async () => {
    const directory = await written();
    expect((await open(directory, { isNew: true, salt: 'another' })).found).toEqual([]);
  });

  test("does not take another acceptor's records, nor a value that looks like one, for its own", async () => {
    const directory = await written('one', 'two');
    const somebody = { salt: 'somebody else' };
    await expect(open(directory, somebody)).rejects.toThrow(/not the one that belongs to its database/);
    rmSync(join(directory, MARK));
    expect((await open(directory, { ...somebody, isMarked: false })).found).toEqual([]);
    const content = readFileSync(join(directory, 'journal-0'));
    const impostor = temporaryDirectory();
    const { journal } = await open(impostor, { isNew: true, salt: 'other' });
    // A record whose payload is, at the start of a block, another journal's record.
    const payload = Buffer.concat([Buffer.alloc(BLOCK - 24), content.subarray(0, BLOCK)]);
    const mark = readFileSync(join(impostor, MARK));
    await journal.append(payload);
    writeFileSync(join(impostor, MARK), mark);
    damage(impostor, 0, 30);
    expect((await open(impostor, { salt: 'other' })).found).toEqual([]);
  });

  test.each([1, 2, 3])(
    'gives back everything that was appended, whatever the sizes: seed %i',
    async (seed) => {
      const random = randomFrom(seed);
      const directory = temporaryDirectory();
      const { journal } = await open(directory, { isNew: true });
      let checkpoint = 0;
      const all: string[] = [];
      for (let at = 1; at <= 60; at += 1) {
        const payload = Buffer.from(`${at}`.repeat(Math.ceil(random() ** 4 * 4000)));
        if (journal.isFullFor(payload.length)) {
          checkpoint = journal.sequence;
          journal.checkpointed(checkpoint);
        }
        await journal.append(payload);
        all.push(`${at}: ${payload.toString()}`);
      }
      expect((await open(directory, { checkpoint })).found).toEqual(all.slice(checkpoint));
    },
  );
});
