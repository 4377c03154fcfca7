import { describe, expect, test } from 'vitest';
import { Pace } from './pace.ts';

describe('how long a round takes', () => {
  test('is what the first one took, then the average of the last few', () => {
    const pace = new Pace();
    expect(pace.roundMs).toBe(1);
    pace.learn(160);
    expect(pace.roundMs).toBe(160);
    pace.learn(80);
    expect(pace.roundMs).toBe(120);
    for (let times = 0; times < 100; times += 1) pace.learn(40);
    expect(pace.roundMs).toBeCloseTo(40, 0);
    pace.learn(40 + 16);
    expect(pace.roundMs).toBeCloseTo(41, 0);
  });

  test('is not shortened by a round that was lost', () => {
    const pace = new Pace();
    pace.learn(100);
    pace.learnAtLeast(20);
    expect(pace.roundMs).toBe(100);
    pace.learnAtLeast(300);
    expect(pace.roundMs).toBe(200);
  });
});
