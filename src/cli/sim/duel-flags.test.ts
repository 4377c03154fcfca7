import { describe, expect, test } from 'vitest';
import { UsageError } from '../errors.ts';
import { type DuelFlags, readRequest } from './duel-flags.ts';

const DEFAULTS: DuelFlags = {
  proposers: '3,9',
  acceptors: '7',
  hours: '100',
  policy: 'initial,baton',
  base: '1',
  ablation: false,
  writerDies: false,
  latency: 'lognormal:60,0.5',
  interval: '30',
  lease: '45',
  skew: '0',
  seed: '1',
  json: false,
};

const lines = (flags: Partial<DuelFlags>): string[] =>
  readRequest({ ...DEFAULTS, ...flags }).cases.map(
    ({ policy, without, with: added, proposers, baseMs }) =>
      `${policy}-${without ?? ''}${added === undefined ? '' : `+${added}`} ${proposers} ${baseMs}`,
  );

describe('the flags of baton sim duel', () => {
  test('make a line for each policy and number of proposers', () => {
    expect(lines({})).toEqual(['initial- 3 1000', 'baton- 3 1000', 'initial- 9 1000', 'baton- 9 1000']);
  });

  test('name each line once, however often it was asked for', () => {
    expect(lines({ policy: 'baton,baton', proposers: '9,9' })).toEqual(['baton- 9 1000']);
  });

  test('sweep only the policy that has a base', () => {
    expect(lines({ proposers: '9', sweep: '0.05,2' })).toEqual([
      'initial- 9 50',
      'initial- 9 1000',
      'initial- 9 2000',
      'baton- 9 1000',
    ]);
    const { sweptMs, cases } = readRequest({ ...DEFAULTS, sweep: true, base: '0.8' });
    expect(sweptMs).toBe(800);
    expect(cases.length).toBeGreaterThan(10);
  });

  test('take out some elements, or all of them with a death to notice', () => {
    expect(lines({ proposers: '9', policy: 'baton', without: 'slots,clock' })).toEqual([
      'baton- 9 1000',
      'baton-slots 9 1000',
      'baton-clock 9 1000',
    ]);
    const { cases } = readRequest({ ...DEFAULTS, ablation: true });
    expect(cases.every(({ writerDies }) => writerDies)).toBe(true);
    expect(cases.filter(({ without }) => without !== undefined)).toHaveLength(2 * 7);
  });

  test('put elements of baton into the others', () => {
    expect(lines({ proposers: '9', with: 'backoff' })).toEqual([
      'initial- 9 1000',
      'baton- 9 1000',
      'initial-+backoff 9 1000',
    ]);
  });

  test('give times in seconds', () => {
    const { cases, hours, workers } = readRequest({
      ...DEFAULTS,
      interval: '0.5',
      lease: '1.5',
      skew: '0.01',
      workers: '3',
    });
    expect(cases[0]).toMatchObject({ intervalMs: 500, leaseMs: 1500, skewMs: 10 });
    expect({ hours, workers }).toEqual({ hours: 100, workers: 3 });
  });

  test.each<[Partial<DuelFlags>, string]>([
    [{ acceptors: '6' }, '--acceptors needs an odd number, not 6.'],
    [{ acceptors: '99' }, '--acceptors needs at most'],
    [{ proposers: '3,' }, '--proposers must be a positive whole number, not "".'],
    [{ policy: '' }, 'There is no policy ""'],
    [{ latency: 'uniform:30-10' }, 'There is no latency model "uniform:30-10"'],
    [{ sweep: '0.1,x' }, '--sweep needs a positive number of seconds, not "x".'],
    [{ sweep: true, policy: 'baton' }, '--sweep is for the policy initial'],
    [{ without: 'luck' }, 'Policy baton has no element "luck"; it has ballots, clock, giveUp'],
    [{ with: 'luck' }, 'Policy baton has no element "luck"'],
    [{ with: 'slots', policy: 'baton' }, '--with puts elements of baton into other policies'],
    [{ without: 'slots', ablation: true }, 'give it or --without, not both.'],
    [{ interval: '-3' }, '--interval needs a positive number of seconds, not "-3".'],
    [{ interval: '601' }, '--interval needs at most 600 seconds, not "601".'],
    [{ lease: '30' }, '--lease needs more than the interval of 30 s and at most 1200 s, not "30".'],
    [{ lease: '1201' }, '--lease needs more than the interval of 30 s and at most 1200 s, not "1201".'],
    [{ lease: 'Infinity' }, '--lease needs a positive number of seconds, not "Infinity".'],
    [{ skew: 'much' }, '--skew needs a number of seconds, 0 or more, not "much".'],
    [{ skew: '-1' }, '--skew needs a number of seconds, 0 or more, not "-1".'],
    [{ seed: '4294967296' }, 'There is no seed above 4294967295.'],
    [{ workers: '0' }, '--workers must be a positive whole number, not "0".'],
    [{ hours: '1.5' }, '--hours must be a positive whole number, not "1.5".'],
  ])('%j gets one clear line', (flags, message) => {
    const read = (): unknown => readRequest({ ...DEFAULTS, ...flags });
    expect(read).toThrow(UsageError);
    expect(read).toThrow(message);
  });
});
