/** The data directory of a local cluster: `baton.yaml`, `cluster.json`, a lock, the logs, and a directory for each process. */
import { randomBytes } from 'node:crypto';
import { mkdir, readFile, rename, rm, statfs, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod/mini';
import { isRunning } from '../../caspaxos/index.ts';
import { LocalClusterError } from './errors.ts';

export const STATE_FILE_NAME = 'cluster.json';
const PRIVATE = 0o600;
export const MINIMUM_FREE_BYTES = 256 * 1024 * 1024;

export const PROCESS = z.object({ pid: z.int().check(z.positive()), started: z.string() });

const STATE = z.object({
  version: z.literal(1),
  cluster: z.string(),
  /** The cluster file. */
  config: z.string(),
  portBase: z.nullable(z.int()),
  namespaces: z.boolean(),
  /** None when the cluster does not run. */
  supervisor: z.nullable(PROCESS),
  control: z.nullable(z.object({ url: z.string(), token: z.string() })),
  processes: z.array(
    z.object({
      name: z.string(),
      role: z.enum(['acceptor', 'node', 'gateway', 'dns']),
      region: z.optional(z.string()),
      state: z.enum(['stopped', 'starting', 'running', 'paused']),
      pid: z.optional(z.int()),
      started: z.optional(z.string()),
      address: z.string(),
      http: z.optional(z.string()),
      log: z.string(),
    }),
  ),
});

/** What `cluster.json` says: how others find the cluster and whoever runs it. It holds a token, so only its owner reads it. */
export type ClusterState = z.infer<typeof STATE>;
export type ProcessRecord = ClusterState['processes'][number];

export async function prepareDirectory(
  directory: string,
  minimumFreeBytes: number = MINIMUM_FREE_BYTES,
): Promise<void> {
  try {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    const { bavail, bsize } = await statfs(directory);
    const free = bavail * bsize;
    if (free >= minimumFreeBytes) return;
    throw new LocalClusterError(
      'DISK_TOO_SMALL',
      `The disk of ${directory} has ${mebibytes(free)} MiB free and a cluster needs ${mebibytes(minimumFreeBytes)} MiB; free some space, or choose another directory with --data.`,
    );
  } catch (error) {
    throw unusable(directory, error);
  }
}

function mebibytes(bytes: number): number {
  return Math.floor(bytes / 1024 / 1024);
}

const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'the file system is read-only',
  ENOTDIR: 'it, or a part of its path, is a file',
  EEXIST: 'it is a file',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
};

/** An error of the file system as a refusal of the directory; any other error as it is. */
export function unusable(directory: string, error: unknown): unknown {
  if (!(error instanceof Error) || !('syscall' in error)) return error;
  const { code = 'unknown' } = error as NodeJS.ErrnoException;
  return new LocalClusterError(
    'DIRECTORY_UNUSABLE',
    `The data directory ${directory} cannot be used: ${REASONS[code] ?? code}; choose another one with --data.`,
  );
}

/** The same for an error that may have nothing to do with the directory. */
export function unusableIfWithin(directory: string, error: unknown): unknown {
  const { path } = error as NodeJS.ErrnoException;
  return path?.startsWith(directory) === true ? unusable(directory, error) : error;
}

export async function writeWhole(path: string, text: string): Promise<void> {
  const draft = `${path}.${randomBytes(6).toString('hex')}`;
  try {
    await writeFile(draft, text, { mode: PRIVATE });
    await rename(draft, path);
  } finally {
    await rm(draft, { force: true });
  }
}

export function writeState(directory: string, state: ClusterState): Promise<void> {
  return writeWhole(join(directory, STATE_FILE_NAME), `${JSON.stringify(state, null, 2)}\n`);
}

/** Undefined where there has never been a cluster. */
export async function readState(directory: string): Promise<ClusterState | undefined> {
  const path = join(directory, STATE_FILE_NAME);
  try {
    const parsed = STATE.safeParse(JSON.parse(await readFile(path, 'utf8')));
    if (parsed.success) return parsed.data;
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return undefined;
    if (syscall !== undefined) throw unusable(directory, error);
  }
  throw new LocalClusterError(
    'DIRECTORY_UNUSABLE',
    `${path} is damaged, or was written by another version of Baton; choose another directory with --data.`,
  );
}

/** Whether the process that runs the cluster is there: the very same, not another one with its number. */
export function isUp(state: ClusterState | undefined): state is ClusterState & {
  readonly control: NonNullable<ClusterState['control']>;
} {
  return state?.supervisor != null && state.control !== null && isRunning(state.supervisor);
}
