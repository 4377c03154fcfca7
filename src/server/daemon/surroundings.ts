/** What a node needs of its machine before it starts: room on its disk, its certificates, its tokens, its acceptors' passwords. */
import { readFileSync } from 'node:fs';
import { mkdir, statfs } from 'node:fs/promises';
import type { RpcTls } from '../../transport/index.ts';
import {
  acceptorUrls,
  type ClusterConfig,
  resolveSecrets,
  type SecretPlaces,
  tlsFilesOf,
  type Tokens,
} from '../config/index.ts';
import { DaemonError } from './errors.ts';

/** With less than this a node does not start. */
export const LEAST_FREE_BYTES = 64 * 1024 * 1024;

const PLACES: SecretPlaces = {
  readFile: (path) => readFileSync(path, 'utf8'),
  env: process.env,
};

export interface Room {
  readonly freeBytes: number;
  readonly totalBytes: number;
}

/** Makes the directory. Throws DISK_TOO_SMALL or DATA_UNUSABLE. */
export async function prepareData(directory: string, leastFreeBytes = LEAST_FREE_BYTES): Promise<void> {
  try {
    await mkdir(directory, { recursive: true, mode: 0o700 });
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException;
    throw new DaemonError('DATA_UNUSABLE', `The data directory ${directory} cannot be made: ${code}.`);
  }
  const room = await roomOn(directory);
  if (room === undefined || room.freeBytes >= leastFreeBytes) return;
  const has = `${Math.floor(room.freeBytes / 1024 / 1024)} MB`;
  const needs = `${Math.ceil(leastFreeBytes / 1024 / 1024)} MB`;
  throw new DaemonError('DISK_TOO_SMALL', `The disk of ${directory} has ${has} left; a node needs ${needs}.`);
}

/** Undefined: the system does not say. */
export async function roomOn(directory: string): Promise<Room | undefined> {
  try {
    const { bavail, blocks, bsize } = await statfs(directory);
    return { freeBytes: bavail * bsize, totalBytes: blocks * bsize };
  } catch {
    return undefined;
  }
}

/** Kept for everybody but clients: other nodes, callers that have not said who they are, acceptors, HTTP, and files. */
const OTHER_FILES = 2048;
const MOST_CLIENTS = 4096;
const FEWEST_CLIENTS = 64;

/** Connections of clients that a process with so many open files may take, so that nodes still get in. */
export function mostClients(openFiles = openFilesLimit()): number {
  return Math.max(FEWEST_CLIENTS, Math.min(MOST_CLIENTS, openFiles - OTHER_FILES));
}

/** Node has raised the limit of its process as far as it may. */
function openFilesLimit(): number {
  try {
    const [, soft] = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
    return soft === undefined ? Infinity : Number(soft);
  } catch {
    return Infinity;
  }
}

export function readTls(config: ClusterConfig, name: string): RpcTls | undefined {
  const files = tlsFilesOf(config, name);
  if (files === undefined) return undefined;
  return { ca: readText(files.ca), cert: readText(files.cert), key: readText(files.key) };
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException;
    throw new DaemonError('TLS_UNREADABLE', `The file ${path} cannot be read: ${code}.`);
  }
}

/** Throws a ConfigError with the line of every token that is not there. */
export function readTokens(config: ClusterConfig): Tokens {
  return resolveSecrets(config, PLACES);
}

/** With the passwords of stores in them: to be opened, not to be shown. Throws as `readTokens` does. */
export function readAcceptorUrls(config: ClusterConfig): readonly string[] {
  return acceptorUrls(config, PLACES);
}
