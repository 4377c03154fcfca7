import { describe, expect, test } from 'vitest';
import { SimHost } from '../../test/failover/sim-host.ts';
import { type Sleeper, WakeQueue } from './wake-queue.ts';

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
