/**
 * Versions for stores whose own are counted: after such a store was restored from an old copy it would give the same numbers
 * again, for other contents, and a process that slept through it would overwrite what it never saw. A drawn version never
 * comes back.
 */
import { randomBytes } from 'node:crypto';

const life = randomBytes(9).toString('base64url');
let drawn = 0;

export function drawVersion(): string {
  drawn += 1;
  return `${life}${drawn.toString(36)}`;
}
