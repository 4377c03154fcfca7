/** One ordered list out of many: each shard gives its keys in the order of their bytes, a page at a time. */
import { inParallel } from './in-parallel.ts';

export interface ShardPage {
  readonly keys: readonly string[];
  /** Where the next page begins; undefined: there is none. */
  readonly next: string | undefined;
}

export type PageReader = (shard: string, after: string, limit: number) => Promise<ShardPage>;

/** A shard has its share of a list, give or take; the few more spare most lists a second look. */
const SPARE_KEYS = 8;
const AT_A_TIME = 16;

export async function mergeShards(
  shards: readonly string[],
  after: string,
  limit: number,
  read: PageReader,
): Promise<readonly string[]> {
  const size = Math.min(limit, Math.ceil(limit / shards.length) + SPARE_KEYS);
  const pages = new Map<string, ShardPage>();
  const look = async (shard: string): Promise<void> => {
    const known = pages.get(shard);
    const { keys, next } = await read(shard, known?.next ?? after, size);
    pages.set(shard, { keys: [...(known?.keys ?? []), ...keys], next });
  };
  await inParallel(shards, AT_A_TIME, look);
  for (;;) {
    // Beyond this key, a shard may have some that were not read yet.
    const [known] = [...pages.values()].flatMap(({ next }) => next ?? []).sort(compareBytes);
    const keys = [...pages.values()].flatMap((page) => page.keys).sort(compareBytes);
    const certain = known === undefined ? keys : keys.filter((key) => compareBytes(key, known) <= 0);
    if (known === undefined || certain.length >= limit) return certain.slice(0, limit);
    await inParallel(
      shards.filter((shard) => pages.get(shard)!.next === known),
      AT_A_TIME,
      look,
    );
  }
}

export function compareBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}
