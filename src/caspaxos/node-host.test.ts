import { afterEach, expect, test, vi } from 'vitest';
import { NODE_HOST } from './node-host.ts';

const uptime = vi.hoisted(() => ({ seconds: 0 }));
vi.mock('node:os', async (original) => ({
  ...(await original<typeof import('node:os')>()),
  uptime: () => uptime.seconds,
}));

afterEach(() => vi.restoreAllMocks());

test('its clock goes on while the machine is suspended', () => {
  const [monotonic, wall, now] = [performance.now(), Date.now(), NODE_HOST.now()];
  vi.spyOn(performance, 'now').mockReturnValue(monotonic);
  vi.spyOn(Date, 'now').mockReturnValue(wall + 7000);
  uptime.seconds += 7;
  // Elsewhere the monotonic clock itself goes on.
  const counted = process.platform === 'linux' ? 7000 : 0;
  expect(Math.abs(NODE_HOST.now() - now - counted)).toBeLessThan(100);
});
