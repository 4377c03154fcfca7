/** A line on standard error that says how far a long command is, for people: whoever reads a pipe sees nothing of it. */

export interface Progress {
  readonly update: (done: number, inAll: number) => void;
  /** Takes the line away, before anything else is printed. */
  readonly clear: () => void;
}

interface Terminal {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

const WIDTH = 30;
const REFRESH_MS = 100;
const CLEAR_LINE = '\r\u001B[K';

export function progressBar(unit: string, terminal: Terminal = process.stderr): Progress {
  if (terminal.isTTY !== true) return { update: () => {}, clear: () => {} };
  const startedAt = performance.now();
  let shownAt = -Infinity;
  return {
    update(done, inAll) {
      const now = performance.now();
      if (now - shownAt < REFRESH_MS && done < inAll) return;
      shownAt = now;
      terminal.write(`${CLEAR_LINE}${progressLine(done, inAll, unit, now - startedAt)}`);
    },
    clear: () => terminal.write(CLEAR_LINE),
  };
}

export function progressLine(done: number, inAll: number, unit: string, elapsedMs: number): string {
  const share = inAll === 0 ? 1 : done / inAll;
  const bar = '#'.repeat(Math.round(share * WIDTH)).padEnd(WIDTH, '.');
  const counted = `${done.toLocaleString('en')}/${inAll.toLocaleString('en')} ${unit}`;
  if (done === 0) return `[${bar}] ${counted}`;
  return `[${bar}] ${counted}, ${duration(Math.ceil((elapsedMs / 1000) * (1 / share - 1)))} left`;
}

/** In the two largest units that matter. */
export function duration(seconds: number): string {
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
}
