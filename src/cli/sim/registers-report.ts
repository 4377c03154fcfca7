/** Text about runs: what happened how often, and faults by the phase that they met. */

/** Keys of the form `FAULT x PHASE` become a table of the one by the other; the others a list. */
export function countsTable(counts: Readonly<Record<string, number>>): string {
  const pairs: (readonly [string, string, number])[] = [];
  const others: (readonly [string, number])[] = [];
  for (const [name, times] of Object.entries(counts)) {
    const [fault, phase, ...rest] = name.split(' x ');
    if (phase !== undefined && rest.length === 0) pairs.push([fault!, phase, times]);
    else others.push([name, times]);
  }
  return [list(others), grid(pairs)].filter((part) => part !== '').join('\n');
}

function list(counts: readonly (readonly [string, number])[]): string {
  if (counts.length === 0) return '';
  const width = widest(['what happened', ...counts.map(([name]) => name)]);
  const lines = counts.map(([name, times]) => `${name.padEnd(width)} ${number(times).padStart(12)}`);
  return `${'what happened'.padEnd(width)} ${'times'.padStart(12)}\n${lines.join('\n')}\n`;
}

function grid(pairs: readonly (readonly [string, string, number])[]): string {
  if (pairs.length === 0) return '';
  const faults = [...new Set(pairs.map(([fault]) => fault))];
  const phases = [...new Set(pairs.map(([, phase]) => phase))].sort();
  const first = widest(['fault, by phase', ...faults]);
  const width = Math.max(9, widest(phases));
  const timesOf = (fault: string, phase: string): string =>
    number(pairs.find((pair) => pair[0] === fault && pair[1] === phase)?.[2] ?? 0);
  const line = (head: string, cells: readonly string[]): string =>
    `${head.padEnd(first)} ${cells.map((cell) => cell.padStart(width)).join(' ')}\n`;
  const rows = faults.map((fault) =>
    line(
      fault,
      phases.map((phase) => timesOf(fault, phase)),
    ),
  );
  return `${line('fault, by phase', phases)}${rows.join('')}`;
}

export function number(value: number): string {
  return value.toLocaleString('en');
}

export function counted(count: number, noun: string): string {
  return `${number(count)} ${noun}${count === 1 ? '' : 's'}`;
}

export function indented(lines: readonly string[]): string {
  return lines.map((line) => `  ${line.replaceAll('\n', '\n  ')}`).join('\n');
}

export function virtualTime(ms: number): string {
  const seconds = ms / 1000;
  if (seconds < 120) return `${seconds.toFixed(1)} s`;
  return seconds < 7200 ? `${(seconds / 60).toFixed(1)} min` : `${(seconds / 3600).toFixed(1)} h`;
}

function widest(texts: readonly string[]): number {
  return Math.max(...texts.map((text) => text.length));
}
