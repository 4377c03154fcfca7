import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { serveBin, shareCores } from './processors.ts';

const BIN_MS = 10;

interface Cores {
  readonly cores: number;
  readonly widths: readonly number[];
}

function cores(count: number, ...widths: readonly number[]): Cores {
  return { cores: count, widths };
}

/** `work[process][bin]`; what new work would wait at the end of each bin, in the same order. */
function waits(work: readonly (readonly number[])[], shared: Cores): number[][] {
  const queue = { ...shared, binMs: BIN_MS, backlog: work.map(() => 0) };
  const found: number[][] = work.map(() => []);
  for (const bin of work[0]!.keys()) {
    for (const [process, row] of work.entries()) queue.backlog[process]! += row[bin]!;
    for (const [process, wait] of serveBin(queue).entries()) found[process]!.push(wait);
  }
  return found;
}

describe('the cores of one bin', () => {
  test.each([
    ['enough for all', [3, 4], [1, 1], 20, [3, 4]],
    ['a process has one thread', [30, 4], [1, 1], 20, [10, 4]],
    ['several processes have several', [30, 4], [2, 1], 40, [20, 4]],
    ['equal shares for those who want more', [9, 8, 7], [1, 1, 1], 15, [5, 5, 5]],
    ['what one leaves goes to the others', [9, 1, 8], [1, 1, 1], 11, [5, 1, 5]],
    ['a region of two processes counts twice', [20, 10], [2, 1], 9, [6, 3]],
    ['nobody wants anything', [0, 0], [1, 1], 20, [0, 0]],
  ])('%s', (_, wanted, widths, available, served) => {
    expect(shareCores(wanted, widths, BIN_MS, available)).toEqual(served);
  });
});

describe('the wait', () => {
  test('is what is left over, at the rate of one core, until it is done', () => {
    expect(waits([[35, 0, 0, 0, 0]], cores(2, 1))).toEqual([[25, 15, 5, 0, 0]]);
  });

  test('is longer for all who share a core that is too small', () => {
    // Each has half a core: 10 ms of work take 20 ms.
    const row = [10, 0, 0];
    expect(waits([row, row], cores(1, 1, 1))).toEqual([
      [10, 0, 0],
      [10, 0, 0],
    ]);
  });

  test('is not longer for those who want little', () => {
    const [busy, modest] = waits(
      [
        [50, 0, 0, 0],
        [2, 2, 2, 2],
      ],
      cores(1, 1, 1),
    );
    expect(modest).toEqual([0, 0, 0, 0]);
    // 8 of 10 ms are left for it.
    expect(busy!.map(Math.round)).toEqual([53, 43, 33, 23]);
  });
});

const AMOUNT = fc.double({ min: 0, max: 30, noNaN: true });
const PROCESSES = fc
  .tuple(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 1, max: 30 }))
  .chain(([processes, bins]) => {
    const row = fc.array(AMOUNT, { minLength: bins, maxLength: bins });
    return fc.array(row, { minLength: processes, maxLength: processes });
  });
const CORES = fc.double({ min: 0.1, max: 4, noNaN: true });
const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

describe('whatever the work', () => {
  test('cores are neither made nor left idle, and nobody gets more than it wants or can use', () => {
    const wanted = fc.array(fc.tuple(AMOUNT, fc.integer({ min: 1, max: 3 })), { minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(wanted, CORES, (list, count) => {
        const [work, widths] = [list.map(([amount]) => amount), list.map(([, width]) => width)];
        const usable = list.map(([amount, width]) => Math.min(amount, width * BIN_MS));
        const served = shareCores(work, widths, BIN_MS, count * BIN_MS);
        expect(sum(served)).toBeCloseTo(Math.min(sum(usable), count * BIN_MS), 6);
        for (const [process, amount] of served.entries())
          expect(amount).toBeLessThanOrEqual(usable[process]! + 1e-9);
        // Whoever did not get all has no less, for its width, than anybody else.
        const most = Math.max(...served.map((amount, process) => amount / widths[process]!));
        for (const [process, amount] of served.entries())
          if (amount < usable[process]! - 1e-9) expect(amount / widths[process]!).toBeCloseTo(most, 6);
      }),
      { seed: 1, numRuns: 300 },
    );
  });

  test('no work is lost: what waits at the end is done in the time that it is said to take', () => {
    fc.assert(
      fc.property(fc.array(AMOUNT, { minLength: 1, maxLength: 40 }), CORES, (row, count) => {
        const rate = Math.min(1, count);
        const last = waits([row], cores(count, 1))[0]!.at(-1)!;
        // Served: whatever was there, at full speed while there was anything.
        let left = 0;
        for (const amount of row) left = Math.max(0, left + amount - rate * BIN_MS);
        expect(last * rate).toBeCloseTo(left, 6);
        const idle = [...row, ...Array.from({ length: Math.ceil(last / BIN_MS) + 1 }, () => 0)];
        expect(waits([idle], cores(count, 1))[0]!.at(-1)).toBe(0);
      }),
      { seed: 2, numRuns: 300 },
    );
  });

  test('nobody waits where each bin has room for its work', () => {
    fc.assert(
      fc.property(PROCESSES, (work) => {
        const modest = work.map((row) => row.map((amount) => Math.min(amount, BIN_MS)));
        const widths = work.map(() => 1);
        expect(waits(modest, cores(work.length, ...widths)).flat()).toEqual(modest.flat().map(() => 0));
      }),
      { seed: 3, numRuns: 200 },
    );
  });

  test('more work of one process shortens none of its waits', () => {
    const more = fc.tuple(PROCESSES, fc.nat({ max: 29 }), AMOUNT, CORES);
    fc.assert(
      fc.property(more, ([work, at, extra, count]) => {
        const greater = work.map((row, process) =>
          row.map((amount, bin) => (process === 0 && bin === at % row.length ? amount + extra : amount)),
        );
        const of = cores(count, ...work.map(() => 1));
        const [before, after] = [waits(work, of)[0]!, waits(greater, of)[0]!];
        for (const [bin, wait] of before.entries()) expect(after[bin]).toBeGreaterThanOrEqual(wait - 1e-6);
      }),
      { seed: 4, numRuns: 300 },
    );
  });
});
