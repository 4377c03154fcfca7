/**
 * Stores that cut their data by a key of ours allow only so much to each cut (a thousand writes a second). The documents of
 * an acceptor therefore lie in several of them, by a hash of their keys.
 */
import { createHash } from 'node:crypto';

/** At most 256 of them. */
export function shardsOf(prefix: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, at) => nameOfShard(prefix, at));
}

export function shardOf(prefix: string, count: number, key: string): string {
  return nameOfShard(prefix, createHash('sha256').update(key).digest()[0]! % count);
}

function nameOfShard(prefix: string, at: number): string {
  return `${prefix}/${at.toString(16)}`;
}
