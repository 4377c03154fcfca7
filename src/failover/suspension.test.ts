import { describe, expect, test } from 'vitest';
import { SimHost } from '../../test/failover/sim-host.ts';
import { SuspensionWatch } from './suspension.ts';

function watched(): { host: SimHost; watch: SuspensionWatch; noticed: () => number } {
  const host = new SimHost();
  let times = 0;
  const watch = new SuspensionWatch(host, 1000, () => {
    times += 1;
  });
  return { host, watch, noticed: () => times };
}

describe('a process that stood still', () => {
  test('is not noticed when it did not', () => {
    const { host, noticed } = watched();
    host.run(60_000);
    expect(noticed()).toBe(0);
  });

  test('is noticed when its event loop stalled', () => {
    const { host, noticed } = watched();
    host.run(10_000);
    host.stall(3000);
    host.run(20_000);
    expect(noticed()).toBe(1);
  });

  test('is noticed when the machine slept: the wall clock went on, the monotonic one did not', () => {
    const { host, noticed } = watched();
    host.run(10_000);
    host.wallOffset += 3_600_000;
    host.run(20_000);
    expect(noticed()).toBe(1);
  });

  test('is not looked for any more once the watch is closed', () => {
    const { host, watch, noticed } = watched();
    watch.close();
    host.stall(60_000);
    host.run(120_000);
    expect(noticed()).toBe(0);
  });
});
