import { describe, expect, test } from 'vitest';
import { UpdatePace } from './core/index.ts';
import { Moves } from './moves.ts';

describe('the places for moves', () => {
  test('are as many as were given', () => {
    const moves = new Moves(2);
    const [first, second, third] = [{}, {}, {}];
    moves.begin(first);
    expect(moves.isFullFor(second)).toBe(false);
    moves.begin(second);
    expect([moves.size, moves.isFullFor(third)]).toEqual([2, true]);
  });

  test('are 64 where nobody says', () => {
    const moves = new Moves();
    for (let at = 0; at < 63; at += 1) moves.begin({});
    expect(moves.isFullFor({})).toBe(false);
    moves.begin({});
    expect(moves.isFullFor({})).toBe(true);
  });

  test('are not full for one that has a place, and it has one however often it begins', () => {
    const moves = new Moves(1);
    const one = {};
    moves.begin(one);
    moves.begin(one);
    expect([moves.size, moves.has(one), moves.isFullFor(one)]).toEqual([1, true, false]);
  });

  test('are free again when a move ends; the end of none changes nothing', () => {
    const moves = new Moves(1);
    const one = {};
    moves.begin(one);
    moves.end({});
    expect(moves.isFullFor({})).toBe(true);
    moves.end(one);
    expect([moves.size, moves.has(one), moves.isFullFor({})]).toEqual([0, false, false]);
  });

  test('are fewer in a process that is behind with its work, and never none', () => {
    let lateMs = 0;
    const moves = new Moves(8, () => lateMs);
    const begun = (count: number): void => {
      for (let at = 0; at < count; at += 1) moves.begin({});
    };
    begun(2);
    lateMs = 60;
    expect(moves.isFullFor({})).toBe(false);
    begun(2);
    expect(moves.isFullFor({})).toBe(true);
    lateMs = 30;
    expect(moves.isFullFor({})).toBe(false);
    const late = new Moves(8, () => 60_000);
    late.begin({});
    expect(late.isFullFor({})).toBe(false);
    late.begin({});
    expect(late.isFullFor({})).toBe(true);
  });

  test('are fewer where updates take long, and as many as ever when they are quick again', () => {
    const pace = new UpdatePace();
    const moves = new Moves(8, () => 0, pace);
    const updates = (ms: number): void => {
      for (let count = 0; count < 1000; count += 1) pace.updated(ms, 1000);
    };
    for (let at = 0; at < 4; at += 1) moves.begin({});
    updates(50);
    expect(moves.isFullFor({})).toBe(false);
    // More than twice what is quick: less than half of the places.
    updates(120);
    expect(moves.isFullFor({})).toBe(true);
    updates(20);
    expect(moves.isFullFor({})).toBe(false);
  });

  test('are not fewer for one slow update', () => {
    const pace = new UpdatePace();
    const moves = new Moves(2, () => 0, pace);
    moves.begin({});
    pace.updated(1000, 1000);
    expect(moves.isFullFor({})).toBe(false);
  });
});
