/** A process, told apart from a later one with the same number: for claims that a process which is gone must not hold. */
import { readFileSync } from 'node:fs';

export interface ProcessName {
  readonly pid: number;
  readonly started: string;
}

export function thisProcess(): ProcessName {
  return { pid: process.pid, started: startOf(process.pid) ?? '' };
}

export function isRunning(name: ProcessName): boolean {
  if (process.platform === 'linux') return startOf(name.pid) === name.started;
  try {
    process.kill(name.pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Linux tells when a process began, in ticks since boot, and which boot it was; elsewhere the number must do. */
function startOf(pid: number): string | undefined {
  if (process.platform !== 'linux') return undefined;
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    // A zombie is a process that has ended and only waits for its parent to notice.
    if (fields[0] === 'Z' || fields[0] === 'X') return undefined;
    const ticks = fields[19];
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();
    return `${boot}/${ticks}`;
  } catch {
    return undefined;
  }
}
