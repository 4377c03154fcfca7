/**
 * A backup of a partition-set: a directory with its entries up to one globally committed LSN, taken while writes go on, and
 * the way back into a new partition-set. Entries carry their own checksums; the manifest has one of each file, and is written
 * last, so a directory without one is not a backup.
 *
 *   manifest.json      what it is, and what belongs to it
 *   entries-00001.bin  length u32 | entry, and so on
 *
 * What was trimmed from the log is not in it, except where it is the newest version of a document: a restored partition-set
 * has the same documents, and a log that begins where the old one did.
 */
import { createHash } from 'node:crypto';
import { mkdir, open, readdir, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod/mini';
import {
  entriesOf,
  type Entry,
  epochOf,
  type PartitionStore,
  type Position,
  withEntry,
  type ProgressTable,
} from './core/index.ts';
import { decodeEntry, encodeEntry } from './entry-codec.ts';
import { EngineError } from './errors.ts';

const FORMAT = 1;
const MANIFEST = 'manifest.json';
const FILE_BYTES = 64 * 1024 * 1024;
const STEP_BYTES = 1024 * 1024;

const manifestForm = z.object({
  format: z.number(),
  partitionSet: z.string(),
  /** The last entry in it. */
  epoch: z.number(),
  lsn: z.number(),
  base: z.number(),
  entries: z.number(),
  takenAt: z.string(),
  files: z.array(z.object({ name: z.string(), bytes: z.number(), sha256: z.string() })),
});

export type BackupManifest = z.infer<typeof manifestForm>;

export interface BackupSource {
  readonly partitionSet: string;
  readonly store: PartitionStore;
  /** What is globally committed now. */
  readonly committed: Position;
  readonly takenAt: Date;
}

/** Writes the backup. Nothing up to `committed` may be trimmed meanwhile. */
export async function writeBackup(directory: string, source: BackupSource): Promise<BackupManifest> {
  const { store, committed, partitionSet, takenAt } = source;
  await mkdir(directory, { recursive: true, mode: 0o700 });
  if ((await readdir(directory)).length > 0)
    throw new EngineError(
      'BACKUP_EXISTS',
      `There is something in ${directory} already; a backup needs an empty directory.`,
    );
  const { base } = store;
  const files: BackupManifest['files'] = [];
  let count = 0;
  for (let at = 0; at < committed.lsn;) {
    const name = `entries-${String(files.length + 1).padStart(5, '0')}.bin`;
    const written = await writeFile(join(directory, name), store, at, committed.lsn);
    if (written.entries === 0) break;
    files.push({ name, bytes: written.bytes, sha256: written.sha256 });
    count += written.entries;
    at = written.lastLsn;
  }
  const { epoch, lsn } = committed;
  const manifest: BackupManifest = {
    format: FORMAT,
    partitionSet,
    epoch,
    lsn,
    base,
    entries: count,
    takenAt: takenAt.toISOString(),
    files,
  };
  await writeDurably(join(directory, MANIFEST), `${JSON.stringify(manifest, undefined, 2)}\n`);
  return manifest;
}

async function writeFile(
  path: string,
  store: PartitionStore,
  after: number,
  upTo: number,
): Promise<{ entries: number; bytes: number; sha256: string; lastLsn: number }> {
  const file = await open(path, 'wx');
  const hash = createHash('sha256');
  let [entries, bytes, lastLsn] = [0, 0, after];
  try {
    while (bytes < FILE_BYTES) {
      const some = entriesOf(store, lastLsn, STEP_BYTES).filter(({ lsn }) => lsn <= upTo);
      if (some.length === 0) break;
      const chunk = Buffer.concat(some.flatMap(framed));
      await file.write(chunk);
      hash.update(chunk);
      bytes += chunk.length;
      entries += some.length;
      lastLsn = some.at(-1)!.lsn;
    }
    await file.sync();
  } finally {
    await file.close();
  }
  return { entries, bytes, sha256: hash.digest('hex'), lastLsn };
}

function framed(entry: Entry): readonly Uint8Array[] {
  const encoded = encodeEntry(entry);
  const length = Buffer.allocUnsafe(4);
  length.writeUInt32LE(encoded.length, 0);
  return [length, encoded];
}

async function writeDurably(path: string, text: string): Promise<void> {
  const file = await open(`${path}.new`, 'w');
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(`${path}.new`, path);
}

export async function readManifest(directory: string): Promise<BackupManifest> {
  let parsed: unknown;
  try {
    parsed = JSON.parse(await readFile(join(directory, MANIFEST), 'utf8'));
  } catch (error) {
    throw new EngineError(
      'BACKUP_INVALID',
      `There is no backup in ${directory}: ${(error as Error).message}`,
    );
  }
  const { success, data } = manifestForm.safeParse(parsed);
  if (!success) throw new EngineError('BACKUP_INVALID', `The manifest in ${directory} cannot be understood.`);
  if (data.format > FORMAT)
    throw new EngineError(
      'BACKUP_NEWER',
      `The backup has format ${data.format}; this version reads up to ${FORMAT}.`,
    );
  return data;
}

/**
 * Fills the store of a new partition-set. Its epochs begin anew, so every entry becomes one of the time before its first GCN;
 * etags are made of epochs, so documents have other etags than before.
 */
export async function restoreBackup(directory: string, store: PartitionStore): Promise<BackupManifest> {
  const manifest = await readManifest(directory);
  if (store.tail.lsn > 0 || store.notes.fence > 0)
    throw new EngineError('RESTORE_NOT_EMPTY', 'A backup can be restored into a new partition-set only.');
  const epoch = epochOf(0, 1);
  store.clear(manifest.base);
  store.note({ building: true, table: manifest.base > 1 ? [{ epoch, lsn: 1 }] : [] });
  let table: ProgressTable = store.notes.table;
  let count = 0;
  for (const file of manifest.files) {
    const content = await readFile(join(directory, file.name));
    const sha256 = createHash('sha256').update(content).digest('hex');
    if (sha256 !== file.sha256)
      throw new EngineError('BACKUP_DAMAGED', `The file ${file.name} of the backup is damaged.`);
    for (const entry of entriesIn(content)) {
      const { encoded: _, ...plain } = entry;
      const restored: Entry = { ...plain, epoch };
      store.append([restored]);
      table = withEntry(table, restored);
      count += 1;
    }
    await synced(store);
  }
  if (count !== manifest.entries)
    throw new EngineError(
      'BACKUP_DAMAGED',
      `The backup has ${count} entries instead of ${manifest.entries}.`,
    );
  store.note({ building: false, table, gclsn: manifest.lsn });
  await synced(store);
  return manifest;
}

function* entriesIn(content: Buffer): Generator<Entry> {
  for (let at = 0; at < content.length;) {
    const end = at + 4 + content.readUInt32LE(at);
    yield decodeEntry(content.subarray(at + 4, end));
    at = end;
  }
}

function synced(store: PartitionStore): Promise<void> {
  return new Promise((resolve, reject) => {
    store.sync((error) => (error === undefined ? resolve() : reject(error)));
  });
}
