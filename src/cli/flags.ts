/** Parses flags that several commands have. */
import { pino } from 'pino';
import { UsageError } from './errors.ts';

export function positiveInteger(text: string, flag: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value <= 0)
    throw new UsageError(`${flag} must be a positive whole number, not "${text}".`);
  return value;
}

export function parseListen(listen: string, flag = '--listen'): { host: string; port: number } {
  const match = /^(?:\[(?<ipv6>[^\]]+)\]|(?<host>[^:]+)):(?<port>\d{1,5})$/.exec(listen);
  const port = Number(match?.groups?.['port']);
  if (match === null || port > 65_535)
    throw new UsageError(`${flag} must have the form HOST:PORT, not "${listen}".`);
  return { host: (match.groups?.['ipv6'] ?? match.groups?.['host'])!, port };
}

export function logLevel(level: string): string {
  if (level === 'silent' || level in pino.levels.values) return level;
  throw new UsageError(
    `--log-level must be one of trace, debug, info, warn, error or silent, not "${level}".`,
  );
}
