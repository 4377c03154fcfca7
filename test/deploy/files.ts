/** What `deploy/` holds, for those who run a cluster; the tests of this folder keep it true. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../repository/tree.ts';

export const DEPLOY = join(ROOT, 'deploy');

export function deployed(name: string): string {
  return readFileSync(join(DEPLOY, name), 'utf8');
}

export function documented(name: string): string {
  return readFileSync(join(ROOT, 'docs', name), 'utf8');
}
