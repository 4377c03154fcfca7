/**
 * A process that outlives the tests by a moment. It is told which processes and directories the tests made; when its
 * standard input ends, because the tests are over or because their process is gone (killed, interrupted, crashed), it
 * kills what is left of them and removes the directories. It never touches a process it was not told of: a process
 * number that meanwhile belongs to somebody else is left alone.
 *
 *   own PID | gone PID | remove DIRECTORY
 */
import { readFileSync, rmSync } from 'node:fs';
import { createInterface } from 'node:readline';

const owned = new Map<number, string | undefined>();
const directories = new Set<string>();

/** Linux tells when a process began; together with its number that names it for ever. */
function startOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
  } catch {
    return undefined;
  }
}

function onLine(line: string): void {
  const space = line.indexOf(' ');
  const argument = line.slice(space + 1);
  const pid = Number(argument);
  switch (line.slice(0, space)) {
    case 'own':
      owned.set(pid, startOf(pid));
      break;
    case 'gone':
      owned.delete(pid);
      break;
    case 'remove':
      directories.add(argument);
      break;
    default:
      break;
  }
}

function cleanUp(): void {
  for (const [pid, started] of owned) {
    if (startOf(pid) !== started) continue;
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It was faster.
    }
  }
  const retries = { recursive: true, force: true, maxRetries: 20, retryDelay: 50 };
  for (const directory of directories) rmSync(directory, retries);
}

// Ctrl-C goes to the whole group of processes; this one stays until the others are gone.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});
const lines = createInterface({ input: process.stdin });
lines.on('line', onLine);
lines.on('close', cleanUp);
