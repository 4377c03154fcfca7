/** The engine keeps the contract of a driver. */
import { describe, expect, test } from 'vitest';
import {
  CONFORMANCE_REGIONS,
  driverConformance,
  type PartitionSetUnderTest,
} from '../../test/conformance/driver.ts';
import { EngineSet } from '../../test/engine/engine-set.ts';
import { nodeJson } from './index.ts';

function underTest(): PartitionSetUnderTest {
  const set = new EngineSet({ regions: CONFORMANCE_REGIONS });
  return {
    driver: (region) => set.partition(region),
    write: (region, value) => set.put(region, value, value),
    log: (region) =>
      set.log(region).map((entry) => ({
        epoch: set.gcnOfEntry(entry),
        value: (nodeJson.parse(entry.changes[0]!.body!) as { value: string }).value,
      })),
    crash: async (region) => set.crash(region),
    restart: async (region) => set.start(region),
    connect: (a, b, isConnected) => set.connect(a, b, isConnected),
    close: async () => set.close(),
  };
}

driverConformance('of the engine', underTest, { settleMs: 150 });

describe('a container', () => {
  test.each([[[]], [['/a', '/b']], [['a']], [['']]])(
    'with the partition key %j is refused',
    (partitionKeyPaths) => {
      const options = { settings: { partitionKeyPaths } };
      expect(() => new EngineSet({ regions: ['west'], options })).toThrow(
        expect.objectContaining({ code: 'PARTITION_KEY_INVALID' }),
      );
    },
  );
});
