/**
 * Finds the processes that a run left behind: those that carry its mark, BATON_RUN, in their environment and do not end
 * within a few seconds. Only Linux shows others' environments.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

const GRACE_SECONDS = 5;

/** Ends what still runs after a moment, and tells its process ids and command lines. */
export async function endLeftovers(run) {
  const mark = `BATON_RUN=${run}`;
  const deadline = Date.now() + GRACE_SECONDS * 1000;
  let left = processesWith(mark);
  while (left.length > 0 && Date.now() < deadline) {
    await sleep(100);
    left = processesWith(mark);
  }
  const lines = left.map((pid) => `${pid} ${read(pid, 'cmdline').replaceAll('\0', ' ')}`);
  for (const pid of left) end(Number(pid));
  return lines;
}

function processesWith(mark) {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid);
  return pids.filter((pid) => read(pid, 'environ').split('\0').includes(mark));
}

function read(pid, file) {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return ''; // It has ended, or belongs to somebody else.
  }
}

function end(pid) {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if (error.code !== 'ESRCH') throw error;
  }
}
