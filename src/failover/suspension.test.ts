import { describe, expect, test } from 'vitest';
import { SimHost } from '../../test/failover/sim-host.ts';
import { SuspensionWatch } from './suspension.ts';

function watched(): { host: SimHost; watch: SuspensionWatch; gaps: number[]; noticed: () => number } {
  const host = new SimHost();
  const gaps: number[] = [];
  const watch = new SuspensionWatch(host, 1000, (ms) => {
    gaps.push(ms);
  });
  return { host, watch, gaps, noticed: () => gaps.length };
}

describe('a process that stood still', () => {
  test('is not noticed when it did not', () => {
    const { host, noticed } = watched();
    host.run(60_000);
    expect(noticed()).toBe(0);
  });

  test('is noticed when its event loop stalled', () => {
    const { host, gaps } = watched();
    host.run(10_000);
    host.stall(3000);
    host.run(20_000);
    expect(gaps).toHaveLength(1);
    expect(gaps[0]).toBeGreaterThan(2000);
    expect(gaps[0]).toBeLessThanOrEqual(3000);
  });

  test('is noticed when the machine slept: the wall clock went on, the monotonic one did not', () => {
    const { host, gaps } = watched();
    host.run(10_000);
    host.wallOffset += 3_600_000;
    host.run(20_000);
    expect(gaps).toEqual([Infinity]);
  });

  test('is not looked for any more once the watch is closed', () => {
    const { host, watch, noticed } = watched();
    watch.close();
    host.stall(60_000);
    host.run(120_000);
    expect(noticed()).toBe(0);
  });
});
