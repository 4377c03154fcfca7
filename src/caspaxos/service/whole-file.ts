/** A system call may read or write a part of what it was asked for, and says how much. Here it is asked until all of it is done. */
import type { FileHandle } from 'node:fs/promises';

/** The first so many bytes of a file. What is not there, because the file is shorter, is zeros. */
export async function readWhole(file: FileHandle, bytes: number): Promise<Buffer> {
  const content = Buffer.alloc(bytes);
  for (let at = 0; at < bytes;) {
    const { bytesRead } = await file.read(content, at, bytes - at, at);
    if (bytesRead === 0) break;
    at += bytesRead;
  }
  return content;
}

/** Adds zeros until the file has so many bytes: later there may be no room. */
export async function fillUpTo(file: FileHandle, bytes: number): Promise<void> {
  for (let { size } = await file.stat(); size < bytes;) {
    const { bytesWritten } = await file.write(Buffer.alloc(bytes - size), 0, bytes - size, size);
    size += bytesWritten;
  }
}
