/** What the commands for clusters on this machine share. */
import { resolve } from 'node:path';
import { LocalClusterError } from '../server/local/index.ts';
import { CommandError } from './errors.ts';

export const DEFAULT_DIRECTORY = 'baton-data';

export function dataDirectory(given: string | undefined): string {
  return resolve(given ?? process.env['BATON_DATA'] ?? DEFAULT_DIRECTORY);
}

/** One line for whoever typed the command. */
export function refuseLocal(error: unknown): never {
  if (error instanceof LocalClusterError) throw new CommandError(`${error.message} [${error.code}]`);
  throw error;
}
