/** The data directory: one at a time, and nobody held up by the dead. */
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { thisProcess } from '../../caspaxos/index.ts';
import { type ClusterState, isUp, prepareDirectory, readState, unusable, writeState } from './directory.ts';
import { lockDirectory } from './lock.ts';

let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'baton-directory-'));
});

afterEach(() => rmSync(directory, { recursive: true, force: true }));

const STATE: ClusterState = {
  version: 1,
  cluster: 'demo',
  config: 'baton.yaml',
  portBase: 4100,
  namespaces: false,
  supervisor: thisProcess(),
  control: { url: 'http://127.0.0.1:1', token: 'secret' },
  processes: [],
};

describe('the lock', () => {
  test('lets one in, names it to the next, and lets that one in when it is released', async () => {
    const lock = await lockDirectory(directory);
    await expect(lockDirectory(directory)).rejects.toMatchObject({
      code: 'CLUSTER_RUNNING',
      message: expect.stringContaining(`(process ${process.pid});`) as string,
    });
    await lock.release();
    await (await lockDirectory(directory)).release();
    expect(readdirSync(join(directory, 'lock'))).toEqual(['2']);
  });

  test.each([
    ['of a process that is gone', JSON.stringify({ pid: 2 ** 22 + 1, started: 'x' })],
    [
      'of a process whose number belongs to another now',
      JSON.stringify({ pid: process.pid, started: 'boot/1' }),
    ],
    ['that was cut short', '{"pid":'],
  ])('%s holds nobody up', async (_, text) => {
    await prepareDirectory(join(directory, 'lock'));
    writeFileSync(join(directory, 'lock', '7'), text);
    const lock = await lockDirectory(directory);
    await expect(lockDirectory(directory)).rejects.toMatchObject({ code: 'CLUSTER_RUNNING' });
    await lock.release();
  });

  test('of two that find it stale goes to one', async () => {
    await prepareDirectory(join(directory, 'lock'));
    writeFileSync(join(directory, 'lock', '7'), '');
    const tries = await Promise.allSettled(Array.from({ length: 8 }, () => lockDirectory(directory)));
    expect(tries.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });
});

describe('the directory', () => {
  test('is made, for its owner alone', async () => {
    const inner = join(directory, 'a', 'b');
    await prepareDirectory(inner);
    expect(statSync(inner).mode & 0o777).toBe(0o700);
  });

  test('on a full disk is refused with what there is and what is needed', async () => {
    await expect(prepareDirectory(directory, 2 ** 60)).rejects.toMatchObject({
      code: 'DISK_TOO_SMALL',
      message: expect.stringMatching(
        /has \d+ MiB free and a cluster needs 1099511627776 MiB; free some space/,
      ) as string,
    });
  });

  test('that is a file is refused', async () => {
    const file = join(directory, 'file');
    writeFileSync(file, '');
    await expect(prepareDirectory(join(file, 'inner'))).rejects.toMatchObject({ code: 'DIRECTORY_UNUSABLE' });
    expect(existsSync(file)).toBe(true);
  });
});

describe('cluster.json', () => {
  test('that the system does not let us read is not called damaged', async () => {
    symlinkSync('cluster.json', join(directory, 'cluster.json'));
    await expect(readState(directory)).rejects.toMatchObject({
      code: 'DIRECTORY_UNUSABLE',
      message: `The data directory ${directory} cannot be used: ELOOP; choose another one with --data.`,
    });
  });

  test('is read back as it was written, and only its owner may', async () => {
    expect(await readState(directory)).toBeUndefined();
    await writeState(directory, STATE);
    expect(await readState(directory)).toEqual(STATE);
    expect(statSync(join(directory, 'cluster.json')).mode & 0o777).toBe(0o600);
  });

  test('that is something else is refused', async () => {
    writeFileSync(join(directory, 'cluster.json'), '{"version": 2}');
    await expect(readState(directory)).rejects.toMatchObject({ code: 'DIRECTORY_UNUSABLE' });
  });

  test('says whether the cluster runs: by the very process, not by its number', () => {
    expect(isUp(STATE)).toBe(true);
    expect(isUp({ ...STATE, supervisor: null })).toBe(false);
    expect(isUp({ ...STATE, supervisor: { pid: process.pid, started: 'another' } })).toBe(false);
    expect(isUp(undefined)).toBe(false);
  });
});

describe('a directory that cannot be used', () => {
  test.each([
    ['EACCES', 'permission denied'],
    ['EPERM', 'permission denied'],
    ['EROFS', 'the file system is read-only'],
    ['ENOSPC', 'the disk is full'],
    ['EDQUOT', 'the disk quota is used up'],
    ['ENOTDIR', 'it, or a part of its path, is a file'],
    ['EIO', 'EIO'],
  ])('%s: says why, and the way out', (code, why) => {
    const error = Object.assign(new Error(`${code}: mkdir`), { code, syscall: 'mkdir' });
    expect(unusable('/data', error)).toMatchObject({
      code: 'DIRECTORY_UNUSABLE',
      message: `The data directory /data cannot be used: ${why}; choose another one with --data.`,
    });
  });

  test('is not blamed for what has nothing to do with files', () => {
    const defect = new TypeError('x is not a function');
    expect(unusable('/data', defect)).toBe(defect);
  });
});
