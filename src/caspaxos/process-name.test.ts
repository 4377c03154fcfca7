import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { isRunning, thisProcess } from './process-name.ts';

test('this process runs, and another of its number does not', () => {
  const self = thisProcess();
  expect(isRunning(self)).toBe(true);
  if (self.started !== '') expect(isRunning({ ...self, started: 'another boot/1' })).toBe(false);
});

test('one of which only the number is known is taken for it', () => {
  expect(isRunning({ pid: process.pid, started: '' })).toBe(true);
});

test('one that has ended does not run, whatever is known of it', async () => {
  const child = spawn(process.execPath, ['-e', '']);
  const { pid } = child;
  await once(child, 'exit');
  expect(isRunning({ pid: pid!, started: '' })).toBe(false);
  expect(isRunning({ pid: pid!, started: 'boot/1' })).toBe(false);
});
