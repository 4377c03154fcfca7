import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { EventQueue } from './event-queue.ts';

function drain(queue: EventQueue): { now: number; first: number }[] {
  const taken: { now: number; first: number }[] = [];
  while (queue.pop()) taken.push({ now: queue.now, first: queue.first });
  return taken;
}

describe('the event queue', () => {
  test('gives events by time, and those of one moment in the order they came', () => {
    const times = fc.array(fc.integer({ min: 0, max: 40 }), { maxLength: 3000, size: 'max' });
    fc.assert(
      fc.property(times, (list) => {
        const queue = new EventQueue();
        for (const [at, time] of list.entries()) queue.push(time, 1, at, 0);
        const expected = list
          .map((now, first) => ({ now, first }))
          .sort((a, b) => a.now - b.now || a.first - b.first);
        expect(drain(queue)).toEqual(expected);
      }),
      { seed: 1, numRuns: 100 },
    );
  });

  test('keeps order while events come and go', () => {
    const steps = fc.array(fc.option(fc.integer({ min: 0, max: 9 }), { nil: undefined }), {
      maxLength: 2000,
      size: 'max',
    });
    fc.assert(
      fc.property(steps, (list) => {
        const queue = new EventQueue();
        const waiting: { time: number; order: number }[] = [];
        let order = 0;
        for (const step of list) {
          if (step !== undefined) {
            order += 1;
            const time = queue.now + step;
            queue.push(time, 1, order, 0);
            waiting.push({ time, order });
            continue;
          }
          waiting.sort((a, b) => a.time - b.time || a.order - b.order);
          const next = waiting.shift();
          expect(queue.pop()).toBe(next !== undefined);
          if (next !== undefined) expect([queue.now, queue.first]).toEqual([next.time, next.order]);
        }
        expect(queue.size).toBe(waiting.length);
      }),
      { seed: 2, numRuns: 100 },
    );
  });

  test('carries what it was given, and lets go of it', () => {
    const queue = new EventQueue();
    const object = { a: 1 };
    queue.push(5, 7, 8, 9, object, 'other');
    expect(queue.pop()).toBe(true);
    const { now, kind, first, second, object: carried, other } = queue;
    expect({ now, kind, first, second, carried, other }).toEqual({
      now: 5,
      kind: 7,
      first: 8,
      second: 9,
      carried: object,
      other: 'other',
    });
    expect(queue.pop()).toBe(false);
  });
});
