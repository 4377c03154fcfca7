import os from 'node:os';
import { afterEach, expect, test, vi } from 'vitest';
import { newClock } from './node-host.ts';

afterEach(() => vi.restoreAllMocks());

test('its clock goes on while the machine is suspended', () => {
  // Stopped, so that nothing but the suspension passes; and a clock of its own: others in this process go by the shared one.
  const [monotonic, wall, uptime] = [performance.now(), Date.now(), os.uptime()];
  vi.spyOn(performance, 'now').mockReturnValue(monotonic);
  const date = vi.spyOn(Date, 'now').mockReturnValue(wall);
  const system = vi.spyOn(os, 'uptime').mockReturnValue(uptime);
  const clock = newClock();
  expect(clock.now()).toBe(monotonic);
  date.mockReturnValue(wall + 7000);
  system.mockReturnValue(uptime + 7);
  // Elsewhere the monotonic clock itself goes on.
  expect(clock.now() - monotonic).toBe(process.platform === 'linux' ? 7000 : 0);
});
