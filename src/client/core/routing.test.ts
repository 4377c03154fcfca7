import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { epkOf, epkRanges, rangeContains } from '../../engine/core/index.ts';
import { mapProblem, newerMap, type PartitionRange, routeOf, routesUnder } from './routing.ts';

const rangesOf = (parts: number): PartitionRange[] =>
  epkRanges(parts).map((range, index) => ({ ...range, partitionSet: `items-${index}` }));

describe('the map of a container', () => {
  test('leads every key to the one range that holds it', () => {
    const seen = new Set<string>();
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 40 }), fc.string(), (parts, key) => {
        const ranges = rangesOf(parts);
        const epk = epkOf([key]);
        const holders = ranges.filter((range) => rangeContains(range, epk));
        expect(holders).toHaveLength(1);
        const route = routeOf(epk, ranges);
        expect(route).toBe(holders[0]);
        seen.add(route!.partitionSet);
      }),
      { seed: 5, numRuns: 500 },
    );
    expect(seen.size).toBeGreaterThan(10);
  });

  test('leads a bound to the range that begins there', () => {
    for (const range of rangesOf(7)) expect(routeOf(range.min, rangesOf(7))).toEqual(range);
    expect(routeOf('FF', rangesOf(7))).toBeUndefined();
  });

  test('leads to nobody where it has a gap', () => {
    const [first, , last] = rangesOf(3);
    expect(routeOf(rangesOf(3)[1]!.min, [first!, last!])).toBeUndefined();
    expect(routeOf('00', [last!])).toBeUndefined();
    expect(routeOf('00', [])).toBeUndefined();
  });

  test('knows all ranges under the first parts of a hierarchical key', () => {
    const prefix = epkOf(['tenant']);
    const middle = `${prefix}20`;
    const ranges: PartitionRange[] = [
      { partitionSet: 'a', min: '', max: prefix.slice(0, 8) },
      { partitionSet: 'b', min: prefix.slice(0, 8), max: middle },
      { partitionSet: 'c', min: middle, max: `${prefix.slice(0, 30)}FF` },
      { partitionSet: 'd', min: `${prefix.slice(0, 30)}FF`, max: 'FF' },
    ];
    expect(mapProblem({ ranges })).toBeUndefined();
    expect(routesUnder(prefix, ranges).map(({ partitionSet }) => partitionSet)).toEqual(['b', 'c']);
    for (const user of ['x', 'y', 'z']) {
      expect(routesUnder(prefix, ranges)).toContain(routeOf(epkOf(['tenant', user]), ranges));
    }
  });

  test.each([
    ['nothing', [], 'The map has no ranges.'],
    ['a gap', [rangesOf(3)[0]!, rangesOf(3)[2]!], 'does not begin where'],
    ['an end that is missing', rangesOf(3).slice(0, 2), 'does not reach to the end'],
    ['a name twice', [rangesOf(1)[0]!, rangesOf(1)[0]!], 'twice'],
    ['an empty range', [{ partitionSet: 'a', min: '', max: '' }], 'is empty'],
  ])('with %s is refused', (_, ranges, problem) => {
    expect(mapProblem({ ranges })).toContain(problem);
  });

  test('gives way to a newer one only', () => {
    const [old, current] = [1, 2].map((version) => ({
      container: 'items',
      version,
      ranges: rangesOf(version),
    }));
    expect(newerMap(undefined, old!)).toBe(old);
    expect(newerMap(old, current!)).toBe(current);
    expect(newerMap(current, old!)).toBe(current);
  });
});
