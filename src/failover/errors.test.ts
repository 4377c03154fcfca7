import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { FAILOVER_ERRORS } from './errors.ts';

test('every code that an agent can throw is in the documentation', () => {
  const text = readFileSync(fileURLToPath(new URL('../../docs/failover.md', import.meta.url)), 'utf8');
  const missing = Object.keys(FAILOVER_ERRORS).filter((code) => !text.includes(`| \`${code}\``));
  expect(missing).toEqual([]);
});
