import fileSystem, { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { temporaryDirectory } from '../../test/caspaxos/directories.ts';
import { openLog } from './logger.ts';

/** A log on a disk that is full until that is called. */
function logOnFullDisk(): { log: ReturnType<typeof openLog>; makeRoom: () => void; lines: () => string[] } {
  const path = join(temporaryDirectory(), 'log');
  const fd = openSync(path, 'w');
  const spied = vi.spyOn(fileSystem, 'writeSync').mockImplementation(() => {
    throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
  });
  onTestFinished(() => {
    spied.mockRestore();
    closeSync(fd);
  });
  const lines = (): string[] =>
    readFileSync(path, 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => (JSON.parse(line) as { msg: string }).msg);
  return { log: openLog({ base: null }, fd), makeRoom: () => spied.mockRestore(), lines };
}

test('a log on a full disk ends nobody, and its lines are there when there is room again', () => {
  const { log, makeRoom, lines } = logOnFullDisk();
  log.error('one');
  log.error('two');
  makeRoom();
  log.error('three');
  expect(lines()).toEqual(['one', 'two', 'three']);
});

test('what waits is bounded, and what was lost is counted', async () => {
  const { log, makeRoom, lines } = logOnFullDisk();
  const long = 'x'.repeat(100_000);
  for (let count = 0; count < 30; count += 1) log.info(long);
  makeRoom();
  log.info('again');
  await Promise.resolve();
  const there = lines();
  expect(there.some((line) => line.includes('were lost'))).toBe(true);
  expect(there.length).toBeLessThan(20);
});
