import { describe, expect, test } from 'vitest';
import { type Consistency, configurationFor } from '../../failover/index.ts';
import { levelIn } from './level-follower.ts';

describe('the level that a partition keeps', () => {
  const level = (consistency: Consistency, wanted: Consistency, isWriter: boolean): string =>
    levelIn(configurationFor(['west', 'east'], { consistency, wanted: { consistency: wanted } }), isWriter)
      .level;

  test('a writer keeps a stronger one from when it is wanted, a reader from when it is in force', () => {
    expect(level('Session', 'Strong', true)).toBe('Strong');
    expect(level('Session', 'Strong', false)).toBe('Session');
    expect(level('BoundedStaleness', 'Strong', true)).toBe('Strong');
  });

  test('nobody keeps a weaker one before it is in force', () => {
    expect(level('Strong', 'Session', true)).toBe('Strong');
    expect(levelIn(configurationFor(['west'], { consistency: 'Eventual' }), true)).toEqual({
      level: 'Eventual',
    });
  });

  test('the bound comes along', () => {
    const staleness = { writes: 10, seconds: 5 };
    const configuration = configurationFor(['west'], { consistency: 'BoundedStaleness', staleness });
    expect(levelIn(configuration, false)).toEqual({ level: 'BoundedStaleness', staleness });
  });
});
