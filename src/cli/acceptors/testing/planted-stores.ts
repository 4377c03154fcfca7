/** Stores with one defect each, over MemoryStore: what the checks are there to catch. For tests only. */
import {
  type AcceptorStore,
  type ConditionalWrite,
  MemoryStore,
  type StoredDocument,
  type StoreVersion,
  type WriteResult,
} from '../../../caspaxos/index.ts';

type Change = Partial<Pick<AcceptorStore, 'read' | 'write' | 'list'>>;
export type Plant = (store: MemoryStore) => Change;

/** A new connection to the place of that name, with the defect. */
export function planted(name: string, plant: Plant): AcceptorStore {
  const store = new MemoryStore(name);
  return {
    url: store.url,
    concurrency: 1,
    read: (keys) => store.read(keys),
    write: (writes) => store.write(writes),
    list: (after, limit) => store.list(after, limit),
    close: () => store.close(),
    ...plant(store),
  };
}

/** Whatever is there. */
async function overwrite(store: MemoryStore, key: string, text: string): Promise<WriteResult> {
  for (;;) {
    const [now] = await store.read([key]);
    const [result] = await store.write([{ key, text, expected: now?.version }]);
    if (result!.result === 'written') return result!;
  }
}

function later(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Refuses the writes that it is told to. */
export function refusing(isRefused: (write: ConditionalWrite) => boolean): Plant {
  return (store) => ({
    write: each(async (one) => (isRefused(one) ? { result: 'conflict' } : (await store.write([one]))[0]!)),
  });
}

/** Tells the writer another version than readers see. */
export const tellsAnotherVersion: Plant = (store) => ({
  write: each(async (one) => {
    const [result] = await store.write([one]);
    return result!.result === 'written' ? { result: 'written', version: 'another' } : result!;
  }),
});

/** Each write in its own way, one after the other. */
function each(
  write: (one: ConditionalWrite) => Promise<WriteResult>,
): (writes: readonly ConditionalWrite[]) => Promise<readonly WriteResult[]> {
  return async (writes) => {
    const results: WriteResult[] = [];
    for (const one of writes) results.push(await write(one));
    return results;
  };
}

export const lastWriteWins: Plant = (store) => ({
  write: each(({ key, text }) => overwrite(store, key, text)),
});

/** Compares, and then swaps: fine as long as nobody else does. */
export const comparesThenSwaps: Plant = (store) => ({
  write: each(async ({ key, text, expected }) => {
    const [now] = await store.read([key]);
    if (now?.version !== expected) return { result: 'conflict' };
    await later();
    return overwrite(store, key, text);
  }),
});

export const createsOverExisting: Plant = (store) => ({
  write: each(async (one) =>
    one.expected === undefined ? overwrite(store, one.key, one.text) : (await store.write([one]))[0]!,
  ),
});

/** The version is made from the text, as an ETag that is a hash. */
export const versionsOfContent: Plant = (store) => renamingVersions(store, (_, text) => `hash of ${text}`);

/** The version counts, and starts again. */
export function versionsThatRepeat(): Plant {
  const counts = new Map<StoreVersion, number>();
  return (store) =>
    renamingVersions(store, (version) => {
      if (!counts.has(version)) counts.set(version, counts.size);
      return counts.get(version)! % 8;
    });
}

function renamingVersions(
  store: MemoryStore,
  name: (version: StoreVersion, text: string) => StoreVersion,
): Change {
  const renamed = (document: StoredDocument | undefined): StoredDocument | undefined =>
    document && { ...document, version: name(document.version, document.text) };
  return {
    read: async (keys) => (await store.read(keys)).map(renamed),
    write: each(async ({ key, text, expected }) => {
      const [now] = await store.read([key]);
      if (renamed(now)?.version !== expected) return { result: 'conflict' };
      const [result] = await store.write([{ key, text, expected: now?.version }]);
      return result?.result === 'written' ? { ...result, version: name(result.version, text) } : result!;
    }),
  };
}

/** Decides at once who has won, and shows it to readers a moment later. */
export function visibleLater(): Plant {
  const shown = new Map<string, StoredDocument>();
  return (store) => ({
    read: async (keys) => keys.map((key) => shown.get(key)),
    write: async (writes) => {
      const results = await store.write(writes);
      const documents = await store.read(writes.map(({ key }) => key));
      setImmediate(() => {
        for (const [at, { key }] of writes.entries()) if (documents[at]) shown.set(key, documents[at]);
      });
      return results;
    },
  });
}

/** Reads what it has read or written before from its own memory, as a replica that lags behind. */
export const readsFromCache: Plant = (store) => {
  const cache = new Map<string, StoredDocument | undefined>();
  return {
    read: async (keys) => {
      const found = await store.read(keys);
      for (const [at, key] of keys.entries()) if (cache.get(key) === undefined) cache.set(key, found[at]);
      return keys.map((key) => cache.get(key));
    },
    write: async (writes) => {
      for (const { key } of writes) cache.delete(key);
      return store.write(writes);
    },
  };
};

/** Says `written` of every tenth write without writing it. */
export function forgetsSome(): Plant {
  let count = 0;
  return (store) => ({
    write: each(async (one) => {
      const [now] = await store.read([one.key]);
      count += 1;
      if (count % 10 === 0 && now?.version === one.expected)
        return { result: 'written', version: `lost ${count}` };
      return (await store.write([one]))[0]!;
    }),
  });
}

/** One refused write of a batch, and all are refused. */
export const allOrNothing: Plant = (store) => ({
  write: async (writes) => {
    const now = await store.read(writes.map(({ key }) => key));
    const holds = writes.every(({ expected }, at) => now[at]?.version === expected);
    return holds ? store.write(writes) : writes.map(() => ({ result: 'conflict' }));
  },
});

export const ignoresCase: Plant = (store) => ({
  read: (keys) => store.read(keys.map((key) => key.toLowerCase())),
  write: (writes) => store.write(writes.map((one) => ({ ...one, key: one.key.toLowerCase() }))),
});

export const dropsNulls: Plant = (store) => ({
  write: (writes) => store.write(writes.map((one) => ({ ...one, text: one.text.replaceAll('\u0000', '') }))),
});

/** A page begins with the key that the last one ended with. */
export const pagesOverlap: Plant = (store) => ({
  list: async (after, limit) => {
    const page = await store.list(after, limit);
    const [there] = await store.read([after]);
    return there === undefined ? page : [after, ...page].slice(0, limit);
  },
});

export const listsHalf: Plant = (store) => ({
  list: async (after, limit) => (await store.list(after, limit)).filter((key) => !key.includes('odd')),
});

export const listsTwice: Plant = (store) => ({
  list: async (after, limit) => {
    const page = await store.list(after, limit);
    return page.length < 2 ? page : [page[0]!, ...page.slice(0, -1)];
  },
});

/** Of a batch, the last write is answered and not carried out. */
export const losesTheLast: Plant = (store) => ({
  write: async (writes) => {
    if (writes.length === 1) return store.write(writes);
    const results = await store.write(writes.slice(0, -1));
    return [...results, { result: 'written', version: 'lost' }];
  },
});
