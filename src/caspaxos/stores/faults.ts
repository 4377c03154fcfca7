/**
 * Faults as small wrappers: each takes a store and gives a store, so they compose. `when` picks the calls that they meet.
 *
 *   refusing(store, once(writes))                       the first write is not carried out, and says so
 *   losingAnswers(sendingAgain(store, onKey('k')))      ...
 *
 * For the conformance suite, the simulator, and anybody who wants to see what an application makes of a bad day.
 */
import type { AcceptorStore, ConditionalWrite, WriteResult } from './store.ts';

export interface StoreCall {
  readonly operation: 'read' | 'write' | 'list';
  /** The documents concerned; empty for a list. */
  readonly keys: readonly string[];
}

export type When = (call: StoreCall) => boolean;

export const always: When = () => true;
export const writes: When = ({ operation }) => operation === 'write';
export const reads: When = ({ operation }) => operation === 'read';

export function onKey(key: string, when: When = writes): When {
  return (call) => call.keys.includes(key) && when(call);
}

/** The first call that `when` picks, and no other. */
export function once(when: When = always): When {
  let isOver = false;
  return (call) => {
    if (isOver || !when(call)) return false;
    isOver = true;
    return true;
  };
}

/** The store is there, and says no: nothing is carried out. */
export function refusing(store: AcceptorStore, when: When): AcceptorStore {
  return around(store, async (call, carryOut) => {
    if (when(call)) throw new Error(`${store.url} refuses`);
    return carryOut();
  });
}

/** What was asked is carried out, and the answer is lost. */
export function losingAnswers(store: AcceptorStore, when: When): AcceptorStore {
  return around(store, async (call, carryOut) => {
    const result = await carryOut();
    if (when(call)) throw new Error(`the answer of ${store.url} was lost`);
    return result;
  });
}

/** What was asked is carried out; the answer is lost, and a client that means well sends it again (rule 7). */
export function sendingAgain(store: AcceptorStore, when: When): AcceptorStore {
  return around(store, async (call, carryOut) => {
    if (when(call)) await carryOut();
    return carryOut();
  });
}

/** Waits before, and after, a call is carried out, for as long as the promises take. */
export function delaying(
  store: AcceptorStore,
  wait: (call: StoreCall, at: 'before' | 'after') => Promise<void> | undefined,
): AcceptorStore {
  return around(store, async (call, carryOut) => {
    await wait(call, 'before');
    const result = await carryOut();
    await wait(call, 'after');
    return result;
  });
}

/** Goes away in the middle: of a batch of writes the first half is carried out, of anything else nothing. */
export function disappearing(store: AcceptorStore, when: When): AcceptorStore {
  const broken = around(store, async (call, carryOut) => {
    if (when(call)) throw new Error(`${store.url} went away`);
    return carryOut();
  });
  return {
    ...broken,
    async write(batch) {
      const call: StoreCall = { operation: 'write', keys: batch.map(({ key }) => key) };
      if (!when(call)) return store.write(batch);
      const half = batch.slice(0, Math.ceil(batch.length / 2));
      await store.write(half);
      throw new Error(`${store.url} went away`);
    },
  };
}

/** Writes some documents, but cannot say so: each such write is answered `failed`. */
export function doubting(store: AcceptorStore, isDoubtful: (key: string) => boolean): AcceptorStore {
  const doubt = (write: ConditionalWrite, result: WriteResult): WriteResult =>
    isDoubtful(write.key) ? { result: 'failed', error: new Error('no answer for this one') } : result;
  return {
    ...around(store, (_, carryOut) => carryOut()),
    async write(batch) {
      const results = await store.write(batch);
      return batch.map((write, at) => doubt(write, results[at]!));
    },
  };
}

/** A store whose place can be exchanged while it is in use: what happens to a disk, or to a server behind a name. */
export interface ExchangeableStore extends AcceptorStore {
  exchange(store: AcceptorStore): void;
}

export function exchangeable(first: AcceptorStore): ExchangeableStore {
  let store = first;
  return {
    url: first.url,
    concurrency: first.concurrency,
    exchange: (next) => {
      store = next;
    },
    read: (keys) => store.read(keys),
    write: (batch) => store.write(batch),
    list: (after, limit) => store.list(after, limit),
    prepare: async () => store.prepare?.(),
    get lineage() {
      return store.lineage;
    },
    lookAgain: async () => store.lookAgain?.(),
    close: () => store.close(),
  };
}

function around(
  store: AcceptorStore,
  meet: <T>(call: StoreCall, carryOut: () => Promise<T>) => Promise<T>,
): AcceptorStore {
  return {
    url: store.url,
    concurrency: store.concurrency,
    ...(store.largestText !== undefined && { largestText: store.largestText }),
    ...(store.lineage !== undefined && { lineage: store.lineage }),
    read: (keys) => meet({ operation: 'read', keys }, () => store.read(keys)),
    write: (batch) =>
      meet({ operation: 'write', keys: batch.map(({ key }) => key) }, () => store.write(batch)),
    list: (after, limit) => meet({ operation: 'list', keys: [] }, () => store.list(after, limit)),
    prepare: async () => store.prepare?.(),
    lookAgain: async () => store.lookAgain?.(),
    close: () => store.close(),
  };
}
