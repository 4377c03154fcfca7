import { describe, expect, test } from 'vitest';
import { FileError, readResult } from './files.ts';

const outage = {
  partitionSets: 40,
  affected: 40,
  recovered: 39,
  recoverySeconds: { p50: 31.6, p90: 43.3, p99: 47.9, max: 47.9 },
  detectSeconds: { p50: 7.5, p90: 23.8, p99: 28.6, max: 28.6 },
  failbackSeconds: { p50: 105, p90: 121.3, p99: 127.7, max: 127.7 },
  failbackGapSeconds: { p50: 1.6, p90: 2.3, p99: 2.5, max: 2.5 },
  breakdownSeconds: { leaseRemaining: { mean: 29 }, takingOver: { mean: 0.5 } },
  doubleWriters: 0,
  lostWrites: 0,
  failovers: 40,
  used: {
    regions: ['East Asia', 'Japan East'],
    kindInWords: 'the preferred region loses power',
    profile: 'paper',
  },
};

describe('the result of an outage', () => {
  test('is read', () => {
    expect(readResult(JSON.stringify(outage))).toMatchObject({
      kind: 'outage',
      title: '40 partition-sets, the preferred region loses power',
      recovery: { p50: 31.6, max: 47.9 },
      parts: [
        ['lease remaining', 29],
        ['taking over', 0.5],
      ],
      figures: undefined,
    });
  });

  test('has its figures when the file has them', () => {
    const figures = { bucketSeconds: 5, serving: [[40, 0]], recovery: [[10, 2]], detect: [] };
    expect(readResult(JSON.stringify({ ...outage, figures }))).toMatchObject({
      figures: { regions: ['East Asia', 'Japan East'], bucketSeconds: 5, recovery: [1.1, 1.1], detect: [] },
    });
  });

  test('names the field that is wrong', () => {
    const wrong = { ...outage, failbackSeconds: { p50: 1 } };
    expect(() => readResult(JSON.stringify(wrong))).toThrow('its field p90 is missing or invalid');
  });
});

test('the result of a duel is read, with the base of those that have one', () => {
  const row = {
    policy: 'initial',
    proposers: 3,
    failureRate: 0.01,
    confidence95: [0.009, 0.011],
    attemptsPerUpdate: 1.7,
    naksPerUpdate: 5,
    commitMs: { p50: 800, p99: 2000 },
    baseSeconds: 1,
  };
  const used = { hours: 1000, acceptors: 7, leaseSeconds: 45, intervalSeconds: 30, skewSeconds: 0 };
  expect(readResult(JSON.stringify({ rows: [row], used }))).toMatchObject({
    kind: 'duel',
    rows: [{ policy: 'initial, base 1 s', proposers: 3, failureRate: 0.01, commitP99: 2000 }],
  });
});

test.each([
  ['not JSON', '{', 'FILE_NOT_JSON'],
  ['no result', '{"a": 1}', 'FILE_NOT_RESULT'],
  ['a list', '[]', 'FILE_NOT_RESULT'],
])('what is %s is refused', (_, text, code) => {
  expect(() => readResult(text)).toThrow(FileError);
  try {
    readResult(text);
  } catch (error) {
    expect((error as FileError).code).toBe(code);
  }
});
