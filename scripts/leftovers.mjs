/**
 * Finds the processes that a run left behind: those that carry its mark, BATON_RUN, in their environment and do not end
 * within a few seconds. Lists and ends them, and fails if there was one. Only Linux shows others' environments.
 *
 *     node scripts/leftovers.mjs MARK
 */
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { runScript, ScriptError } from './run.mjs';

const GRACE_SECONDS = 5;

await runScript(async () => {
  if (process.platform !== 'linux')
    throw new ScriptError('Processes left behind can be found on Linux only.');
  const mark = `BATON_RUN=${process.argv[2]}`;
  const deadline = Date.now() + GRACE_SECONDS * 1000;
  let left = processesWith(mark);
  while (left.length > 0 && Date.now() < deadline) {
    await sleep(100);
    left = processesWith(mark);
  }
  for (const pid of left) {
    process.stdout.write(`left behind: ${pid} ${read(pid, 'cmdline').replaceAll('\0', ' ')}\n`);
    end(Number(pid));
  }
  return left.length === 0 ? 0 : 1;
});

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
