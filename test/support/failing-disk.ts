/** A disk that fails now and then, or does half of what it is asked for. */
import fileSystem from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { type Mock, onTestFinished, vi } from 'vitest';

type Call = (this: FileHandle, ...args: unknown[]) => Promise<unknown>;

interface Spied {
  readonly real: Call;
  readonly spy: Mock<Call>;
}

async function spyOn(method: 'read' | 'write' | 'datasync'): Promise<Spied> {
  const handle = await open('/dev/null', 'w');
  const prototype = Object.getPrototypeOf(handle) as Record<typeof method, Call>;
  await handle.close();
  const real = prototype[method];
  const spy = vi.spyOn(prototype, method);
  onTestFinished(() => spy.mockRestore());
  return { real, spy };
}

/** The next write through a file handle fails, whether or not it reaches the disk. `code`: as the system names it. */
export async function failNextWrite(
  message: string,
  code?: string,
  what: 'reaches the disk' | 'is lost' = 'reaches the disk',
): Promise<void> {
  const { real, spy } = await spyOn('write');
  spy.mockImplementationOnce(async function failing(this: FileHandle, ...args: unknown[]) {
    if (what === 'reaches the disk') await real.apply(this, args);
    throw Object.assign(new Error(message), code === undefined ? {} : { code });
  });
}

type Sync = 'renameSync' | 'statfsSync';

/** The next call of that function of `node:fs`, by whoever imports it by name, does this instead. */
export function insteadOfNext<N extends Sync>(name: N, instead: (typeof fileSystem)[N]): void {
  const spied = vi.spyOn(fileSystem, name) as unknown as Mock<(...args: unknown[]) => unknown>;
  const restore = (): void => {
    spied.mockRestore();
    syncBuiltinESMExports();
  };
  onTestFinished(restore);
  spied.mockImplementationOnce((...args) => {
    restore();
    return (instead as (...of: unknown[]) => unknown)(...args);
  });
  syncBuiltinESMExports();
}

/** The next commit of a database fails: its file system does not say how much room there is. */
export function failNextCommit(message: string): void {
  insteadOfNext('statfsSync', () => {
    throw Object.assign(new Error(message), { code: 'EIO' });
  });
}

/** Syncs of data through a file handle fail, until that is called. */
export async function failSyncs(message: string): Promise<{ readonly count: () => number; mend(): void }> {
  const { real, spy } = await spyOn('datasync');
  spy.mockImplementation(async () => {
    throw new Error(message);
  });
  return { count: () => spy.mock.calls.length, mend: () => void spy.mockImplementation(real) };
}

/** Every read through a file handle gives half of what was asked for, at least a byte. */
export async function readHalves(): Promise<void> {
  const { real, spy } = await spyOn('read');
  spy.mockImplementation(function half(this: FileHandle, ...args: unknown[]) {
    const [buffer, offset, length, position] = args as [Buffer, number, number, number];
    return real.call(this, buffer, offset, Math.ceil(length / 2), position);
  });
}
