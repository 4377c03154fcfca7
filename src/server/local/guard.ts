/**
 * A process that outlives the one that runs a cluster by a few seconds. It is told which processes belong to it; when its
 * standard input ends, because all is over or because that process was killed, it wakes those that were stopped by a signal,
 * gives all a moment to end by themselves, kills what is left, and removes the directories that were made for a while only.
 * A process number that meanwhile belongs to somebody else is left alone.
 *
 *   own PID START | gone PID | remove DIRECTORY
 */
import { rmSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { startOf } from './identity.ts';

const GRACE_MS = 4000;
const LOOK_MS = 100;

const owned = new Map<number, string>();
const directories = new Set<string>();

function onLine(line: string): void {
  const [order, first = '', started = ''] = line.split(' ');
  if (order === 'own') owned.set(Number(first), started);
  else if (order === 'gone') owned.delete(Number(first));
  else if (order === 'remove') directories.add(line.slice('remove '.length));
}

function signalAll(signal: NodeJS.Signals): void {
  for (const [pid, started] of owned) {
    if ((startOf(pid) ?? '') !== started) {
      owned.delete(pid);
      continue;
    }
    try {
      process.kill(pid, signal);
    } catch {
      owned.delete(pid);
    }
  }
}

async function cleanUp(): Promise<void> {
  for (let waited = 0; waited < GRACE_MS; waited += LOOK_MS) {
    signalAll('SIGCONT');
    if (owned.size === 0) break;
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
  signalAll('SIGKILL');
  const retries = { recursive: true, force: true, maxRetries: 20, retryDelay: 50 };
  for (const directory of directories) rmSync(directory, retries);
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});
const lines = createInterface({ input: process.stdin });
lines.on('line', onLine);
lines.on('close', () => void cleanUp());
