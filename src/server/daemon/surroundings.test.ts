import { expect, test } from 'vitest';
import { mostClients } from './surroundings.ts';

test.each([
  [Infinity, 4096],
  [20_000, 4096],
  [4096, 2048],
  [1024, 64],
])('of %d open files clients take at most %d, so that other nodes still get in', (openFiles, clients) => {
  expect(mostClients(openFiles)).toBe(clients);
});

test('this process has room for some', () => {
  expect(mostClients()).toBeGreaterThanOrEqual(64);
});
