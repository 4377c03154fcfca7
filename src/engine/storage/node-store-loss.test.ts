/** A node that lost something of its journal says so and does not start: it has fewer entries than it answered for. */
import { cpSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { entryOf, put } from '../../../test/conformance/partition-entries.ts';
import { synced } from '../../../test/conformance/partition-store.ts';
import { cuts, flips, type JournalDamage, olderOnes, refills } from '../../../test/support/journal-damage.ts';
import { NodeStore } from './node-store.ts';
import { Tables } from './tables.ts';

const root = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'baton-store-loss-'));
afterAll(() => rmSync(root, { recursive: true }));
let places = 0;

const BLOCK = 4096;
const SIZE = 64 * BLOCK;
const ENTRIES = 40;
const USED = ENTRIES * BLOCK;

async function openAt(directory: string): Promise<NodeStore> {
  const node = await NodeStore.open({ directory, journalBytes: SIZE, commitMs: 60_000 });
  onTestFinished(() => node.close());
  return node;
}

function copyOf(directory: string): string {
  const copy = join(root, String((places += 1)));
  cpSync(directory, copy, { recursive: true, filter: (path) => !path.endsWith('.sock') });
  return copy;
}

/** A node of which the journal alone has forty entries, each with a sync of its own; and as it was after each tenth. */
async function killed(): Promise<{ directory: string; moments: readonly string[] }> {
  const directory = join(root, String((places += 1)));
  const node = await openAt(directory);
  const store = node.partition('p');
  const moments: string[] = [];
  for (let lsn = 1; lsn <= ENTRIES; lsn += 1) {
    if (lsn % 10 === 1) moments.push(copyOf(directory));
    store.append([entryOf(1, lsn, [put('a', lsn, { previous: lsn - 1 })])]);
    await synced(store);
  }
  await node.abandon();
  return { directory, moments };
}

async function expectRefused(directory: string, damages: readonly JournalDamage[]): Promise<void> {
  for (const { name, apply } of damages) {
    const damaged = copyOf(directory);
    apply(damaged);
    for (let start = 0; start < 2; start += 1)
      await expect(NodeStore.open({ directory: damaged, journalBytes: SIZE }), name).rejects.toMatchObject({
        code: 'DAMAGED',
        message: expect.stringContaining('Move the directory away'),
      });
    rmSync(damaged, { recursive: true });
  }
}

describe('a node does not start with a journal that', () => {
  test('was cut, cut and filled up, replaced by an older one, or has a flipped bit in its last record', async () => {
    const { directory, moments } = await killed();
    const last = USED - BLOCK;
    await expectRefused(directory, [
      ...cuts('journal-0', SIZE).filter((_, block) => block % 4 === 0),
      ...cuts('journal-1', SIZE).slice(0, 2),
      ...refills('journal-0', USED),
      ...olderOnes('journal-0', moments),
      ...flips(
        'journal-0',
        [0, 4, 8, 12, 16, 24, 40, 100, BLOCK - 1].map((at) => last + at),
      ),
    ]);
    const { tail } = (await openAt(directory)).partition('p');
    expect(tail).toEqual({ epoch: 1, lsn: ENTRIES });
  });

  test('has no mark any more, or lost the mark together with its records', async () => {
    const { directory } = await killed();
    const gone = (at: string): void => rmSync(join(at, 'journal-mark'));
    await expectRefused(directory, [
      { name: 'gone', apply: gone },
      {
        name: 'both',
        apply: (at) => {
          gone(at);
          writeFileSync(join(at, 'journal-0'), Buffer.alloc(SIZE));
        },
      },
    ]);
  });
});

test('a node of an earlier version, without a mark, starts with all that it has, and has one from then on', async () => {
  const { directory } = await killed();
  rmSync(join(directory, 'journal-mark'));
  const tables = await Tables.open(directory);
  const { identity, sequence } = tables.journaled!;
  await tables.commit([], { identity, sequence });
  await tables.close();
  const node = await openAt(directory);
  const store = node.partition('p');
  expect(store.tail).toEqual({ epoch: 1, lsn: ENTRIES });
  store.append([entryOf(1, ENTRIES + 1, [put('b')])]);
  await synced(store);
  await node.abandon();
  await expectRefused(directory, refills('journal-0', BLOCK));
});
