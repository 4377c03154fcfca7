/**
 * Room for a database on its disk. LMDB writes pages in new places, and its error handling corrupts memory when there is none; so a
 * reserve is kept free, and a commit that would need it is refused before LMDB hears of it. What was refused is tried again when there is room.
 */
import { existsSync, statfsSync } from 'node:fs';
import { join } from 'node:path';

const RESERVE = 1024 * 1024;
const PAGE = 4096;
/** Pages that a record may touch, with those above it in the tree. */
const PAGES_PER_WRITE = 2;
/** What a record takes besides itself, about: its key, and pages that are not full. */
const OVERHEAD = 1.4;
const INPUT_OUTPUT = 5;
/** As Node and as LMDB name them: no space, and the quota is used up. */
const FULL: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT', 28, 122]);

/** How much more a database will hold, about, when so many bytes of keys and values are put into it. */
export function growthOf(bytes: number): number {
  return bytes * OVERHEAD;
}

/** Whether a commit of so many records, with so many bytes of keys and values, leaves the reserve as it is; `room`: or an eighth of it. */
export function hasRoomFor(
  directory: string,
  records: number,
  bytes: number,
  room?: 'with the reserve',
): boolean {
  const kept = room === undefined ? RESERVE : RESERVE / 8;
  return freeBytes(directory) >= kept + growthOf(bytes) + records * PAGES_PER_WRITE * PAGE;
}

/** Whether LMDB can be opened there: it maps the file of its lock, and a page of it that finds no room ends the process with SIGBUS. */
export function hasRoomToOpen(directory: string): boolean {
  return existsSync(join(directory, 'lock.mdb')) || hasRoomFor(directory, 1, 0);
}

/** Whether a write failed for want of room. */
export function isNoRoom(cause: unknown, directory: string): boolean {
  const { code } = (cause ?? {}) as { readonly code?: unknown };
  // A write that the disk took in part is reported as an I/O error.
  return FULL.has(code) || (code === INPUT_OUTPUT && freeBytes(directory) < RESERVE);
}

function freeBytes(directory: string): number {
  const { bavail, bsize } = statfsSync(directory);
  return bavail * bsize;
}
