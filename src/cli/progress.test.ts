import { describe, expect, test } from 'vitest';
import { duration, progressBar, progressLine } from './progress.ts';

describe('the progress bar', () => {
  test('says how much is done and how long the rest takes at this pace', () => {
    expect(progressLine(0, 4000, 'seeds', 1000)).toBe(`[${'.'.repeat(30)}] 0/4,000 seeds`);
    expect(progressLine(1000, 4000, 'seeds', 30_000)).toBe(
      `[${'#'.repeat(8)}${'.'.repeat(22)}] 1,000/4,000 seeds, 1 min 30 s left`,
    );
    expect(progressLine(4000, 4000, 'seeds', 30_000)).toBe(`[${'#'.repeat(30)}] 4,000/4,000 seeds, 0 s left`);
  });

  test.each([
    [59, '59 s'],
    [61, '1 min 1 s'],
    [7260, '2 h 1 min'],
  ])('writes %d seconds as %s', (seconds, text) => {
    expect(duration(seconds)).toBe(text);
  });

  test('is for terminals, shows the end, and goes away', () => {
    const written: string[] = [];
    const terminal = { isTTY: true, write: (text: string) => written.push(text) };
    const bar = progressBar('seeds', terminal);
    bar.update(1, 3);
    bar.update(2, 3);
    bar.update(3, 3);
    bar.clear();
    expect(written.map((text) => /\d\/3/.exec(text)?.[0])).toEqual(['1/3', '3/3', undefined]);
    expect(written.at(-1)).toBe('\r\u001B[K');

    const silent = progressBar('seeds', { ...terminal, isTTY: false });
    silent.update(1, 3);
    silent.clear();
    expect(written).toHaveLength(3);
  });
});
