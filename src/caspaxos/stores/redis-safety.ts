/**
 * Whether a Redis server keeps what it answers. Out of the box it does not: it writes to disk once a second, or now and then.
 * An acceptor that forgets a promise can make two values chosen. So the server is looked at before anything is asked of it, and again every
 * few seconds; and because an administrator can change a setting at any moment, what decides about the disk is told with every answer
 * of a checked connection (`TOLD_WITH_ANSWERS`). Whatever falls short is refused with the setting to change.
 */
import type { ErrorCode } from '../errors.ts';

/** What the server says of itself: the lines of INFO, and of CONFIG GET. */
export type RedisFacts = ReadonlyMap<string, string>;

export interface Hazard {
  readonly code: ErrorCode;
  /** A clause about the server, with the way out. */
  readonly what: string;
  /** Whether it may forget what it answers from now on: if it ends before that is mended, nobody knows what it has kept. */
  readonly forgets: boolean;
}

/** For one CONFIG GET. A server that does not know one leaves it out. */
export const SETTINGS = [
  'appendonly',
  'appendfsync',
  'no-appendfsync-on-rewrite',
  'aof-load-corrupt-tail-max-size',
  'maxmemory',
  'maxmemory-policy',
];
/** Of them, what decides whether an answer is on disk. */
export const TOLD_WITH_ANSWERS = ['appendonly', 'appendfsync', 'no-appendfsync-on-rewrite'];

interface Check extends Pick<Hazard, 'what'> {
  readonly isBad: (facts: RedisFacts, isFirst: boolean) => boolean;
  readonly code?: ErrorCode;
  readonly forgets?: true;
}

const OLDEST_MAJOR_VERSION = 7;

/** Of INFO. */
const SERVER: readonly Check[] = [
  {
    isBad: (info) => info.get('loading') === '1',
    what: 'is still loading its data',
    code: 'UNREACHABLE',
  },
  {
    isBad: (info) => !(parseInt(info.get('redis_version') ?? '', 10) >= OLDEST_MAJOR_VERSION),
    what:
      'is older than Redis 7, which makes a transaction of each script, and drops those when it starts with the default user off: ' +
      'use Redis 7 or newer, or Valkey',
  },
  {
    isBad: (info) => info.get('role') !== 'master',
    what: 'is a replica, which answers from the past: use the URL of its master',
  },
];

/** Of CONFIG GET: what stands between an answer and the disk. */
const ANSWERS: readonly Check[] = [
  {
    isBad: (settings) => settings.get('appendonly') !== 'yes',
    what: 'does not write its data to disk as it changes: set appendonly yes',
    forgets: true,
  },
  {
    isBad: (settings) => settings.get('appendfsync') !== 'always',
    what: 'answers before its data is on disk: set appendfsync always',
    forgets: true,
  },
  {
    isBad: (settings) => settings.get('no-appendfsync-on-rewrite') === 'yes',
    what: 'answers before its data is on disk while it rewrites its file: set no-appendfsync-on-rewrite no',
    forgets: true,
  },
];

const REST: readonly Check[] = [
  {
    // A server that was told to have a file while it ran has none until it has written one in full, and does not say that it is this one.
    isBad: (facts, isFirst) =>
      (isFirst || facts.get('aof_base_size') === '0') &&
      (facts.get('aof_rewrite_in_progress') === '1' || facts.get('aof_rewrite_scheduled') === '1'),
    what: 'is writing its append-only file anew, and may have no other until that is done: wait for it',
  },
  {
    isBad: (facts, isFirst) =>
      (isFirst || facts.get('aof_base_size') === '0') && facts.get('aof_last_bgrewrite_status') === 'err',
    what: 'could not write its append-only file anew, and may have no other: see its log, run BGREWRITEAOF, and wait for it',
  },
  {
    isBad: (facts) => (facts.get('aof-load-corrupt-tail-max-size') ?? '0') !== '0',
    what: 'cuts off a damaged end of its file without a word when it starts: set aof-load-corrupt-tail-max-size 0',
    forgets: true,
  },
  {
    // The other policies take only keys with an expiry, which these have not.
    isBad: (facts) =>
      facts.get('maxmemory') !== '0' && (facts.get('maxmemory-policy') ?? '').startsWith('allkeys'),
    what: 'throws data away when its memory is full: set maxmemory-policy noeviction',
  },
];

/** What INFO alone tells; the rest need not be asked then. */
export function hazardOfServer(info: RedisFacts): Hazard | undefined {
  return firstOf(SERVER, info, false);
}

/** What is told with every answer. */
export function hazardOfAnswer(settings: RedisFacts): Hazard | undefined {
  return firstOf(ANSWERS, settings, false);
}

/** `isFirst`: nothing is known of the moments before, as when a connection is made, so a file that is being written may be the only one. */
export function hazardOf(info: RedisFacts, settings: RedisFacts, isFirst: boolean): Hazard | undefined {
  const all = new Map([...info, ...settings]);
  return hazardOfServer(info) ?? hazardOfAnswer(settings) ?? firstOf(REST, all, isFirst);
}

function firstOf(checks: readonly Check[], facts: RedisFacts, isFirst: boolean): Hazard | undefined {
  const found = checks.find(({ isBad }) => isBad(facts, isFirst));
  return (
    found && {
      code: found.code ?? 'STORE_FAILED',
      what: found.what,
      forgets: found.forgets === true,
    }
  );
}

/** The answer of INFO: `name:value` in lines. */
export function readInfo(answer: unknown): RedisFacts {
  const lines = String(answer).split('\r\n');
  return new Map(lines.map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1)]));
}

/** The answer of CONFIG GET: names and values in turn. */
export function readSettings(answer: unknown): RedisFacts {
  const words = (answer as readonly unknown[]).map(String);
  const facts = new Map<string, string>();
  for (let at = 0; at + 1 < words.length; at += 2) facts.set(words[at]!, words[at + 1]!);
  return facts;
}
