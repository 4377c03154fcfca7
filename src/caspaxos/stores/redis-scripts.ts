/**
 * The scripts that are all this library asks of Redis. All documents of an acceptor are fields of one hash:
 *
 *   {PREFIX}:documents   the field is the document's key; its value is the version, a line break, the text
 *
 * **One write.** A script that writes more than once stands in the append-only file as a transaction, and servers before the fix of
 * November 2025 (redis#14541, valkey#3983) check a transaction against the permissions of the *default user* when they load the file:
 * where that user is off, as it should be, they drop it without a word. So each script ends with exactly one command that writes,
 * however many documents it is about, and stands in the file as that command alone. (Before version 7, Redis made a transaction
 * of any script: those are refused, see `redis-safety.ts`.) One write has no half way either: Redis undoes nothing when a script fails.
 *
 * **A master.** Where a script has nothing to write, the write is one that changes nothing and costs no sync. A replica refuses it;
 * otherwise a master that was turned into a replica would go on answering reads, from the past. A write that may need memory must
 * be the first of its script: had anything been written before it, Redis would not look whether there is any left.
 *
 * **Earlier versions** of Baton kept texts, versions and the order of the keys in three keys. Documents found there are moved
 * (`MOVE`), in steps of one write each: first a mark that makes those versions refuse the store, then the documents, then the mark
 * that all were moved. Until then nothing is answered.
 */
import { createHash } from 'node:crypto';

export interface RedisScript {
  readonly text: string;
  readonly sha: string;
}

/** The first word of the answer when there are documents of an earlier version that are not moved yet. */
export const EARLIER = 'EARLIER';
/** And when those are not whole, or stand beside others. */
export const INCOMPLETE = 'INCOMPLETE';

/** Documents in one write: Lua takes at most 8,000 arguments in one call, and a document is two. */
export const MOST_WRITES = 2000;
/** Documents in one read. */
export const MOST_READS = 4000;

/** Does nothing to keys without an expiry. Redis runs it with a full memory, too. */
const AS_MASTER = `redis.call('PERSIST', KEYS[1])`;

const MOVED = 'moved';
/** No document has an empty key: the field is free for the mark. To earlier versions it is a text too many. */
const LOOK = `
if redis.call('HLEN', KEYS[2]) > 0 and redis.call('HGET', KEYS[2], '') ~= '${MOVED}' then
  return redis.error_reply('${EARLIER} there are documents of an earlier version')
end
`;

/** ARGV: keys. Answers with their values. */
export const READ = script(`${AS_MASTER}
${LOOK}
return redis.call('HMGET', KEYS[1], unpack(ARGV))
`);

/** ARGV: key, expected version or nothing, new value; and so on. Answers with 1 for each that was written, else 0. */
export const WRITE = script(`${LOOK}
local keys, changes, results = {}, {}, {}
for at = 1, #ARGV, 3 do keys[#keys + 1] = ARGV[at] end
for at, found in ipairs(redis.call('HMGET', KEYS[1], unpack(keys))) do
  local expected = ARGV[3 * at - 1]
  local isExpected = expected == '' and not found
  if found and expected ~= '' then isExpected = string.sub(found, 1, #expected + 1) == expected .. '\\n' end
  if isExpected then
    changes[#changes + 1] = keys[at]
    changes[#changes + 1] = ARGV[3 * at]
  end
  results[at] = isExpected and 1 or 0
end
if #changes == 0 then ${AS_MASTER} else redis.call('HSET', KEYS[1], unpack(changes)) end
return results
`);

/** Answers with all keys, in no order. */
export const LIST = script(`${AS_MASTER}
${LOOK}
return redis.call('HKEYS', KEYS[1])
`);

/** ARGV: a prefix. Answers with 1 when there is a key that begins with it. */
export const HOLDS = script(`${AS_MASTER}
${LOOK}
local cursor = '0'
repeat
  local page = redis.call('HSCAN', KEYS[1], cursor, 'COUNT', 10)
  for at = 1, #page[2], 2 do
    if string.sub(page[2][at], 1, #ARGV[1]) == ARGV[1] then return 1 end
  end
  cursor = page[1]
until cursor == '0'
return 0
`);

/** Moves some documents of an earlier version. Answers with 1 when there are none left to move. */
export const MOVE = script(`
local held = redis.call('HLEN', KEYS[2])
local mark = redis.call('HGET', KEYS[2], '')
if held == 0 or mark == '${MOVED}' then return 1 end
if not mark then
  local isWhole = redis.call('HLEN', KEYS[3]) == held and redis.call('ZCARD', KEYS[4]) == held
  if not isWhole or redis.call('HLEN', KEYS[1]) > 0 then
    return redis.error_reply('${INCOMPLETE} the keys of an earlier version do not belong together')
  end
  redis.call('HSET', KEYS[2], '', 'moving')
  return 0
end
local changes = {}
for _, key in ipairs(redis.call('HKEYS', KEYS[2])) do
  if key ~= '' and not redis.call('HGET', KEYS[1], key) then
    changes[#changes + 1] = key
    changes[#changes + 1] = redis.call('HGET', KEYS[3], key) .. '\\n' .. redis.call('HGET', KEYS[2], key)
    if #changes == ${2 * MOST_WRITES} then break end
  end
end
if #changes > 0 then redis.call('HSET', KEYS[1], unpack(changes)) else redis.call('HSET', KEYS[2], '', '${MOVED}') end
return 0
`);

/** The commands in these scripts, and those that run them: what a user needs to be allowed. */
export const COMMANDS = 'EVAL EVALSHA HGET HKEYS HLEN HMGET HSCAN HSET PERSIST ZCARD';

/** The documents, and the three keys of earlier versions. The braces make them one slot of a Redis Cluster. */
export function keysOf(prefix: string): readonly string[] {
  return ['documents', 'texts', 'versions', 'keys'].map((name) => `{${prefix}}:${name}`);
}

function script(text: string): RedisScript {
  return { text, sha: createHash('sha1').update(text).digest('hex') };
}
