import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { KeyListing, MOST_LISTED_CHARACTERS } from './listing.ts';

/** A place that can only be walked through, in whatever order; it counts the walks. */
class Place {
  walks = 0;
  readonly keys: string[];
  readonly url = 'place:';
  readonly listing = new KeyListing(this, () => this.#walk());

  constructor(keys: readonly string[]) {
    this.keys = [...keys];
  }

  async *#walk(): AsyncIterable<string> {
    this.walks += 1;
    yield* this.keys.slice();
  }

  /** All pages from there on. */
  async listed(after: string, limit: number): Promise<readonly string[]> {
    const found: string[] = [];
    for (let at = after; ; at = found.at(-1)!) {
      const page = await this.listing.list(at, limit);
      if (page.length > limit) throw new Error(`${page.length} keys on a page of ${limit}`);
      if (page.length === 0) return found;
      found.push(...page);
    }
  }
}

describe('a listing', () => {
  test('goes through all keys in order, each once, in one walk', async () => {
    const place = new Place(['c', 'a', 'e', 'b', 'd']);
    expect(await place.listed('', 2)).toEqual(['a', 'b', 'c', 'd', 'e']);
    expect(place.walks).toBe(1);
  });

  test('gives what is after any key, in pages of any size', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(fc.string({ unit: 'binary', minLength: 1, maxLength: 4 }), { maxLength: 12 }),
        fc.string({ unit: 'binary', maxLength: 4 }),
        fc.integer({ min: 1, max: 10 }),
        async (keys, after, limit) => {
          const place = new Place(keys);
          expect(await place.listed(after, limit)).toEqual(keys.filter((key) => key > after).toSorted());
        },
      ),
      { seed: 11, numRuns: 80 },
    );
  });

  test('that begins anew sees what was made since (rule 9)', async () => {
    const place = new Place(['register/a', 'register/b', 'register/c']);
    expect(await place.listing.list('register/', 2)).toEqual(['register/a', 'register/b']);
    place.keys.push('register/aa');
    expect(await place.listing.list('register/', 2)).toEqual(['register/a', 'register/aa']);
    await place.listed('register/', 2);
    place.keys.push('register/d');
    expect(await place.listed('register/', 2)).toEqual([
      'register/a',
      'register/aa',
      'register/b',
      'register/c',
      'register/d',
    ]);
  });

  test('that another one overtakes still misses nothing that was there when it began', async () => {
    const place = new Place(['a', 'b', 'c', 'd']);
    const first = await place.listing.list('', 2);
    place.keys.push('bb');
    expect(await place.listing.list('', 3)).toEqual(['a', 'b', 'bb']);
    expect(first).toEqual(['a', 'b']);
    expect(await place.listing.list('b', 9)).toEqual(['bb', 'c', 'd']);
  });

  test('whose walk began earlier and ends later does not replace what was found since', async () => {
    const release: (() => void)[] = [];
    const contents = [['a'], ['a', 'b', 'c']];
    const listing = new KeyListing({ url: 'place:' }, async function* () {
      const keys = contents.shift()!;
      await new Promise<void>((resolve) => {
        release.push(resolve);
      });
      yield* keys;
    });
    const [early, late] = [listing.list('', 1), listing.list('', 1)];
    await new Promise(setImmediate);
    release[1]!();
    expect(await late).toEqual(['a']);
    release[0]!();
    expect(await early).toEqual(['a']);
    expect(await listing.list('a', 5)).toEqual(['b', 'c']);
  });

  test('keeps nothing after its end', async () => {
    const place = new Place(['a', 'b']);
    await place.listed('', 1);
    place.keys.push('c');
    expect(await place.listing.list('b', 1)).toEqual(['c']);
  });

  test('ends where there is no end', async () => {
    const key = 'k'.repeat(1024 * 1024);
    let given = 0;
    const listing = new KeyListing({ url: 'place:' }, async function* walk() {
      for (;;) {
        given += key.length;
        yield key;
      }
    });
    await expect(listing.list('', 1)).rejects.toMatchObject({
      code: 'STORE_FAILED',
      message: expect.stringContaining('Acceptor place: lists more documents than can be'),
    });
    expect(given).toBeLessThanOrEqual(MOST_LISTED_CHARACTERS + key.length);
  });

  test('whose walk fails fails, and can be asked again', async () => {
    let isBroken = true;
    const listing = new KeyListing({ url: 'place:' }, async function* walk() {
      yield 'a';
      if (isBroken) throw new Error('gone');
      yield 'b';
    });
    await expect(listing.list('', 9)).rejects.toThrow('gone');
    isBroken = false;
    expect(await listing.list('', 9)).toEqual(['a', 'b']);
  });
});
