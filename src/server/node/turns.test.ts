import { describe, expect, test } from 'vitest';
import { Turns } from './turns.ts';

/** An event loop that turns when it is told to. */
class Loop {
  #soon: (() => void)[] = [];

  soon(run: () => void): void {
    this.#soon.push(run);
  }

  get isIdle(): boolean {
    return this.#soon.length === 0;
  }

  turn(): void {
    for (const run of this.#soon.splice(0)) run();
  }
}

function scene() {
  const loop = new Loop();
  const turns = new Turns(loop);
  const begun: number[] = [];
  const end: ((value: number) => void)[] = [];
  const ask = (number: number) =>
    turns.take(() => {
      begun.push(number);
      return new Promise<number>((resolve) => end.push(resolve));
    });
  return { loop, begun, end, ask, all: (from: number, to: number) => numbers(from, to).map(ask) };
}

function numbers(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, at) => from + at);
}

describe('requests in turns', () => {
  test('a few are begun at once', () => {
    const { begun, all } = scene();
    void all(0, 16);
    expect(begun).toEqual(numbers(0, 16));
  });

  test('of many, about half of those under way; the others follow in their order', () => {
    const { loop, begun, all } = scene();
    void all(0, 100);
    expect(begun.length).toBeLessThan(100);
    expect(begun.length).toBeGreaterThanOrEqual(16);
    loop.turn();
    expect(begun.length).toBeGreaterThanOrEqual(50);
    while (!loop.isIdle) loop.turn();
    expect(begun).toEqual(numbers(0, 100));
  });

  test('nobody overtakes those who wait', () => {
    const { loop, begun, ask, all } = scene();
    void all(0, 40);
    loop.turn();
    void ask(40);
    while (!loop.isIdle) loop.turn();
    expect(begun).toEqual(numbers(0, 41));
  });

  test('gives each its own answer, and what it throws', async () => {
    const { loop, end, all } = scene();
    const answers = all(0, 30);
    while (!loop.isIdle) loop.turn();
    for (const [at, resolve] of end.entries()) resolve(at * 2);
    expect(await Promise.all(answers)).toEqual(numbers(0, 30).map((number) => number * 2));
    const failing = new Turns(loop).take(() => Promise.reject(new Error('no')));
    await expect(failing).rejects.toThrow('no');
  });

  test('when they are answered, a turn takes few again', async () => {
    const { loop, begun, end, all } = scene();
    const answers = all(0, 200);
    while (!loop.isIdle) loop.turn();
    for (const resolve of end.splice(0)) resolve(0);
    await Promise.all(answers);
    void all(200, 220);
    expect(begun.length).toBe(216);
  });
});
