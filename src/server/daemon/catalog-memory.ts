/**
 * What a node remembers of the catalogue on its own disk: which one it was, how far it had got, and which partition-sets this node
 * opened because of it. A node that was away when a container was dropped finds out by it which data to remove. What it does not
 * name is never removed.
 */
import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';

export interface RememberedCatalog {
  readonly since: number;
  readonly version: number;
  /** Of that version. */
  readonly mark?: string | undefined;
  readonly partitionSets: readonly string[];
}

/** Where it is kept; `write` throws when it is not on disk. */
export interface CatalogMemory {
  read(): RememberedCatalog | undefined;
  write(remembered: RememberedCatalog): void;
}

const FILE = 'catalog.json';

export function catalogMemoryIn(directory: string): CatalogMemory {
  const path = join(directory, FILE);
  return {
    read: () => remembered(textOf(path)),
    write: (what) => writeSafely(path, JSON.stringify(what)),
  };
}

function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

/** One that cannot be read is as good as none: then nothing is removed. */
function remembered(text: string | undefined): RememberedCatalog | undefined {
  try {
    const value = JSON.parse(text ?? '') as RememberedCatalog;
    const { since, version, mark, partitionSets } = value;
    const isGood =
      Number.isSafeInteger(since) &&
      Number.isSafeInteger(version) &&
      (mark === undefined || typeof mark === 'string') &&
      partitionSets.every((name) => typeof name === 'string');
    return isGood ? { since, version, mark, partitionSets } : undefined;
  } catch {
    return undefined;
  }
}

/** The old one or the new one, whenever the power goes. */
export function writeSafely(path: string, text: string): void {
  const next = `${path}.next`;
  const file = openSync(next, 'w', 0o600);
  try {
    writeSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(next, path);
  const directory = openSync(dirname(path), 'r');
  try {
    fsyncSync(directory);
  } finally {
    closeSync(directory);
  }
}
