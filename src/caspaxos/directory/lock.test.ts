import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { temporaryDirectory } from '../../../test/caspaxos/directories.ts';
import { insteadOfNext } from '../../../test/support/failing-disk.ts';
import { notRun } from '../../../test/support/not-run.ts';
import { type DirectoryLock, lockDirectory } from './lock.ts';

async function held(directory: string): Promise<DirectoryLock> {
  const lock = await lockDirectory(directory);
  onTestFinished(() => lock.release());
  return lock;
}

/** As a process leaves it that was killed: a socket that nobody listens to. */
async function leaveStale(directory: string, name: string): Promise<void> {
  const server = createServer();
  await new Promise<void>((resolve) => {
    server.listen(join(directory, 'bound'), resolve);
  });
  renameSync(join(directory, 'bound'), join(directory, name));
  await new Promise((resolve) => {
    server.close(resolve);
  });
}

const STALE = 'owner-1-0000000000000000.sock';

test('a directory has one holder, by whatever name, and the next when that one gives it up', async () => {
  const directory = temporaryDirectory();
  const first = await held(directory);
  const link = join(temporaryDirectory(), 'link');
  symlinkSync(directory, link);
  for (const name of [directory, link])
    await expect(lockDirectory(name)).rejects.toMatchObject({
      code: 'DATA_LOCKED',
      message: `The data directory ${name} is in use by process ${process.pid}; stop that process, or use another directory.`,
    });
  first.release();
  expect(readdirSync(directory)).toEqual([]);
  await held(directory);
});

test('what a killed process left is taken away, and nothing else', async () => {
  const directory = temporaryDirectory();
  await leaveStale(directory, STALE);
  writeFileSync(join(directory, 'data.mdb'), 'data');
  await held(directory);
  expect(existsSync(join(directory, STALE))).toBe(false);
  expect(existsSync(join(directory, 'data.mdb'))).toBe(true);
});

test('so is the socket of one that was killed before it had its name, and not of one that is about to get it', async () => {
  const directory = temporaryDirectory();
  await leaveStale(directory, `new-${STALE}`);
  const alive = `new-owner-2-${'0'.repeat(16)}.sock`;
  const server = createServer();
  await new Promise<void>((resolve) => {
    server.listen(join(directory, alive), resolve);
  });
  onTestFinished(() => void server.close());
  await held(directory);
  expect(readdirSync(directory).filter((name) => name.startsWith('new-'))).toEqual([alive]);
});

test('one whose socket was taken away before it had its name begins anew', async () => {
  const directory = temporaryDirectory();
  insteadOfNext('renameSync', (from, to) => {
    rmSync(from);
    renameSync(from, to);
  });
  const lock = await held(directory);
  await expect(lockDirectory(directory)).rejects.toMatchObject({ code: 'DATA_LOCKED' });
  lock.release();
  expect(readdirSync(directory)).toEqual([]);
});

test('of many that take over at once exactly one has it', async () => {
  for (let round = 0; round < 20; round += 1) {
    const directory = temporaryDirectory();
    await leaveStale(directory, STALE);
    const tries = await Promise.allSettled(Array.from({ length: 6 }, () => lockDirectory(directory)));
    const winners = tries.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    expect(winners).toHaveLength(1);
    for (const one of tries)
      if (one.status === 'rejected') expect(one.reason).toMatchObject({ code: 'DATA_LOCKED' });
    expect(readdirSync(directory)).toHaveLength(1);
    winners[0]!.release();
  }
});

test('a directory that is not there, or that cannot be looked into, is an error in words', async () => {
  const directory = join(temporaryDirectory(), 'nowhere');
  await expect(lockDirectory(directory)).rejects.toMatchObject({
    code: 'STORE_FAILED',
    message: expect.stringContaining(`The data directory ${directory} cannot be opened`),
  });
  writeFileSync(directory, 'no directory');
  await expect(lockDirectory(directory)).rejects.toMatchObject({ code: 'STORE_FAILED' });
});

test('a path that is too long for a socket is no matter', async (context) => {
  if (process.platform !== 'linux')
    notRun(context, { what: 'only Linux has another way to such a path', how: 'run on Linux' });
  const directory = join(temporaryDirectory(), 'long'.repeat(25), 'longer'.repeat(20));
  mkdirSync(directory, { recursive: true });
  const first = await held(directory);
  await expect(lockDirectory(directory)).rejects.toMatchObject({ code: 'DATA_LOCKED' });
  first.release();
  await held(directory);
});
