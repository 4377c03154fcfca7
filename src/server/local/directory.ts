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
      `The disk of ${directory} has ${mebibytes(free)} MiB left; a cluster needs ${mebibytes(minimumFreeBytes)} MiB.`,
    );
  } catch (error) {
    if (error instanceof LocalClusterError) throw error;
    throw unusable(directory, error);
  }
}

function mebibytes(bytes: number): number {
  return Math.floor(bytes / 1024 / 1024);
}

export function unusable(directory: string, error: unknown): LocalClusterError {
  const { code = 'unknown' } = error as NodeJS.ErrnoException;
  return new LocalClusterError(
    'DIRECTORY_UNUSABLE',
    `The directory ${directory} cannot be used (${code}); --data names another.`,
  );
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

/** Nothing where no cluster ever was. */
export async function readState(directory: string): Promise<ClusterState | undefined> {
  const path = join(directory, STATE_FILE_NAME);
  try {
    const parsed = STATE.safeParse(JSON.parse(await readFile(path, 'utf8')));
    if (parsed.success) return parsed.data;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
  }
  throw new LocalClusterError('DIRECTORY_UNUSABLE', `${path} is not a file of this version of baton.`);
}

/** Whether the process that runs the cluster is there: the very same, not another one with its number. */
export function isUp(state: ClusterState | undefined): state is ClusterState & {
  readonly control: NonNullable<ClusterState['control']>;
} {
  return state?.supervisor != null && state.control !== null && isRunning(state.supervisor);
}
