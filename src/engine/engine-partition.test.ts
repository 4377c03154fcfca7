/** Whether a disk is the one that this region reported from last. */
import { describe, expect, test } from 'vitest';
import { NODE_HOST } from '../caspaxos/index.ts';
import { EnginePartition } from './engine-partition.ts';
import { type Entry, epochOf, LIMITS, type PartitionStore } from './core/index.ts';
import { nodeJson } from './json-codec.ts';
import { MemoryNodeStore } from './storage/memory-store.ts';

const GCN = 2;

function entry(lsn: number, primary = 3): Entry {
  return { epoch: epochOf(GCN, primary), lsn, at: 0, statuses: [], changes: [] };
}

/** The third process of this copy wrote five entries. */
function scene(): { partition: EnginePartition; store: PartitionStore } {
  const disk = new MemoryNodeStore({ host: NODE_HOST });
  const store = disk.partition('p');
  store.note({ incarnation: 3, table: [{ epoch: epochOf(GCN, 3), lsn: 1 }] });
  store.append([1, 2, 3, 4, 5].map((lsn) => entry(lsn)));
  const options = {
    partitionSet: 'p',
    region: 'a',
    regions: ['a', 'b'],
    consistency: { level: 'Strong' as const },
    settings: { partitionKeyPaths: ['/id'] },
    limits: LIMITS,
    json: nodeJson,
    maxWaiting: 10,
  };
  return { partition: new EnginePartition(options, store, {} as never), store };
}

function said(lsn: number, primary = 3) {
  return { incarnation: 3, progress: { epoch: GCN, primary, lsn } };
}

describe('a disk', () => {
  test('that has what was reported is believed', async () => {
    const { partition, store } = scene();
    expect(await partition.isOutlived(said(5))).toBe(false);
    expect(await partition.isOutlived(said(2))).toBe(false);
    expect(await partition.isOutlived({ incarnation: 3 })).toBe(false);
    expect(store.notes.building).toBe(false);
  });

  test('that is older than the process that reported is not', async () => {
    const { partition, store } = scene();
    expect(await partition.isOutlived({ incarnation: 4 })).toBe(true);
    expect(store.notes).toMatchObject({ incarnation: 4, building: true });
  });

  test('that was rolled back within the life of that process is not: entries which were reported are missing', async () => {
    const { partition, store } = scene();
    expect(await partition.isOutlived(said(6))).toBe(true);
    expect(store.notes).toMatchObject({ incarnation: 3, building: true });
  });

  test('that was rolled back to behind its last report is not: others reported more to be committed on it', async () => {
    const { partition, store } = scene();
    expect(await partition.isOutlived({ ...said(4), committed: 5 })).toBe(false);
    expect(await partition.isOutlived({ ...said(4), committed: 6 })).toBe(true);
    expect(store.notes).toMatchObject({ incarnation: 3, building: true });
  });

  test('with another entry under that LSN is not', async () => {
    const { partition } = scene();
    expect(await partition.isOutlived(said(5, 2))).toBe(true);
  });

  test('on which what was reported has been undone is believed', async () => {
    const { partition, store } = scene();
    store.truncate(3, 1000);
    expect(await partition.isOutlived(said(5))).toBe(false);
    expect(await partition.isOutlived(said(6))).toBe(true);
  });

  test('that is being built anyway is not found out again', async () => {
    const { partition, store } = scene();
    store.note({ building: true });
    expect(await partition.isOutlived(said(9))).toBe(false);
  });
});
