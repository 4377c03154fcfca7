/** What the commands for clusters on this machine share. */
import { resolve } from 'node:path';
import { ConfigError, LocalClusterError } from '../server/index.ts';
import { UsageError } from './errors.ts';

export const DEFAULT_DIRECTORY = 'baton-data';

export function dataDirectory(given: string | undefined): string {
  return resolve(given ?? process.env['BATON_DATA'] ?? DEFAULT_DIRECTORY);
}

/** One line for whoever typed the command. */
export function refuseLocal(error: unknown): never {
  if (error instanceof LocalClusterError || error instanceof ConfigError)
    throw new UsageError(`${error.message} [${error.code}]`);
  throw error;
}
