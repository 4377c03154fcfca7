/** Draws cells. Colour says the region, and so does its letter where there is room; stripes say that nobody can write. */
import { type FleetSet, isMoving, NOBODY, UNKNOWN } from '../state/fleet.ts';
import type { Grid } from '../state/grid.ts';
import { type Colours, colours, PALETTE } from './colours.ts';

const LETTER_FROM = 16;
const NAME_FROM = 52;
/** Smaller ones are plain squares, which cover what was there before. */
const SQUARE_BELOW = 12;
/** Stripes smaller than this are not seen as such, and slow. */
const STRIPES_FROM = 8;

export class CellPainter {
  readonly #context: CanvasRenderingContext2D;
  readonly #grid: Grid;
  readonly #letters: readonly string[];
  readonly #regions: readonly string[];
  readonly #colours: Colours = colours();
  readonly #stripes: CanvasPattern;

  constructor(canvas: HTMLCanvasElement, grid: Grid, regions: readonly string[], letters: readonly string[]) {
    const scale = devicePixelRatio;
    canvas.width = Math.round(grid.width * scale);
    canvas.height = Math.round(grid.height * scale);
    canvas.style.width = `${grid.width}px`;
    canvas.style.height = `${grid.height}px`;
    this.#context = canvas.getContext('2d')!;
    this.#context.setTransform(scale, 0, 0, scale, 0, 0);
    this.#context.textAlign = 'center';
    this.#context.textBaseline = 'middle';
    this.#grid = grid;
    this.#letters = letters;
    this.#regions = regions;
    this.#stripes = stripes(this.#context, this.#colours, grid.pitch);
  }

  paint(place: number, set: FleetSet): void {
    const { pitch, gap, columns } = this.#grid;
    const x = (place % columns) * pitch;
    const y = Math.floor(place / columns) * pitch;
    const size = pitch - gap;
    const context = this.#context;
    if (size >= SQUARE_BELOW) context.clearRect(x, y, pitch, pitch);
    context.fillStyle = this.#fillOf(set);
    this.#box(x, y, size);
    // Too small for both: that nobody can write matters more.
    if (isMoving(set) && (size >= 10 || set.writable !== NOBODY)) this.#outline(x, y, size);
    if (size >= LETTER_FROM) this.#letter(set, x, y, size);
  }

  #fillOf({ writable }: FleetSet): string | CanvasPattern {
    if (writable === NOBODY)
      return this.#grid.pitch < STRIPES_FROM ? this.#colours.nobodyStripe : this.#stripes;
    if (writable === UNKNOWN) return this.#colours.unknown;
    return this.#colours.regions[writable % PALETTE]!;
  }

  #box(x: number, y: number, size: number): void {
    const context = this.#context;
    if (size < SQUARE_BELOW) {
      context.fillRect(x, y, size, size);
      return;
    }
    context.beginPath();
    context.roundRect(x, y, size, size, Math.min(6, size / 8));
    context.fill();
  }

  #outline(x: number, y: number, size: number): void {
    const context = this.#context;
    const width = size >= 24 ? 3 : size >= 10 ? 2 : 1;
    context.lineWidth = width;
    context.strokeStyle = this.#colours.ink;
    if (size >= 24) {
      context.beginPath();
      context.roundRect(x + width / 2, y + width / 2, size - width, size - width, Math.min(6, size / 8));
      context.stroke();
    } else context.strokeRect(x + width / 2, y + width / 2, size - width, size - width);
  }

  #letter(set: FleetSet, x: number, y: number, size: number): void {
    const context = this.#context;
    const { writable, writer } = set;
    const region = writable >= 0 ? writable : this.#regions.indexOf(writer ?? '');
    const letter = writable >= 0 ? (this.#letters[region] ?? '') : '–';
    context.fillStyle =
      writable >= 0
        ? this.#colours.onRegions[writable % PALETTE]!
        : writable === NOBODY
          ? '#fff'
          : this.#colours.muted;
    const hasName = size >= NAME_FROM;
    const fontSize = Math.min(26, Math.round(size * 0.42));
    context.font = `650 ${fontSize}px system-ui, sans-serif`;
    context.fillText(letter, x + size / 2, y + size / 2 - (hasName ? 8 : 0));
    if (!hasName) return;
    context.font = '12px system-ui, sans-serif';
    context.fillText(ending(set.name), x + size / 2, y + size / 2 + 15, size - 6);
  }
}

/** Of a long name, what tells it from its neighbours. */
function ending(name: string): string {
  return name.length <= 12 ? name : `…${name.slice(-10)}`;
}

function stripes(
  context: CanvasRenderingContext2D,
  { nobody, nobodyStripe }: Colours,
  pitch: number,
): CanvasPattern {
  const step = pitch >= 24 ? 12 : 6;
  const tile = document.createElement('canvas');
  tile.width = step;
  tile.height = step;
  const draw = tile.getContext('2d')!;
  draw.fillStyle = nobody;
  draw.fillRect(0, 0, step, step);
  draw.strokeStyle = nobodyStripe;
  draw.lineWidth = step / 3.5;
  for (const shift of [-step, 0, step]) {
    draw.beginPath();
    draw.moveTo(shift - 1, step + 1);
    draw.lineTo(shift + step + 1, -1);
    draw.stroke();
  }
  return context.createPattern(tile, 'repeat')!;
}
