import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { EngineSet, PARTITION_SET } from '../../test/engine/engine-set.ts';
import { until } from '../../test/support/until.ts';
import { NODE_HOST } from '../caspaxos/index.ts';
import {
  epkOf,
  MemoryNodeStore,
  nodeJson,
  readManifest,
  restoreBackup,
  type PartitionStore,
} from './index.ts';

const REGIONS = ['west', 'east'];

describe('a backup', () => {
  let directory: string;
  let set: EngineSet;

  beforeEach(async () => {
    directory = mkdtempSync(join(tmpdir(), 'baton-backup-'));
    set = new EngineSet({
      regions: REGIONS,
      options: { trim: { keepMs: Infinity, keepBytes: 3000, hardBytes: 3000 } },
    });
    for (const region of REGIONS) {
      await set.partition(region).incarnation();
      set.partition(region).attach({ mayWrite: () => true, grant: () => 0, changed: () => {} });
    }
    await set
      .partition('east')
      .assume({ role: 'reader', serves: { level: 'Strong' }, epoch: 1, writer: 'west' });
    await set.partition('west').assume({
      role: 'writer',
      serves: { level: 'Strong' },
      keeps: { level: 'Strong' },
      epoch: 1,
      accepts: true,
      commitSet: REGIONS,
    });
    for (let at = 0; at < 50; at += 1) await set.put('west', `d-${at % 20}`, `value ${at}`);
  });

  afterEach(() => {
    set.close();
    rmSync(directory, { recursive: true });
  });

  function emptyStore(): PartitionStore {
    return new MemoryNodeStore({ host: NODE_HOST }).partition('restored');
  }

  function valueIn(store: PartitionStore, id: string): unknown {
    const body = store.newest({ epk: epkOf(['k']), id })?.body;
    return body === undefined ? undefined : (nodeJson.parse(body) as { value: string }).value;
  }

  test('has every document as it was at one committed LSN, while writes go on', async () => {
    const path = join(directory, 'full');
    const taking = set.partition('west').backup(path);
    const later = set.put('west', 'd-3', 'too late');
    const manifest = await taking;
    await later;
    expect(manifest).toMatchObject({ partitionSet: PARTITION_SET, lsn: 50 });
    // A log may be tidied at any time: then some documents are in the backup beside the rest of the log.
    expect(manifest.entries).toBeGreaterThanOrEqual(51 - manifest.base);
    const store = emptyStore();
    await restoreBackup(path, store);
    for (let id = 0; id < 20; id += 1)
      expect(valueIn(store, `d-${id}`)).toBe(`value ${id < 10 ? id + 40 : id + 20}`);
    expect(store.tail.lsn).toBe(50);
    expect(store.notes).toMatchObject({ gclsn: 50, building: false, fence: 0 });
  });

  test('of a trimmed log has the documents that the log no longer has', async () => {
    set.partition('west').tidy();
    const { base } = set.disk('west').partition(PARTITION_SET);
    expect(base).toBeGreaterThan(1);
    const path = join(directory, 'trimmed');
    const manifest = await set.partition('west').backup(path);
    expect(manifest.base).toBe(base);
    expect(manifest.entries).toBeLessThan(50);
    const store = emptyStore();
    await restoreBackup(path, store);
    for (let id = 0; id < 20; id += 1)
      expect(valueIn(store, `d-${id}`)).toBe(`value ${id < 10 ? id + 40 : id + 20}`);
    expect(store.base).toBe(base);
  });

  test('restored in one region is copied by the others, and written on', async () => {
    const path = join(directory, 'full');
    await set.partition('west').backup(path);
    const disks = new Map(REGIONS.map((region) => [region, new MemoryNodeStore({ host: NODE_HOST })]));
    await restoreBackup(path, disks.get('west')!.partition(PARTITION_SET));
    const restored = new EngineSet({
      regions: REGIONS,
      disk: (region) => {
        const store = disks.get(region)!;
        return {
          partition: (name) => store.partition(name),
          drop: (name) => store.drop(name),
          probe: (done) => store.partition(PARTITION_SET).sync(done),
          crash: () => store.crash(),
        };
      },
    });
    try {
      for (const region of REGIONS) {
        await restored.partition(region).incarnation();
        restored.partition(region).attach({ mayWrite: () => true, grant: () => 0, changed: () => {} });
      }
      await restored
        .partition('east')
        .assume({ role: 'reader', serves: { level: 'Strong' }, epoch: 1, writer: 'west' });
      await restored.partition('west').assume({
        role: 'writer',
        serves: { level: 'Strong' },
        keeps: { level: 'Strong' },
        epoch: 1,
        accepts: true,
        commitSet: REGIONS,
      });
      await restored.put('west', 'd-0', 'new');
      await until('the east has all', () => disks.get('east')!.partition(PARTITION_SET).tail.lsn === 51);
      expect(valueIn(disks.get('east')!.partition(PARTITION_SET), 'd-0')).toBe('new');
      expect(valueIn(disks.get('east')!.partition(PARTITION_SET), 'd-19')).toBe('value 39');
    } finally {
      restored.close();
    }
  });

  test('is not written into a directory that has something in it', async () => {
    writeFileSync(join(directory, 'mine'), '');
    await expect(set.partition('west').backup(directory)).rejects.toMatchObject({ code: 'BACKUP_EXISTS' });
    expect(readdirSync(directory)).toEqual(['mine']);
  });

  test('that is damaged, cut short, newer or none at all is refused, and so is a store with data', async () => {
    const path = join(directory, 'full');
    await set.partition('west').backup(path);
    const used = set.disk('west').partition(PARTITION_SET);
    await expect(restoreBackup(path, used)).rejects.toMatchObject({ code: 'RESTORE_NOT_EMPTY' });
    const file = join(path, 'entries-00001.bin');
    const content = readFileSync(file);
    const spoilt = Buffer.from(content);
    spoilt[200]! ^= 1;
    writeFileSync(file, spoilt);
    await expect(restoreBackup(path, emptyStore())).rejects.toMatchObject({ code: 'BACKUP_DAMAGED' });
    writeFileSync(file, content.subarray(0, -10));
    await expect(restoreBackup(path, emptyStore())).rejects.toMatchObject({ code: 'BACKUP_DAMAGED' });
    const manifest = join(path, 'manifest.json');
    const text = readFileSync(manifest, 'utf8');
    writeFileSync(manifest, text.replace('"format": 1', '"format": 2'));
    await expect(readManifest(path)).rejects.toMatchObject({ code: 'BACKUP_NEWER' });
    writeFileSync(manifest, text.slice(0, 40));
    await expect(readManifest(path)).rejects.toMatchObject({ code: 'BACKUP_INVALID' });
    rmSync(manifest);
    await expect(readManifest(path)).rejects.toMatchObject({ code: 'BACKUP_INVALID' });
  });
});
