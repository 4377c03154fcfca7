/** A process, told apart from a later one with the same number: for claims that a process which is gone must not hold. */
import { readFileSync } from 'node:fs';

export interface ProcessName {
  readonly pid: number;
  /** Empty: this system does not tell. */
  readonly started: string;
}

/** It has ended and only waits for its parent to notice. */
const ZOMBIE = 'zombie';

export function thisProcess(): ProcessName {
  return { pid: process.pid, started: startOf(process.pid) ?? '' };
}

/** Where it cannot be known whether the process of that number is the one that is meant, it is taken for it. */
export function isRunning({ pid, started }: ProcessName): boolean {
  const start = startOf(pid);
  if (start === ZOMBIE) return false;
  return start === undefined || started === '' ? exists(pid) : start === started;
}

function exists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Linux tells when a process began, in ticks since boot, and which boot it was, unless that is hidden; elsewhere the number must do. */
function startOf(pid: number): string | undefined {
  if (process.platform !== 'linux') return undefined;
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (fields[0] === 'Z' || fields[0] === 'X') return ZOMBIE;
    const ticks = fields[19];
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();
    return `${boot}/${ticks}`;
  } catch {
    return undefined;
  }
}
