import { describe, expect, test } from 'vitest';
import { accept, promise, query, typesOf, valueIn } from '../../../test/conformance/messages.ts';
import { NODE_HOST } from '../node-host.ts';
import { doubting, once, onKey, refusing } from './faults.ts';
import { MemoryStore } from './memory.ts';
import { StoreAcceptor } from './store-acceptor.ts';
import type { AcceptorStore, ConditionalWrite } from './store.ts';

let names = 0;

function newStore(): MemoryStore {
  names += 1;
  return new MemoryStore(`store-acceptor-${names}`);
}

async function described(acceptor: StoreAcceptor): Promise<StoreAcceptor> {
  await acceptor.describe();
  return acceptor;
}

/** What goes to the store, call by call. */
function noted(store: AcceptorStore): { readonly store: AcceptorStore; readonly calls: string[] } {
  const calls: string[] = [];
  const isRegister = (key: string): boolean => key.startsWith('register/');
  return {
    calls,
    store: {
      url: store.url,
      concurrency: store.concurrency,
      read: (keys) => {
        if (keys.some(isRegister)) calls.push('read');
        return store.read(keys);
      },
      write: async (writes: readonly ConditionalWrite[]) => {
        const results = await store.write(writes);
        if (writes.some(({ key }) => isRegister(key))) calls.push(results[0]!.result);
        return results;
      },
      list: (after, limit) => store.list(after, limit),
      close: () => store.close(),
    },
  };
}

describe('an acceptor over a store that remembers fewer registers than it is asked about', () => {
  test('answers for all of a batch, and of batches at once', async () => {
    const acceptor = await described(new StoreAcceptor(newStore(), NODE_HOST, 10));
    const keys = Array.from({ length: 40 }, (_, at) => `k${at}`);
    for (const round of [1, 2, 3]) {
      const batches = [keys, keys.slice(20).concat(keys.slice(0, 20)), keys.slice(5, 15)];
      const replies = await Promise.all(
        batches.map((batch, at) =>
          acceptor.handle(
            batch.map((key) => accept(key, round * 10 + at, `${round}/${at}`)),
            0,
          ),
        ),
      );
      for (const reply of replies.flat()) expect(['2b', 'nak']).toContain(reply.type);
    }
    const [seen] = await acceptor.handle([query('k7')], 0);
    expect(valueIn(seen)).toMatch(/^3\//);
  });
});

describe('an identity that cannot be written', () => {
  test('is not claimed: the store refuses', async () => {
    const store = newStore();
    const acceptor = new StoreAcceptor(
      doubting(
        refusing(store, () => false),
        () => true,
      ),
    );
    // The answer says that it failed, though it was written: somebody may look again.
    await expect(acceptor.describe()).rejects.toMatchObject({ code: 'STORE_FAILED' });
    const { id } = await new StoreAcceptor(store).describe();
    expect(id).not.toBe('');
  });

  test('is not claimed: the store says yes and keeps nothing', async () => {
    const store: AcceptorStore = {
      url: 'memory:nothing',
      concurrency: 1,
      read: async (keys) => keys.map(() => undefined),
      write: async (writes) => writes.map(() => ({ result: 'written', version: 1 })),
      list: async () => [],
      close: async () => {},
    };
    await expect(new StoreAcceptor(store).describe()).rejects.toMatchObject({ code: 'STORE_FAILED' });
  });
});

describe('a register that several processes write in turns', () => {
  test('is looked at before the first phase, and written without being refused', async () => {
    const place = newStore();
    const here = noted(place);
    const acceptor = await described(new StoreAcceptor(here.store));
    const other = await described(new StoreAcceptor(new MemoryStore(place.url.slice('memory:'.length))));
    const turn = async (one: StoreAcceptor, counter: number): Promise<void> => {
      expect(typesOf(await one.handle([promise('k', counter)], 0))).toEqual(['1b']);
      expect(typesOf(await one.handle([accept('k', counter, 'v')], 0))).toEqual(['2b']);
    };
    await turn(acceptor, 1);
    await turn(other, 2);
    here.calls.length = 0;
    await turn(acceptor, 3);
    expect(here.calls).toEqual(['conflict', 'read', 'written', 'written']);
    await turn(other, 4);
    here.calls.length = 0;
    await turn(acceptor, 5);
    expect(here.calls).toEqual(['read', 'written', 'written']);
    // Nobody wrote meanwhile: one look more, and then none.
    here.calls.length = 0;
    await turn(acceptor, 6);
    await turn(acceptor, 7);
    expect(here.calls).toEqual(['read', 'written', 'written', 'written', 'written']);
  });

  test('and that fails once is read again', async () => {
    const store = newStore();
    const acceptor = await described(new StoreAcceptor(refusing(store, once(onKey('register/k')))));
    await expect(acceptor.handle([promise('k', 1)], 0)).rejects.toMatchObject({ code: 'STORE_FAILED' });
    expect(typesOf(await acceptor.handle([promise('k', 2)], 0))).toEqual(['1b']);
  });
});
