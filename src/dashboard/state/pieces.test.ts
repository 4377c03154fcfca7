import { describe, expect, test } from 'vitest';
import { cellAfterKey, cellAt, gridFor, inOrder } from './grid.ts';
import { lettersFor } from './letters.ts';
import { EventParser } from './sse.ts';
import { bars, barWidth, moments, percentiles, shareDone, sorted } from './statistics.ts';
import type { FleetSet } from './fleet.ts';

describe('server-sent events', () => {
  const text =
    ': alive\n\nevent: sets\ndata: {"a":1}\n\nevent: node\r\ndata: {\r\ndata: }\r\n\r\nevent: half\ndata: 1';

  test('come out the same however they are cut', () => {
    const whole = new EventParser().push(text);
    expect(whole).toEqual([
      { type: 'sets', data: '{"a":1}' },
      { type: 'node', data: '{\n}' },
    ]);
    for (let size = 1; size < 9; size += 1) {
      const parser = new EventParser();
      const found = [];
      for (let at = 0; at < text.length; at += size) found.push(...parser.push(text.slice(at, at + size)));
      expect(found).toEqual(whole);
      expect(parser.pending).toBe('event: half\ndata: 1'.length);
    }
  });
});

describe('the grid', () => {
  test.each([
    [1, 900, 430],
    [16, 900, 430],
    [997, 900, 430],
    [10_000, 900, 430],
    [10_000, 340, 430],
  ])('of %i cells fits the width %i', (count, width, height) => {
    const grid = gridFor(count, width, height);
    expect(grid.width).toBeLessThanOrEqual(width);
    expect(grid.columns * grid.rows).toBeGreaterThanOrEqual(count);
    expect(grid.columns * (grid.rows - 1)).toBeLessThan(count);
    if (grid.pitch > 4) expect(grid.height).toBeLessThanOrEqual(height);
  });

  test('finds the cell under a point, and none beside them', () => {
    const grid = gridFor(10, 560, 430);
    expect(cellAt(grid, 10, grid.pitch * 1.5, grid.pitch * 1.5)).toBe(grid.columns + 1);
    expect(cellAt(grid, 10, -1, 0)).toBeUndefined();
    expect(cellAt(grid, 10, 0, grid.pitch * 9)).toBeUndefined();
  });

  test.each([
    ['ArrowRight', 4, 5],
    ['ArrowLeft', 0, 0],
    ['ArrowDown', 4, 14],
    ['ArrowDown', 24, 24],
    ['ArrowUp', 14, 4],
    ['End', 4, 24],
    ['Home', 4, 0],
    ['x', 4, undefined],
  ])('%s leads from %i to %s', (key, from, to) => {
    expect(cellAfterKey(key, from, 10, 25)).toBe(to);
  });

  test('has names in the order in which people count', () => {
    const set = (container: string, name: string) => ({ container, name }) as FleetSet;
    const sets = [set('b', 's-1'), undefined, set('a', 's-10'), set('a', 's-9')];
    expect(inOrder(sets).map(({ container, name }) => container + name)).toEqual(['as-9', 'as-10', 'bs-1']);
  });
});

test.each([
  [
    ['east', 'west', 'north'],
    ['E', 'W', 'N'],
  ],
  [
    ['east', 'europe', 'ea'],
    ['E', 'EU', 'EA'],
  ],
  [
    ['East Asia', 'East US'],
    ['EA', 'EU'],
  ],
  [
    ['eu-west-1', 'eu-west-2'],
    ['EW1', 'EW2'],
  ],
  [
    ['aa', 'aa'],
    ['A', 'AA'],
  ],
])('letters of %j', (regions, letters) => {
  expect(lettersFor(regions)).toEqual(letters);
});

describe('durations', () => {
  test('have percentiles that are values of theirs', () => {
    const values = sorted([5, 1, 4, 2, 3, 10, 9, 8, 7, 6]);
    expect(percentiles(values)).toEqual({ p50: 5, p90: 9, p99: 10, max: 10 });
    expect(percentiles([])).toBeUndefined();
  });

  test('fall into bars of a width that people read', () => {
    expect(barWidth(4.1)).toBe(0.2);
    expect(barWidth(47)).toBe(2);
    expect(bars([0.1, 0.9, 1, 2.5], 1, 2.5)).toEqual({ width: 1, counts: [2, 1, 1] });
  });

  test('are done by and by', () => {
    expect(shareDone([1, 2, 2, 4], [0, 1, 2, 3, 4])).toEqual([0, 0.25, 0.75, 0.75, 1]);
    const at = moments(10, 10);
    expect(at[0]).toBe(0);
    expect(at.at(-1)).toBeGreaterThan(10);
  });
});
