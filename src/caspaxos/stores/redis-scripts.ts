/**
 * The three scripts that are all this library asks of Redis. Redis runs a script as a whole, and writes its effects to the
 * append-only file as a whole, so the three keys that they work on never disagree:
 *
 *   {PREFIX}:texts      a hash: the document of each key, as it is
 *   {PREFIX}:versions   a hash: the version of each key
 *   {PREFIX}:keys       a sorted set: the keys in order, all with score 0
 *
 * The braces make them one slot of a Redis Cluster. Each script begins with a look at all three: when somebody has deleted
 * one by hand, nothing is answered from what is left.
 *
 * Before that comes a write that changes nothing and costs no sync. A replica refuses it; otherwise a master that was turned
 * into a replica would go on answering reads, from the past. It also finds out what could stop a script half way, which
 * Redis would not undo: a full memory, or a user who may not run a command.
 */
import { createHash } from 'node:crypto';

export interface RedisScript {
  readonly text: string;
  readonly sha: string;
}

/** The first word of the answer when one of the three keys is gone. */
export const INCOMPLETE = 'INCOMPLETE';

/** Does nothing to keys without an expiry. Redis runs it with a full memory, too. */
const AS_MASTER = `redis.call('PERSIST', KEYS[1])`;
/** Does nothing: all scores are 0. Redis refuses it with a full memory. Had anything been written before it, Redis would not look. */
const AS_MASTER_WITH_MEMORY = `redis.call('ZADD', KEYS[3], 'XX', 0, '')`;

const LOOK = `
local held = redis.call('HLEN', KEYS[1])
if redis.call('HLEN', KEYS[2]) ~= held or redis.call('ZCARD', KEYS[3]) ~= held then
  return redis.error_reply('${INCOMPLETE} the three keys do not belong together')
end
`;

/** ARGV: keys. Answers with their texts, and their versions. */
export const READ = script(`${AS_MASTER}
${LOOK}
return { redis.call('HMGET', KEYS[1], unpack(ARGV)), redis.call('HMGET', KEYS[2], unpack(ARGV)) }
`);

/** ARGV: key, text, expected version or nothing, new version; and so on. Answers with 1 for each that was written, else 0. */
export const WRITE = script(`${AS_MASTER_WITH_MEMORY}
${LOOK}
local results = {}
for at = 1, #ARGV, 4 do
  local key, text, expected, version = ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3]
  local found = redis.call('HGET', KEYS[2], key)
  if (found or '') == expected then
    redis.call('HSET', KEYS[1], key, text)
    redis.call('HSET', KEYS[2], key, version)
    if not found then redis.call('ZADD', KEYS[3], 0, key) end
    results[#results + 1] = 1
  else
    results[#results + 1] = 0
  end
end
return results
`);

/** ARGV: where to begin, as ZRANGEBYLEX wants it; how many. Answers with keys. */
export const LIST = script(`${AS_MASTER}
${LOOK}
return redis.call('ZRANGEBYLEX', KEYS[3], ARGV[1], '+', 'LIMIT', 0, ARGV[2])
`);

/** The commands in these scripts, and those that run them: what a user needs to be allowed. */
export const COMMANDS = 'EVAL EVALSHA HGET HLEN HMGET HSET PERSIST ZADD ZCARD ZRANGEBYLEX';

export function keysOf(prefix: string): readonly string[] {
  return ['texts', 'versions', 'keys'].map((name) => `{${prefix}}:${name}`);
}

function script(text: string): RedisScript {
  return { text, sha: createHash('sha1').update(text).digest('hex') };
}
