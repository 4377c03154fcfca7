/**
 * Whether a Redis server keeps what it answers. Out of the box it does not: it writes to disk once a second, or now and then.
 * An acceptor that forgets a promise can make two values chosen, so the settings are looked at before anything is asked,
 * and whatever falls short is refused with the setting to change.
 */
import type { ErrorCode } from '../errors.ts';

/** What the server says of itself: the lines of INFO, and of CONFIG GET. */
export type RedisFacts = ReadonlyMap<string, string>;

export interface Hazard {
  readonly code: ErrorCode;
  /** A clause about the server, with the way out. */
  readonly what: string;
}

/** Patterns for CONFIG GET: servers before version 7 take one at a time. */
export const SETTINGS = ['append*', 'maxmemory*', 'no-appendfsync-on-rewrite'];

interface Check {
  readonly isBad: (info: RedisFacts, settings: RedisFacts) => boolean;
  readonly what: string;
  readonly code?: ErrorCode;
}

const CHECKS: readonly Check[] = [
  {
    isBad: (info) => info.get('loading') === '1',
    what: 'is still loading its data',
    code: 'UNREACHABLE',
  },
  {
    isBad: (info) => info.get('role') !== 'master',
    what: 'is a replica, which answers from the past: use the URL of its master',
  },
  {
    isBad: (_, settings) => settings.get('appendonly') !== 'yes',
    what: 'does not write its data to disk as it changes: set appendonly yes',
  },
  {
    isBad: (_, settings) => settings.get('appendfsync') !== 'always',
    what: 'answers before its data is on disk: set appendfsync always',
  },
  {
    isBad: (_, settings) => settings.get('no-appendfsync-on-rewrite') === 'yes',
    what: 'answers before its data is on disk while it rewrites its file: set no-appendfsync-on-rewrite no',
  },
  {
    // A server that was told so while it ran has no file until it has written one in full.
    isBad: (info) =>
      info.get('aof_base_size') === '0' &&
      (info.get('aof_rewrite_in_progress') === '1' ||
        info.get('aof_rewrite_scheduled') === '1' ||
        info.get('aof_last_bgrewrite_status') === 'err'),
    what: 'is writing its first append-only file, and forgets if it ends before that is done: wait for it',
  },
  {
    // The other policies take only keys with an expiry, which these have not.
    isBad: (_, settings) =>
      settings.get('maxmemory') !== '0' && (settings.get('maxmemory-policy') ?? '').startsWith('allkeys'),
    what: 'throws data away when its memory is full: set maxmemory-policy noeviction',
  },
];

export function hazardOf(info: RedisFacts, settings: RedisFacts): Hazard | undefined {
  const found = CHECKS.find(({ isBad }) => isBad(info, settings));
  return found && { code: found.code ?? 'STORE_FAILED', what: found.what };
}

/** The answer of INFO: `name:value` in lines. */
export function readInfo(answer: unknown): RedisFacts {
  const lines = String(answer).split('\r\n');
  return new Map(lines.map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1)]));
}

/** The answers of CONFIG GET: names and values in turn. */
export function readSettings(answers: readonly unknown[]): RedisFacts {
  const words = answers.flat().map(String);
  const facts = new Map<string, string>();
  for (let at = 0; at + 1 < words.length; at += 2) facts.set(words[at]!, words[at + 1]!);
  return facts;
}
