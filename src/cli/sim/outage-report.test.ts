import { expect, test } from 'vitest';
import { newOutageCounts, type OutageCase, type OutageCounts } from '../../sim/index.ts';
import { isUnsafe, outageJson, type OutageOutcome, outageText } from './outage-report.ts';

function outcomeOf(found: Partial<OutageCounts>, changes: Partial<OutageCase> = {}): OutageOutcome {
  const outageCase: OutageCase = {
    regions: [0, 1],
    regionNames: ['East Asia', 'Southeast Asia'],
    acceptors: [0, 1, 2],
    outages: 1,
    minutes: 30,
    profile: 'paper',
    hints: true,
    kind: 'region',
    consistency: 'Strong',
    minDurability: 1,
    seed: 1,
    ...changes,
  };
  const counts = { ...newOutageCounts(outageCase), partitionSets: 10, ...found };
  return {
    outageCase,
    partitionSets: 10,
    counts,
    elapsedSeconds: 2,
    cpuSeconds: 3,
    rssBytes: 1e8,
    deaths: [],
  };
}

test('two writers are unsafe at any level, lost writes at Strong', () => {
  expect(isUnsafe(outcomeOf({}))).toBe(false);
  expect(isUnsafe(outcomeOf({ doubleWriters: 1 }, { consistency: 'Eventual' }))).toBe(true);
  expect(isUnsafe(outcomeOf({ lostWrites: 1 }))).toBe(true);
  expect(isUnsafe(outcomeOf({ lostWrites: 1 }, { consistency: 'Session' }))).toBe(false);
});

test('acceptor requests are given for each partition-set and hour of virtual time', () => {
  // 50 minutes for 10 partition-sets.
  expect(outageJson(outcomeOf({ requests: 25_000 }))).toMatchObject({ acceptorRequestsPerHour: 3000 });
  // Two regions, three acceptors, two rounds in each of 100 intervals: 1200 in the calm.
  const most = { intervals: 100, requests: 1800, ofTheCalm: 1.5 };
  expect(outageJson(outcomeOf({ mostRequests: 1800 }))).toMatchObject({ mostAcceptorRequests: most });
  expect(outageText(outcomeOf({ mostRequests: 1800 }))).toContain(
    'At most 1,800 for one of them in 100 intervals (50 min), 1.50 times what the calm takes.\n',
  );
});

test('what did not occur is shown as nothing, and a stopped run says so', () => {
  const text = outageText(outcomeOf({ partitionSets: 4 }));
  expect(text).toMatch(/^writes stopped to writes again +0 +- +- +- +-$/m);
  expect(text).not.toContain('of which');
  expect(text).toContain('4 partition-sets (stopped; 10 asked for)');
  expect(outageText(outcomeOf({ partitionSets: 0 }))).toBe(
    'Stopped before the first partition-sets were done.\n',
  );
});

test('flaps of the same number are added up over the outages', () => {
  const outcome = outcomeOf({}, { kind: 'flapping', outages: 2 });
  outcome.counts.flaps[0]!.failovers = 3;
  outcome.counts.flaps[6]!.failovers = 4;
  expect(outageText(outcome)).toMatch(/^failed over +7 +0 +0 +0 +0 +0$/m);
});
