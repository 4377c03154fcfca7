/** A disk that fails now and then. */
import fileSystem from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { onTestFinished, vi } from 'vitest';

/** The next write through a file handle fails, whether or not it reaches the disk. `code`: as the system names it. */
export async function failNextWrite(
  message: string,
  code?: string,
  what: 'reaches the disk' | 'is lost' = 'reaches the disk',
): Promise<void> {
  const handle = await open('/dev/null', 'w');
  const prototype = Object.getPrototypeOf(handle) as FileHandle;
  await handle.close();
  const write = Reflect.get(prototype, 'write') as (...args: unknown[]) => Promise<never>;
  const spied = vi.spyOn(prototype, 'write');
  onTestFinished(() => spied.mockRestore());
  spied.mockImplementationOnce(async function failing(this: FileHandle, ...args: unknown[]) {
    if (what === 'reaches the disk') await write.apply(this, args);
    throw Object.assign(new Error(message), code === undefined ? {} : { code });
  });
}

/** The next commit of a database fails: its file system does not say how much room there is. */
export function failNextCommit(message: string): void {
  const spied = vi.spyOn(fileSystem, 'statfsSync');
  const restore = (): void => {
    spied.mockRestore();
    syncBuiltinESMExports();
  };
  onTestFinished(restore);
  spied.mockImplementationOnce(() => {
    restore();
    throw Object.assign(new Error(message), { code: 'EIO' });
  });
  syncBuiltinESMExports();
}
