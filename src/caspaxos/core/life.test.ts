import { describe, expect, test } from 'vitest';
import { isToldLife, lifeStanding, MAX_LIVES, nextLife, settledLife, type ToldLife } from './life.ts';

const life = (id: string): { id: string; from: number } => ({ id, from: 0 });

function started(times: number, recorded?: string): ToldLife {
  let told: ToldLife | undefined;
  for (let at = 1; at <= times; at += 1)
    told = nextLife(life(`L${at}`), told, recorded === undefined ? undefined : life(recorded));
  return told!;
}

describe('a start', () => {
  test('names all lives back to the recorded one', () => {
    expect(started(4)).toEqual({ id: 'L4', from: 0, after: ['L3', 'L2', 'L1'] });
    expect(started(4, 'L2')).toEqual({ id: 'L4', from: 0, after: ['L3', 'L2'] });
    expect(started(4, 'L3')).toEqual({ id: 'L4', from: 0, after: ['L3'] });
  });

  test('of thousands names the recorded one and the latest', () => {
    const told = started(3 * MAX_LIVES, 'L1');
    expect(told.after).toHaveLength(MAX_LIVES);
    expect([told.after[0], told.after.at(-1)]).toEqual([`L${3 * MAX_LIVES - 1}`, 'L1']);
    expect(isToldLife(told)).toBe(true);
  });

  test('that is recorded names none', () => {
    expect(settledLife(started(3), life('L3')).after).toEqual([]);
    expect(settledLife(started(3), life('L2')).after).toEqual(['L2']);
  });
});

describe('a life', () => {
  test.each([
    ['the recorded one', 'L4', 'in use'],
    ['after the recorded one', 'L2', 'successor'],
    ['of another copy, or before the recorded one', 'M1', 'stranger'],
  ] as const)('%s', (_, recorded, standing) => {
    expect(lifeStanding(started(4), life(recorded))).toBe(standing);
  });

  test('that is not told, or not recorded, is used as in earlier versions', () => {
    expect(lifeStanding(undefined, life('L1'))).toBe('in use');
    expect(lifeStanding(started(2), undefined)).toBe('in use');
  });
});
