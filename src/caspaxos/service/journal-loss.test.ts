/** An acceptor that lost something of its journal says so and does not start, whatever was lost, and however the rest looks. */
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { open as openLmdb } from 'lmdb';
import { describe, expect, onTestFinished, test } from 'vitest';
import { errorOf } from '../../../test/caspaxos/clusters.ts';
import { temporaryDirectory } from '../../../test/caspaxos/directories.ts';
import { accept, query, valueIn } from '../../../test/conformance/messages.ts';
import { cuts, flips, type JournalDamage, olderOnes, refills } from '../../../test/support/journal-damage.ts';
import { DiskAcceptor } from './disk-acceptor.ts';

const BLOCK = 4096;
const SIZE = 16 * BLOCK;
const MARK = 'journal-mark';
/** Twelve answers in a file: ten of a block, two of two blocks. */
const VALUES = Array.from({ length: 12 }, (_, at) => `value ${at} `.padEnd(at % 6 === 4 ? 6000 : 10, '.'));
const USED = 14 * BLOCK;
const LAST = USED - BLOCK;

function copyOf(directory: string): string {
  const copy = temporaryDirectory();
  cpSync(directory, copy, { recursive: true, filter: (path) => !path.endsWith('.sock') });
  return copy;
}

async function openFor(directory: string, journalBytes = SIZE): Promise<DiskAcceptor> {
  const acceptor = await DiskAcceptor.open({ directory, journalBytes });
  onTestFinished(() => acceptor.close().catch(() => undefined));
  return acceptor;
}

/** What kill -9 leaves of an acceptor that gave twelve answers; and what it would have left after each of them. */
async function killed(): Promise<{ directory: string; moments: readonly string[] }> {
  const directory = temporaryDirectory();
  const acceptor = await openFor(directory);
  const moments: string[] = [];
  for (const [at, value] of VALUES.entries()) {
    moments.push(copyOf(directory));
    await acceptor.handle([accept(`k${at}`, 1, value)], 0);
  }
  return { directory: copyOf(directory), moments };
}

async function expectAll(directory: string, journalBytes = SIZE): Promise<DiskAcceptor> {
  const acceptor = await openFor(directory, journalBytes);
  const states = await acceptor.handle(
    VALUES.map((_, at) => query(`k${at}`)),
    0,
  );
  expect(states.map((state) => valueIn(state))).toEqual(VALUES);
  return acceptor;
}

/** Whether every one of these is refused, and again at the next start, with nothing changed. */
async function expectRefused(directory: string, damages: readonly JournalDamage[]): Promise<void> {
  for (const { name, apply } of damages) {
    const damaged = copyOf(directory);
    apply(damaged);
    for (let start = 0; start < 2; start += 1)
      expect(
        await errorOf(DiskAcceptor.open({ directory: damaged, journalBytes: SIZE })),
        name,
      ).toMatchObject({
        code: 'DATA_CORRUPT',
      });
  }
}

describe('an acceptor does not start with a journal file that', () => {
  test('was cut short, at whatever block', async () => {
    const { directory } = await killed();
    await expectAll(copyOf(directory));
    await expectRefused(directory, [...cuts('journal-0', SIZE), ...cuts('journal-1', SIZE)]);
  });

  test('was cut and filled up with zeros', async () => {
    const { directory } = await killed();
    await expectRefused(directory, refills('journal-0', USED));
  });

  test('is an older one', async () => {
    const { directory, moments } = await killed();
    await expectRefused(directory, olderOnes('journal-0', moments));
  });

  test('has a flipped bit in the last record, wherever it is', async () => {
    const { directory } = await killed();
    const places = [0, 3, 4, 7, 8, 12, 16, 20, 24, 30, 60, 200, 2000, BLOCK - 1];
    await expectRefused(
      directory,
      flips(
        'journal-0',
        places.map((at) => LAST + at),
      ),
    );
  });
});

describe('the mark of a journal', () => {
  test('that is gone, empty or damaged keeps an acceptor from starting', async () => {
    const { directory } = await killed();
    await expectRefused(directory, [
      { name: 'gone', apply: (at) => rmSync(join(at, MARK)) },
      { name: 'empty', apply: (at) => writeFileSync(join(at, MARK), '') },
      { name: 'full of zeros', apply: (at) => writeFileSync(join(at, MARK), Buffer.alloc(3 * BLOCK)) },
    ]);
  });

  test('that is gone before the first checkpoint is missed all the same, with the records that it stood for', async () => {
    const directory = temporaryDirectory();
    const acceptor = await openFor(directory);
    await acceptor.handle([accept('k', 1, 'v')], 0);
    const copy = copyOf(directory);
    rmSync(join(copy, MARK));
    writeFileSync(join(copy, 'journal-0'), Buffer.alloc(SIZE));
    expect(await errorOf(DiskAcceptor.open({ directory: copy, journalBytes: SIZE }))).toMatchObject({
      code: 'DATA_CORRUPT',
    });
  });

  test('that a power failure left behind hides nothing that the journal has', async () => {
    const { directory, moments } = await killed();
    for (const moment of moments) {
      const copy = copyOf(directory);
      cpSync(join(moment, MARK), join(copy, MARK));
      await expectAll(copy);
    }
  });

  test('of which one slot was torn leaves another', async () => {
    const { directory } = await killed();
    const content = readFileSync(join(directory, MARK));
    for (const slot of [0, 1, 2]) {
      const copy = copyOf(directory);
      writeFileSync(join(copy, MARK), Buffer.from(content).fill(0, slot * BLOCK + 20, slot * BLOCK + 28));
      await expectAll(copy);
    }
  });

  test('is made for an acceptor of an earlier version, which starts with all that it has', async () => {
    const { directory } = await killed();
    rmSync(join(directory, MARK));
    const database = openLmdb<string, string>({ path: directory, encoding: 'string', noSubdir: false });
    await database.remove('checkpoint');
    await database.close();
    const acceptor = await expectAll(directory);
    await acceptor.handle([accept('another', 1, 'v')], 0);
    await expectRefused(copyOf(directory), [
      { name: 'gone', apply: (at) => rmSync(join(at, MARK)) },
      ...refills('journal-0', BLOCK),
    ]);
  });

  test('says how long the files are, so that a longer journal can be asked for', async () => {
    const { directory } = await killed();
    const longer = await expectAll(directory, 2 * SIZE);
    await longer.handle([accept('another', 1, 'v')], 0);
    await expectRefused(copyOf(directory), cuts('journal-1', 2 * SIZE).slice(-4));
  });
});
