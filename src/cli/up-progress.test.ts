import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { LocalEvent } from '../server/index.ts';
import { Screen, UpProgress } from './up-progress.ts';

const CLEAR_LINE = '\r\u001B[K';

let written = '';

beforeEach(() => {
  written = '';
  vi.useFakeTimers();
});

afterEach(() => vi.useRealTimers());

function screenOn(isTTY: boolean): Screen {
  const write = (text: string): boolean => (written += text) !== '';
  return new Screen({ isTTY, columns: 40, write } as unknown as NodeJS.WriteStream);
}

/** What stands in the line of the cursor. */
const lastLine = (): string => written.split(CLEAR_LINE).at(-1)!.split('\n').at(-1)!;

const event = (type: 'starting' | 'ready', role: 'acceptor' | 'node'): LocalEvent => ({
  type,
  process: 'x',
  role,
});

test('without a terminal: plain lines for what is ready, and now and then for what is awaited', () => {
  const progress = new UpProgress(screenOn(false));
  for (const type of ['starting', 'starting', 'ready'] as const) progress.tell(event(type, 'acceptor'));
  expect(written).toBe('');
  vi.advanceTimersByTime(5000);
  expect(written).toMatch(/^ {2}waiting for acceptors: 1 of 2, [\d.]+ s so far\n$/);
  written = '';
  progress.tell(event('ready', 'acceptor'));
  expect(written).toMatch(/^ {2}acceptors +2 of 2 ready +[\d.]+ s\n$/);
  progress.reach('partition-sets', 3, 16);
  progress.end();
  vi.advanceTimersByTime(60_000);
  expect(written).not.toMatch(/partition-sets/);
  expect(written).not.toContain('\r');
});

test('on a terminal: one line that changes in place, below what is ready, and gone in the end', () => {
  const progress = new UpProgress(screenOn(true));
  progress.tell(event('starting', 'acceptor'));
  progress.tell(event('starting', 'node'));
  expect(lastLine()).toBe('  acceptors: 0 of 1, nodes: 0 of 1 ...');
  written = '';
  progress.tell(event('ready', 'acceptor'));
  expect(written).toMatch(/ {2}acceptors +1 of 1 ready +[\d.]+ s\n/);
  expect(lastLine()).toBe('  nodes: 0 of 1 ...');
  written = '';
  progress.end();
  expect(written).toBe(CLEAR_LINE);
});
