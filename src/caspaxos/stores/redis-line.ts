/**
 * Which line of memory a Redis server is of, as far as it can tell. It has no name that outlives it: its `run_id` and `master_replid` are drawn
 * anew with each start, and the second also when the last replica has been gone for a while. But a server that was a replica and was
 * promoted remembers until it ends whose copy it was, and up to where: `master_replid2` and `second_repl_offset`. A master that
 * never was a replica has zeros there, after a restart too, because what it loads its append-only file from does not bring them back.
 *
 *   a master since it started    continues everything: a restart of the same server looks like that
 *   a copy of X up to N          continues itself alone: a server that was promoted before it became an acceptor
 *
 * So a replica that was promoted in the acceptor's place is found out as long as it runs. One that is restarted before anybody
 * has looked is not. Valkey 9.1 brings the two numbers back at a start, and what later versions do nobody knows: nothing is concluded then.
 */
import type { Continues } from './lineage.ts';
import type { RedisFacts } from './redis-safety.ts';

const SINCE_ITS_START = 'a master since it started';
/** The first versions of which it is not known that a restart leaves zeros. */
const UNCERTAIN = { redis_version: [9, 0], valkey_version: [9, 1] } as const;

/** Undefined: nothing can be concluded. */
export function lineOfRedis(info: RedisFacts): string | undefined {
  const copied = info.get('master_replid2');
  const offset = info.get('second_repl_offset');
  if (copied === undefined || offset === undefined || !isCertain(info)) return undefined;
  return /^0+$/.test(copied) ? SINCE_ITS_START : `a copy of ${copied} up to ${offset}`;
}

/** Of a server that has become a copy of somebody, whatever it was before, nobody knows what it has. */
export const continuesRedis: Continues = (_, now) => now === SINCE_ITS_START;

/** Valkey says what version of Redis it is like, too. */
function isCertain(info: RedisFacts): boolean {
  const name = info.has('valkey_version') ? 'valkey_version' : 'redis_version';
  const [, major = Number.NaN, minor = Number.NaN] = (/^(\d+)\.(\d+)/.exec(info.get(name) ?? '') ?? []).map(
    Number,
  );
  const [uncertainMajor, uncertainMinor] = UNCERTAIN[name];
  return major < uncertainMajor || (major === uncertainMajor && minor < uncertainMinor);
}
