/**
 * The fleet, a cell for each partition-set, on a canvas: ten thousand elements would be slow, ten thousand rectangles are not, and
 * of those only the ones that changed are drawn again. The canvas can be walked through with the arrow keys; what is under the
 * focus or the pointer stands beside it as text, which is also what a screen reader says.
 */
import type { JSX } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { type FleetSet, isMoving, NOBODY, UNKNOWN } from '../state/fleet.ts';
import { cellAfterKey, cellAt, type Grid, gridFor, inOrder } from '../state/grid.ts';
import { lettersFor } from '../state/letters.ts';
import { useFlush, useSeen, useStore } from '../store.ts';
import { CellPainter } from './cell-painter.ts';
import { useTheme } from './colours.ts';
import { count } from './format.ts';
import { openSet } from './route.ts';

const WISHED_HEIGHT = 430;

export function HeatMap(): JSX.Element {
  const { model } = useStore();
  const shape = useSeen(({ fleet }) => fleet.shape);
  const sets = useMemo(() => inOrder(model.fleet.sets), [shape]);
  const [width, measure] = useWidth();
  const grid = useMemo(() => gridFor(sets.length, width, WISHED_HEIGHT), [sets, width]);
  const [focused, setFocused] = useState(0);
  const [pointed, setPointed] = useState<number | undefined>(undefined);
  const [hasFocus, setHasFocus] = useState(false);
  const canvas = useCells(sets, grid);
  const cell = Math.min(pointed ?? focused, sets.length - 1);
  const at = (event: MouseEvent): number | undefined =>
    cellAt(grid, sets.length, event.offsetX, event.offsetY);
  const open = (index: number | undefined): void => {
    const set = index === undefined ? undefined : sets[index];
    if (set !== undefined) openSet(set.name);
  };
  const onKey = (event: KeyboardEvent): void => {
    if (event.key === 'Enter' || event.key === ' ') open(focused);
    const next = cellAfterKey(event.key, focused, grid.columns, sets.length);
    if (next !== undefined) setFocused(next);
    if (next !== undefined || event.key === ' ') event.preventDefault();
    setPointed(undefined);
  };
  return (
    <div class="heat" ref={measure}>
      <div class="heat-cells">
        <canvas
          ref={canvas}
          tabIndex={0}
          role="application"
          aria-roledescription="heat map"
          aria-label={`${count(sets.length)} partition-sets by write region. Use the arrow keys to move and Enter to open one.`}
          aria-describedby="heat-cell"
          onKeyDown={onKey}
          onFocus={() => setHasFocus(true)}
          onBlur={() => setHasFocus(false)}
          onPointerMove={(event) => setPointed(at(event))}
          onPointerLeave={() => setPointed(undefined)}
          onClick={(event) => open(at(event))}
        />
        {sets.length > 0 && (hasFocus || pointed !== undefined) && <Ring grid={grid} cell={cell} />}
      </div>
      <CellText set={hasFocus || pointed !== undefined ? sets[cell] : undefined} isSpoken={hasFocus} />
    </div>
  );
}

function useWidth(): [number, { current: HTMLDivElement | null }] {
  const place = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(600);
  useEffect(() => {
    const element = place.current!;
    const sizes = new ResizeObserver(() => setWidth(Math.max(120, Math.floor(element.clientWidth))));
    sizes.observe(element);
    return () => sizes.disconnect();
  }, []);
  return [width, place];
}

/** Of a frame, so much goes into cells; the rest of them wait for the next one. */
const BUDGET_MS = 5;
const BETWEEN_LOOKS = 100;

/** Draws all cells when their places change, and later those that changed. */
function useCells(sets: readonly FleetSet[], grid: Grid): { current: HTMLCanvasElement | null } {
  const { model } = useStore();
  const canvas = useRef<HTMLCanvasElement>(null);
  const drawing = useRef<CellDrawing | undefined>(undefined);
  const theme = useTheme();
  const regions = useSeen(({ fleet }) => fleet.regions.length);
  useEffect(() => {
    const { fleet } = model;
    const painter = new CellPainter(canvas.current!, grid, fleet.regions, lettersFor(fleet.regions));
    const made = new CellDrawing(painter, sets);
    drawing.current = made;
    made.add(sets.map(({ index }) => index));
    return () => made.stop();
  }, [sets, grid, theme, regions]);
  useFlush(() => drawing.current?.add(model.fleet.changed));
  return canvas;
}

class CellDrawing {
  readonly #painter: CellPainter;
  readonly #sets = new Map<number, readonly [place: number, set: FleetSet]>();
  readonly #waiting = new Set<number>();
  #frame = 0;

  constructor(painter: CellPainter, sets: readonly FleetSet[]) {
    this.#painter = painter;
    for (const [place, set] of sets.entries()) this.#sets.set(set.index, [place, set]);
  }

  add(indexes: Iterable<number>): void {
    for (const index of indexes) this.#waiting.add(index);
    if (this.#frame === 0) this.#some();
  }

  stop(): void {
    cancelAnimationFrame(this.#frame);
    this.#waiting.clear();
  }

  #some(): void {
    this.#frame = 0;
    const until = performance.now() + BUDGET_MS;
    let left = BETWEEN_LOOKS;
    for (const index of this.#waiting) {
      this.#waiting.delete(index);
      const found = this.#sets.get(index);
      if (found !== undefined) this.#painter.paint(...found);
      if ((left -= 1) > 0) continue;
      left = BETWEEN_LOOKS;
      if (performance.now() > until) break;
    }
    if (this.#waiting.size > 0) this.#frame = requestAnimationFrame(() => this.#some());
  }
}

function Ring({ grid, cell }: { readonly grid: Grid; readonly cell: number }): JSX.Element {
  const x = (cell % grid.columns) * grid.pitch;
  const y = Math.floor(cell / grid.columns) * grid.pitch;
  const size = `${grid.pitch - grid.gap}px`;
  return (
    <div class="heat-ring" style={{ transform: `translate(${x}px, ${y}px)`, width: size, height: size }} />
  );
}

function CellText({ set, isSpoken }: { readonly set: FleetSet | undefined; readonly isSpoken: boolean }) {
  const text = useSeen(({ fleet }) => (set === undefined ? '' : wordsOf(set, fleet.regions)));
  return (
    <p class="heat-text" id="heat-cell" aria-live={isSpoken ? 'polite' : 'off'}>
      {text === '' ? 'Point at a cell or use the arrow keys to see its details.' : text}
    </p>
  );
}

export function wordsOf(set: FleetSet, regions: readonly string[]): string {
  const moving = isMoving(set)
    ? set.phase === 'Graceful'
      ? `, planned move to ${set.target ?? 'another region'} in progress`
      : ', electing a write region'
    : '';
  return `${set.name} (${set.container}): ${whoWrites(set, regions)}${moving}; GCN ${set.gcn}.`;
}

function whoWrites({ writable, writer }: FleetSet, regions: readonly string[]): string {
  if (writable === UNKNOWN) return 'state unknown';
  if (writable !== NOBODY) return `writable in ${regions[writable]}`;
  return writer === null ? 'not writable' : `not writable (write region ${writer})`;
}
