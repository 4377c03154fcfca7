import { expect, test, vi } from 'vitest';
import { drawVersion } from './versions.ts';

test('a version is never drawn twice', () => {
  const drawn = Array.from({ length: 5000 }, () => drawVersion());
  expect(new Set(drawn).size).toBe(5000);
  expect(drawn.every((version) => /^[\w-]{13,}$/.test(version))).toBe(true);
});

test('not by another process either', async () => {
  const here = drawVersion();
  vi.resetModules();
  const other = await import('./versions.ts');
  const there = other.drawVersion();
  expect(there.slice(0, 12)).not.toBe(here.slice(0, 12));
});
