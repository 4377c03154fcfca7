import { describe, expect, test } from 'vitest';
import { Watch } from './watch.ts';

const beat = (gcn: number, at: number, writer = 'a') => ({ gcn, writer, beat: at });

describe('watching the writer (rule 4)', () => {
  test('the wait counts from when the beat was learned, and a repeated one does not restart it', () => {
    const watch = new Watch();
    watch.onBeat(beat(1, 5), 100);
    watch.onBeat(beat(1, 5), 900);
    expect(watch.silence(1000)).toEqual({ gcn: 1, writer: 'a', beat: 5, waitedMs: 900 });
  });

  test('any change of the triple restarts it; an older one is no news', () => {
    const watch = new Watch();
    watch.onBeat(beat(1, 5), 100);
    watch.onBeat(beat(1, 6), 200);
    watch.onBeat(beat(1, 5), 300);
    expect(watch.silence(1000)).toMatchObject({ beat: 6, waitedMs: 800 });
    watch.onBeat(beat(2, 1, 'b'), 900);
    watch.onBeat(beat(1, 7), 950);
    expect(watch.silence(1000)).toEqual({ gcn: 2, writer: 'b', beat: 1, waitedMs: 100 });
  });

  test('rule 12: it remembers since when it held an earlier triple, exactly that one', () => {
    const watch = new Watch();
    watch.onBeat(beat(1, 5), 100);
    watch.onBeat(beat(2, 1, 'b'), 900);
    expect(watch.heldSince(beat(1, 5))).toBe(100);
    expect(watch.heldSince(beat(1, 4))).toBeUndefined();
  });

  test('after a suspension everything is counted anew', () => {
    const watch = new Watch();
    watch.onBeat(beat(1, 5), 100);
    watch.restart(5000);
    expect(watch.silence(5100)?.waitedMs).toBe(100);
    expect(watch.heldSince(beat(1, 5))).toBe(5000);
  });
});
