/**
 * Directories for one test or one test file, removed with it. They are in memory where the machine has room for that:
 * what is tested here is what is written and when, not how fast a disk is.
 */
import { accessSync, constants, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

const IN_MEMORY = '/dev/shm';
const ENOUGH_BYTES = 512 * 1024 * 1024;

/** Removed by the caller. */
export function newDirectory(): string {
  return mkdtempSync(join(root(), 'baton-test-'));
}

/** Removed when the test that asks for it is over. */
export function temporaryDirectory(): string {
  const directory = newDirectory();
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

function root(): string {
  try {
    accessSync(IN_MEMORY, constants.W_OK);
    const { bavail, bsize } = statfsSync(IN_MEMORY);
    return bavail * bsize >= ENOUGH_BYTES ? IN_MEMORY : tmpdir();
  } catch {
    return tmpdir();
  }
}
