import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { open } from 'lmdb';
import { afterAll } from 'vitest';
import { partitionStoreConformance } from '../../../test/conformance/partition-store.ts';
import { NodeStore } from './node-store.ts';

/** In memory where that is to be had: thousands of syncs wait for nothing. */
const directory = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'baton-node-store-'));
afterAll(() => rmSync(directory, { recursive: true }));

/** Now all at once, now piece by piece, now hardly ever: a crash finds the indices in every state. */
const FLUSHES = [2, 12, 30];
const PIECES = [1, 3, 9, 1000];
let opens = 0;

/** With small numbers, so that indices are flushed and entries trimmed all the time. */
partitionStoreConformance('lmdb', {
  open: async (place) => {
    opens += 1;
    const node = await NodeStore.open({
      directory: join(directory, place),
      flushChanges: FLUSHES[opens % FLUSHES.length]!,
      flushMs: 1e6,
      journalBytes: 256 * 1024,
      flushPiece: PIECES[opens % PIECES.length]!,
    });
    return {
      partition: (partitionSet) => node.partition(partitionSet),
      crash: () => node.abandon(),
      settled: () => node.settled(),
      close: () => node.close(),
      fail: (error) => {
        node.maxBytes = error === undefined ? Infinity : 1;
      },
    };
  },
  damage: async (place, _partitionSet, lsn) => {
    const root = open<Buffer, Buffer>({ path: join(directory, place), encoding: 'binary', noSubdir: false });
    const entries = root.openDB<Buffer, Buffer>('entries', { encoding: 'binary', keyEncoding: 'binary' });
    const pairs = [...entries.getRange()];
    for (const { key, value } of pairs) {
      if (key.readUInt32BE(8) !== lsn) continue;
      const bytes = Buffer.from(value);
      bytes[bytes.length - 2]! ^= 4;
      await entries.put(key, bytes);
    }
    await root.close();
  },
});
