/** What the commands for clusters on this machine share. */
import { resolve } from 'node:path';

export const DEFAULT_DIRECTORY = 'baton-data';

export function dataDirectory(given: string | undefined): string {
  return resolve(given ?? process.env['BATON_DATA'] ?? DEFAULT_DIRECTORY);
}
