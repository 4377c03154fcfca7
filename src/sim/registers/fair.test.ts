import { describe, expect, test } from 'vitest';
import type { ScheduledFault } from '../seeded-run.ts';
import { fairness } from './fair.ts';

const THREE = { acceptors: 3, spares: 0, quorums: { phase1: 2, phase2: 2 }, requestTimeoutMs: 100 };

function fault(kind: string, fromMs: number, untilMs: number, ...targets: string[]): ScheduledFault {
  return { kind, fromMs, untilMs, targets, strength: 0 };
}

function isFair(schedule: readonly ScheduledFault[], fromMs: number, untilMs: number, what = THREE): boolean {
  return fairness(what, schedule)('client-0', fromMs, untilMs);
}

describe('a call may be expected to be done', () => {
  test('if it has time for a few requests', () => {
    expect(isFair([], 0, 400)).toBe(true);
    expect(isFair([], 0, 399)).toBe(false);
  });

  test('in calm weather, and when a quorum is well', () => {
    expect(isFair([], 0, 1000)).toBe(true);
    expect(isFair([fault('pause', 0, 1000, 'acceptor-0')], 0, 1000)).toBe(true);
    expect(isFair([fault('pause', 0, 1000, 'acceptor-0', 'acceptor-1')], 0, 1000)).toBe(false);
  });

  test('only if the same quorum is well all the time, and has been for a moment', () => {
    const turns = [fault('pause', 100, 200, 'acceptor-0'), fault('crash store', 700, 800, 'acceptor-1')];
    expect(isFair(turns, 0, 1000)).toBe(false);
    expect(isFair(turns, 0, 650)).toBe(true);
    expect(isFair(turns, 299, 1000)).toBe(false);
    expect(isFair(turns, 300, 1000)).toBe(true);
  });

  test('not by a client that is away, nor of acceptors whose disks were damaged', () => {
    expect(isFair([fault('crash client', 0, 1000, 'client-0')], 500, 900)).toBe(false);
    expect(isFair([fault('crash client', 0, 1000, 'client-1')], 500, 900)).toBe(true);
    const damaged = [fault('garble', 0, 0, 'acceptor-0'), fault('forget', 10, 20, 'acceptor-1')];
    expect(isFair(damaged, 5000, 6000)).toBe(false);
  });

  test('on its side of a cut', () => {
    const cut = (...targets: string[]) => [fault('cut', 0, 1000, ...targets)];
    expect(isFair(cut('client-0'), 0, 500)).toBe(false);
    expect(isFair(cut('client-0', 'acceptor-1', 'acceptor-2'), 0, 500)).toBe(true);
    expect(isFair(cut('acceptor-0'), 0, 500)).toBe(true);
  });

  test('as far as both phases find their quorums', () => {
    const five = { ...THREE, acceptors: 5, quorums: { phase1: 5, phase2: 2 } };
    expect(isFair([fault('pause', 0, 1000, 'acceptor-4')], 0, 500, five)).toBe(false);
    expect(isFair([], 0, 500, five)).toBe(true);
  });

  test('by all acceptors, old and new, once the set changes', () => {
    const four = { ...THREE, spares: 1 };
    const change = fault('change set', 500, 500, 'client-0', 'acceptor-0', 'acceptor-1', 'acceptor-3');
    const slow = fault('slow disk', 0, 1000, 'acceptor-3');
    expect(isFair([change], 600, 1000, four)).toBe(true);
    expect(isFair([change, slow], 50, 450, four)).toBe(true);
    expect(isFair([change, slow], 100, 600, four)).toBe(false);
  });
});
