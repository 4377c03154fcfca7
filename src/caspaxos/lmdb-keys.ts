/**
 * Keys in LMDB as the bytes of their UTF-8, no more and no less. The package's own encoding of strings is the same for most, but
 * gives some keys with control characters in them the bytes of others, and cannot read some of its own: two registers would
 * share one record.
 */

/** What LMDB can hold; a buffer would quietly take the beginning of a longer one. */
const LONGEST_KEY = 1978;

export const UTF8_KEYS = {
  /** Bytes are the package's own: where a range without a beginning begins. */
  writeKey(key: string | Uint8Array, target: Buffer, position: number): number {
    if (typeof key === 'string') {
      if (Buffer.byteLength(key) > LONGEST_KEY)
        throw new RangeError(`A key has at most ${LONGEST_KEY} bytes.`);
      return position + target.write(key, position, 'utf8');
    }
    target.set(key, position);
    return position + key.length;
  },
  readKey(source: Buffer, start: number, end: number): string {
    return source.toString('utf8', start, end);
  },
} as const;
