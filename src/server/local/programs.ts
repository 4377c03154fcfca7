/** The compiled programs that a local cluster starts, found from the sources as well as from what they are compiled to. */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export const BATON = compiled('cli/main.js');
export const GUARD = compiled('server/local/guard.js');

function compiled(path: string): string {
  const beside = fileURLToPath(new URL(`../../${path}`, import.meta.url));
  return existsSync(beside) ? beside : fileURLToPath(new URL(`../../../dist/${path}`, import.meta.url));
}
