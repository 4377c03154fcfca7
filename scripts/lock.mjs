/**
 * A lock between processes that survives the death of its holder.
 *
 * Two `npm test` at once must not install into one folder together, and one that was killed must not block the next
 * for ever. "Delete the dead holder's file, then create mine" is the usual way and wrong: of two that saw the same dead
 * holder, the slower one deletes the new lock of the faster. So a lock is never deleted to be taken. It has
 * generations, files named 1, 2, 3 ...: the newest one says who holds it, and when that process is gone, or has emptied
 * the file to release it, whoever creates the next number has the lock. The file system lets only one do so.
 *
 * A process is known by its number and its time of start, because numbers come again (in a container, soon).
 */
import { linkSync, mkdirSync, readFileSync, readdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from './run.mjs';

const POLL_MILLISECONDS = 100;

/** Not from `node:timers/promises`: Node 14 lacks it, and is to be told that it is too old rather than what it lacks. */
const sleep = promisify(setTimeout);

/** Runs `action` while no other process runs one under the same name. `onWait` is told once who is in the way. */
export async function withLock(name, action, onWait = () => {}) {
  const folder = join(ROOT, '.cache', 'locks', name);
  mkdirSync(folder, { recursive: true });
  const file = await acquire(folder, onWait);
  try {
    return await action();
  } finally {
    release(file);
  }
}

async function acquire(folder, onWait) {
  let told = false;
  for (;;) {
    const newest = generations(folder).at(-1) ?? 0;
    const holder = liveHolder(join(folder, `${newest}`));
    if (holder === undefined) {
      if (createGeneration(folder, newest + 1)) return join(folder, `${newest + 1}`);
      continue;
    }
    if (!told) onWait(holder);
    told = true;
    await sleep(POLL_MILLISECONDS);
  }
}

/** Creates the file with its content in one step (a link), and checks that nobody is further already. */
function createGeneration(folder, generation) {
  const file = join(folder, `${generation}`);
  const draft = join(folder, `draft-${process.pid}`);
  writeFileSync(draft, JSON.stringify({ pid: process.pid, started: startOf(process.pid) }));
  try {
    linkSync(draft, file);
  } catch (error) {
    if (error.code === 'EEXIST') return false;
    throw error;
  } finally {
    rmSync(draft, { force: true });
  }
  const all = generations(folder);
  const first = all.at(-1) === generation;
  for (const old of first ? all.slice(0, -1) : [generation]) rmSync(join(folder, `${old}`), { force: true });
  return first;
}

function release(file) {
  try {
    truncateSync(file, 0);
  } catch (error) {
    if (error.code !== 'ENOENT') throw error; // Somebody removed the whole cache meanwhile.
  }
}

function generations(folder) {
  const numbers = readdirSync(folder).filter((name) => /^\d+$/.test(name));
  return numbers.map(Number).sort((left, right) => left - right);
}

function liveHolder(file) {
  let holder;
  try {
    holder = JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return undefined; // Absent or emptied: free.
  }
  const started = startOf(holder.pid);
  return started !== undefined && started === holder.started ? holder.pid : undefined;
}

/** When a process started, in the kernel's own count, '' where there is no /proc, undefined when it does not run. */
function startOf(pid) {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1).split(' ');
    return fields[0] === 'Z' ? undefined : fields[19];
  } catch {
    return process.platform === 'linux' || !answers(pid) ? undefined : '';
  }
}

function answers(pid) {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return error.code === 'EPERM';
  }
}
