/** Where the cells of the heat map lie, and where the arrow keys lead. */
import type { FleetSet } from './fleet.ts';

export interface Grid {
  readonly columns: number;
  readonly rows: number;
  /** Of a cell with its gap. */
  readonly pitch: number;
  readonly gap: number;
  readonly width: number;
  readonly height: number;
}

const LARGEST = 112;
/** What is left of the width may make them a little larger. */
const WIDEST = 136;
const SMALLEST = 4;

/** As large as fits into the width and a wished height; very many make it higher. */
export function gridFor(count: number, width: number, height: number): Grid {
  let pitch = LARGEST;
  while (pitch > SMALLEST && Math.ceil(count / columnsOf(width, pitch)) * pitch > height) pitch -= 1;
  const most = Math.max(1, Math.min(count, columnsOf(width, pitch)));
  const rows = Math.max(1, Math.ceil(count / most));
  // Few rows are filled evenly; of many, the last one may be short.
  const columns = rows <= 4 ? Math.max(1, Math.ceil(count / rows)) : most;
  pitch = Math.max(pitch, Math.min(WIDEST, Math.floor(width / columns), Math.floor(height / rows)));
  const gap = pitch >= 24 ? 4 : pitch >= 12 ? 2 : 1;
  return { columns, rows, pitch, gap, width: columns * pitch, height: rows * pitch };
}

function columnsOf(width: number, pitch: number): number {
  return Math.max(1, Math.floor(width / pitch));
}

export function cellAt(grid: Grid, count: number, x: number, y: number): number | undefined {
  const column = Math.floor(x / grid.pitch);
  const row = Math.floor(y / grid.pitch);
  if (column < 0 || column >= grid.columns || row < 0) return undefined;
  const cell = row * grid.columns + column;
  return cell < count ? cell : undefined;
}

/** Undefined: the key means nothing here. */
export function cellAfterKey(key: string, cell: number, columns: number, count: number): number | undefined {
  const to = (next: number): number => (next < 0 || next >= count ? cell : next);
  switch (key) {
    case 'ArrowRight':
      return to(cell + 1);
    case 'ArrowLeft':
      return to(cell - 1);
    case 'ArrowDown':
      return to(cell + columns);
    case 'ArrowUp':
      return to(cell - columns);
    case 'PageDown':
      return Math.min(count - 1, cell + columns * 10);
    case 'PageUp':
      return Math.max(0, cell - columns * 10);
    case 'Home':
      return 0;
    case 'End':
      return count - 1;
    default:
      return undefined;
  }
}

/** By container, then by name with numbers as people count. */
export function inOrder(sets: readonly (FleetSet | undefined)[]): readonly FleetSet[] {
  return sets
    .filter((set) => set !== undefined)
    .map((set): [string, FleetSet] => [`${counted(set.container)} ${counted(set.name)}`, set])
    .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
    .map(([, set]) => set);
}

/** With numbers of one length; a collator that counts would take twenty times as long. */
function counted(name: string): string {
  return name.replaceAll(/\d+/g, (digits) => digits.padStart(12, '0'));
}
