/**
 * One process at a time runs the cluster of a directory. A lock is never deleted to be taken: of two that saw the same dead
 * holder, the slower one would delete the new lock of the faster. It has generations, files named 1, 2, 3 and so on. The
 * newest says who holds it; when that process is gone, or has emptied the file, whoever makes the next number has the lock,
 * and the file system lets only one do so.
 */
import { randomBytes } from 'node:crypto';
import { link, mkdir, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isRunning, type ProcessName, thisProcess } from '../../caspaxos/index.ts';
import { PROCESS, unusable } from './directory.ts';
import { LocalClusterError } from './errors.ts';

const FOLDER = 'lock';
const PRIVATE = 0o600;

export interface DirectoryLock {
  release(): Promise<void>;
}

export async function lockDirectory(directory: string): Promise<DirectoryLock> {
  const folder = join(directory, FOLDER);
  try {
    await mkdir(folder, { recursive: true });
    for (;;) {
      const newest = (await generations(folder)).at(-1) ?? 0;
      const holder = await readHolder(join(folder, `${newest}`));
      if (holder !== undefined && isRunning(holder)) throw held(directory, holder);
      const own = join(folder, `${newest + 1}`);
      if (await isFirst(folder, newest + 1)) return { release: () => empty(own) };
    }
  } catch (error) {
    throw unusable(directory, error);
  }
}

function held(directory: string, { pid }: ProcessName): LocalClusterError {
  return new LocalClusterError(
    'CLUSTER_RUNNING',
    `A cluster is already running in ${directory} (process ${pid}); stop it, or start another one with its own --data and --port-base.`,
  );
}

/** Made whole and then given its name: nobody meets half a file. */
async function isFirst(folder: string, generation: number): Promise<boolean> {
  const draft = join(folder, `draft-${randomBytes(6).toString('hex')}`);
  try {
    await writeFile(draft, JSON.stringify(thisProcess()), { mode: PRIVATE });
    await link(draft, join(folder, `${generation}`));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  } finally {
    await rm(draft, { force: true });
  }
  const all = await generations(folder);
  const isNewest = all.at(-1) === generation;
  const useless = isNewest ? all.slice(0, -1) : [generation];
  for (const old of useless) await rm(join(folder, `${old}`), { force: true });
  return isNewest;
}

async function generations(folder: string): Promise<number[]> {
  const names = await readdir(folder);
  return names
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .toSorted((a, b) => a - b);
}

/** Nobody, when the file is empty, is not there, or is none of ours. */
async function readHolder(path: string): Promise<ProcessName | undefined> {
  try {
    const parsed = PROCESS.safeParse(JSON.parse(await readFile(path, 'utf8')));
    return parsed.success ? parsed.data : undefined;
  } catch {
    return undefined;
  }
}

/** The directory may be gone by now. */
async function empty(path: string): Promise<void> {
  await truncate(path, 0).catch(() => {});
}
