import { expect, test } from 'vitest';
import { newPlace, storeConformance, type StoreUnderTest } from '../../../test/conformance/store.ts';
import { storeAcceptorConformance } from '../../../test/conformance/store-acceptor.ts';
import { MemoryStore } from './memory.ts';
import type { AcceptorStore } from './store.ts';

const memory: StoreUnderTest = {
  open: async (place) => new MemoryStore(place),
  empty: async (place) => MemoryStore.clear(place),
  snapshot: async (place) => {
    const before = await everythingIn(new MemoryStore(place));
    return async () => {
      MemoryStore.clear(place);
      const writes = before.map(([key, text]) => ({ key, text, expected: undefined }));
      await new MemoryStore(place).write(writes);
    };
  },
};

async function everythingIn(store: AcceptorStore): Promise<readonly (readonly [string, string])[]> {
  const keys = await store.list('', Infinity);
  const documents = await store.read(keys);
  return keys.map((key, at) => [key, documents[at]!.text] as const);
}

storeConformance('memory', memory);
storeAcceptorConformance('memory', memory);

test('two names are two stores, one name is one', async () => {
  const place = newPlace('memory');
  await new MemoryStore(place).write([{ key: 'k', text: 'x', expected: undefined }]);
  expect(await new MemoryStore(`${place}-other`).read(['k'])).toEqual([undefined]);
  expect(await new MemoryStore(place).read(['k'])).toMatchObject([{ text: 'x' }]);
});
