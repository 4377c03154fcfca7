import { describe, expect, test } from 'vitest';
import { SimHost } from '../../test/failover/sim-host.ts';
import { type Sleeper, WakeQueue } from './wake-queue.ts';
import { WorkQueue } from './work-queue.ts';

class Napper implements Sleeper {
  wakeAt: number;
  readonly woken: number[] = [];
  readonly #host: SimHost;
  readonly #next: () => number;

  constructor(host: SimHost, wakeAt: number, next: () => number = () => Infinity) {
    this.#host = host;
    this.wakeAt = wakeAt;
    this.#next = next;
  }

  wake(): void {
    this.woken.push(this.#host.now());
    this.wakeAt = this.#next();
  }
}

describe('the wake queue', () => {
  test('wakes each at its time, whatever the order in which they came', () => {
    const host = new SimHost();
    const queue = new WakeQueue(host);
    const nappers = [50, 10, 30, 10, 70].map((at) => new Napper(host, at));
    for (const napper of nappers) queue.look(napper);
    host.run(60);
    expect(nappers.map(({ woken }) => woken)).toEqual([[50], [10], [30], [10], []]);
    host.run(100);
    expect(nappers[4]!.woken).toEqual([70]);
  });

  test('one that changes its mind is woken when it says last', () => {
    const host = new SimHost();
    const queue = new WakeQueue(host);
    const later = new Napper(host, 20);
    const sooner = new Napper(host, 90);
    for (const napper of [later, sooner]) queue.look(napper);
    later.wakeAt = 60;
    sooner.wakeAt = 5;
    for (const napper of [later, sooner]) queue.look(napper);
    host.run(200);
    expect([later.woken, sooner.woken]).toEqual([[60], [5]]);
  });

  test('one that wants to be woken again and again is, and one that wants no more is not', () => {
    const host = new SimHost();
    const queue = new WakeQueue(host);
    const steady: Napper = new Napper(host, 10, () => host.now() + 10);
    const gone = new Napper(host, 15);
    queue.look(steady);
    queue.look(gone);
    gone.wakeAt = Infinity;
    host.run(45);
    expect(steady.woken).toEqual([10, 20, 30, 40]);
    expect(gone.woken).toEqual([]);
  });

  test('ten thousand sleepers share one timer', () => {
    const host = new SimHost();
    const queue = new WakeQueue(host);
    const nappers = Array.from({ length: 10_000 }, (_, at) => new Napper(host, (at * 7919) % 10_007));
    for (const napper of nappers) queue.look(napper);
    host.run(10_007);
    expect(nappers.every(({ woken }, at) => woken.length === 1 && woken[0] === (at * 7919) % 10_007)).toBe(
      true,
    );
    expect(host.mostTimers).toBe(1);
  });
});

describe('the lateness of a wake queue', () => {
  const EVERY_MS = 1000;

  /** A queue whose sleeper is woken once a second, by a timer that rings so late. */
  function ringing(): { queue: WakeQueue; ring: (lateMs: number) => number } {
    const host = new SimHost();
    const queue = new WakeQueue(host);
    const napper: Napper = new Napper(host, EVERY_MS, () => host.now() + EVERY_MS);
    queue.look(napper);
    const ring = (lateMs: number): number => {
      const rung = napper.woken.length;
      host.run(napper.wakeAt - 1);
      host.stall(1 + lateMs);
      host.run(host.now());
      expect(napper.woken.length).toBe(rung + 1);
      return queue.lateMs;
    };
    return { queue, ring };
  }

  const times = (count: number, run: () => number): readonly number[] => Array.from({ length: count }, run);

  test('is none while its timer rings in time', () => {
    const { queue, ring } = ringing();
    times(20, () => ring(0));
    expect(queue.lateMs).toBe(0);
  });

  test('rises with every ring that is late, towards what they are late by', () => {
    const { ring } = ringing();
    const late = times(60, () => ring(400));
    expect(late).toEqual([...new Set(late)].sort((a, b) => a - b));
    expect(late[0]).toBe(50);
    expect(late.at(-1)).toBeGreaterThan(399);
    expect(late.at(-1)).toBeLessThanOrEqual(400);
  });

  test('is hardly moved by one hiccup', () => {
    const { ring } = ringing();
    expect(ring(700)).toBeLessThan(100);
  });

  test('falls again when the rings are in time', () => {
    const { queue, ring } = ringing();
    times(60, () => ring(2000));
    const late = times(60, () => ring(0));
    expect(late).toEqual([...new Set(late)].sort((a, b) => b - a));
    expect(queue.lateMs).toBeLessThan(1);
  });

  test('does not come from what was due before the queue was told of it', () => {
    const host = new SimHost();
    const queue = new WakeQueue(host);
    host.run(10_000);
    const overdue = [9000, -Infinity].map((at) => new Napper(host, at));
    for (const napper of overdue) {
      queue.look(napper);
      host.run(host.now() + 1);
    }
    expect(overdue.map(({ woken }) => woken.length)).toEqual([1, 1]);
    expect(queue.lateMs).toBe(0);
  });

  test('tells the work queue how much may be under way', () => {
    const { queue, ring } = ringing();
    const work = new WorkQueue(512, () => queue.lateMs);
    times(60, () => ring(2000));
    const forEver = new Promise<void>(() => undefined);
    for (let at = 0; at < 600; at += 1) work.run('urgent', () => forEver);
    expect(work.underWay).toBe(32);
    times(60, () => ring(0));
    work.run('urgent', () => forEver);
    expect(work.underWay).toBe(512);
  });
});
