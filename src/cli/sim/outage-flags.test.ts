import { describe, expect, test } from 'vitest';
import { UsageError } from '../errors.ts';
import { type OutageFlags, readOutageRequest } from './outage-flags.ts';

const DEFAULTS: OutageFlags = {
  partitionSets: '4300',
  regions: 'East Asia,Southeast Asia,South Central US',
  acceptors: 'East Asia,East US,West Europe',
  outages: '3',
  minutes: '30',
  profile: 'paper',
  hints: 'on',
  kind: 'region',
  consistency: 'Strong',
  minDurability: '1',
  seed: '1',
  json: false,
};

describe('the flags of baton sim outage', () => {
  test('name regions as people write them', () => {
    const { outageCase, partitionSets, workers } = readOutageRequest({
      ...DEFAULTS,
      regions: ' east asia, SOUTHEAST ASIA ',
      workers: '3',
      hints: 'off',
    });
    expect(outageCase.regionNames).toEqual(['East Asia', 'Southeast Asia']);
    expect(outageCase).toMatchObject({ hints: false, kind: 'region', outages: 3, minutes: 30 });
    expect({ partitionSets, workers }).toEqual({ partitionSets: 4300, workers: 3 });
  });

  test.each<[Partial<OutageFlags>, string]>([
    [{ partitionSets: '0' }, '--partition-sets must be a positive whole number, not "0".'],
    [{ regions: 'East Asia' }, '--regions needs at least two: a writer, and one to take over.'],
    [{ regions: 'East Asia,Atlantis' }, '--regions: the Azure matrix has no region "Atlantis".'],
    [{ regions: 'East Asia,Asia' }, 'no region "Asia"; there are Southeast Asia, East Asia.'],
    [{ regions: 'East Asia,east asia' }, '--regions names East Asia twice.'],
    [{ regions: 'East Asia,' }, '--regions: the Azure matrix has no region "".'],
    [{ acceptors: 'East Asia,East US' }, '--acceptors needs an odd number of regions, not 2.'],
    [{ kind: 'flood' }, 'There is no kind of outage "flood"; there are region, node, partitions'],
    [{ profile: 'slow' }, 'There is no profile "slow"; there are paper, fast.'],
    [{ hints: 'maybe' }, '--hints is on or off, not "maybe".'],
    [{ consistency: 'strong' }, 'There is no consistency level "strong"; there are Strong, Bounded'],
    [{ minDurability: '4' }, '--min-durability needs at most the 3 regions there are, not 4.'],
    [{ outages: '0' }, '--outages must be a positive whole number, not "0".'],
    [{ outages: '101' }, '--outages needs at most 100, not 101.'],
    [{ minutes: '1.5' }, '--minutes must be a positive whole number, not "1.5".'],
    [{ minutes: '1441' }, '--minutes needs at most 1440, not 1441.'],
    [{ workers: '-1' }, '--workers must be a positive whole number, not "-1".'],
    [{ seed: '4294967296' }, 'There is no seed above 4294967295.'],
  ])('%j gets one clear line', (flags, message) => {
    const read = (): unknown => readOutageRequest({ ...DEFAULTS, ...flags });
    expect(read).toThrow(UsageError);
    expect(read).toThrow(message);
  });
});
