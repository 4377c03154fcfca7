import { describe, expect, test } from 'vitest';
import { leapingHost } from '../../../test/caspaxos/leaping-host.ts';
import { accept, promise, query, typesOf } from '../../../test/conformance/messages.ts';
import { until } from '../../../test/support/until.ts';
import { CasPaxosError } from '../errors.ts';
import { decodeIdentity, encodeIdentity, type IdentityDocument } from './documents.ts';
import { exchangeable, onKey, refusing } from './faults.ts';
import { IDENTITY_KEY } from './keys.ts';
import { Lineage } from './lineage.ts';
import { MemoryStore } from './memory.ts';
import { StoreAcceptor } from './store-acceptor.ts';
import { LOOK_AGAIN_MS } from './store-identity.ts';
import type { AcceptorStore, StoredDocument } from './store.ts';

let names = 0;

function newStore(): MemoryStore {
  names += 1;
  return new MemoryStore(`store-identity-${names}`);
}

/** A server that tells its line of memory with each answer. */
function onLine(store: AcceptorStore, line: string, lineage = new Lineage()): AcceptorStore {
  return {
    url: store.url,
    concurrency: store.concurrency,
    lineage,
    read: (keys) => {
      lineage.saw(line);
      return store.read(keys);
    },
    write: (writes) => {
      lineage.saw(line);
      return store.write(writes);
    },
    list: (after, limit) => {
      lineage.saw(line);
      return store.list(after, limit);
    },
    close: () => store.close(),
  };
}

async function documentOf(store: AcceptorStore): Promise<StoredDocument> {
  const [document] = await store.read([IDENTITY_KEY]);
  return document!;
}

async function identityOf(store: AcceptorStore): Promise<IdentityDocument> {
  const { text } = await documentOf(store);
  return decodeIdentity(text, 'the identity');
}

async function replaceIdentity(store: AcceptorStore, identity: IdentityDocument): Promise<void> {
  const { version } = await documentOf(store);
  await store.write([{ key: IDENTITY_KEY, text: encodeIdentity(identity), expected: version }]);
}

/** Register k goes back to what it was before its last promise. */
async function forget(store: AcceptorStore, acceptor: StoreAcceptor): Promise<void> {
  await acceptor.handle([promise('k', 1)], 0);
  const [earlier] = await store.read(['register/k']);
  await acceptor.handle([promise('k', 2)], 0);
  const [now] = await store.read(['register/k']);
  await store.write([{ key: 'register/k', text: earlier!.text, expected: now!.version }]);
}

async function named(store: AcceptorStore, host = leapingHost()): Promise<StoreAcceptor> {
  const acceptor = new StoreAcceptor(store, host);
  const { id } = await acceptor.describe();
  acceptor.expect(id);
  return acceptor;
}

function codeOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => 'none',
    (error: { code?: string }) => error.code ?? 'no code',
  );
}

describe('a store that was found to have forgotten', () => {
  test('is marked before anybody hears of it', async () => {
    const store = newStore();
    const acceptor = await named(store);
    await forget(store, acceptor);
    expect(await codeOf(acceptor.handle([query('k')], 0))).toBe('ACCEPTOR_BEHIND');
    expect((await identityOf(store)).retired).toMatchObject({
      code: 'ACCEPTOR_BEHIND',
      why: `Acceptor ${store.url} is not used any more: register k went back to an earlier state, as from an old copy. Replace it.`,
    });
  });

  test('that refuses the mark is asked again, not at once and not for ever', async () => {
    const store = newStore();
    const host = leapingHost();
    let refusals = 0;
    let isRefusing = false;
    const stubborn = refusing(store, (call) => {
      if (!isRefusing || !onKey(IDENTITY_KEY)(call)) return false;
      refusals += 1;
      return true;
    });
    const acceptor = await named(stubborn, host);
    await forget(store, acceptor);
    isRefusing = true;
    for (let at = 0; at < 5; at += 1)
      expect(await codeOf(acceptor.handle([query('k')], 0))).toBe('ACCEPTOR_BEHIND');
    expect(refusals).toBe(1);
    host.leap(1000);
    isRefusing = false;
    expect(await codeOf(acceptor.handle([query('k')], 0))).toBe('ACCEPTOR_BEHIND');
    await until('it is marked', async () => (await identityOf(store)).retired !== undefined);
  });

  test('by another process is used for as long as nobody looks, and by no batch beside a look', async () => {
    const store = newStore();
    const host = leapingHost();
    const acceptor = await named(store, host);
    // It knows the version of k: nothing has to be read for what follows.
    await acceptor.handle([promise('k', 1)], 0);
    const retired = { code: 'ACCEPTOR_BEHIND', why: 'It forgot.', at: '2026-01-01T00:00:00.000Z' };
    await replaceIdentity(store, { ...(await identityOf(store)), retired });
    expect(typesOf(await acceptor.handle([promise('k', 2)], 0))).toEqual(['1b']);
    host.leap(LOOK_AGAIN_MS);
    expect(await codeOf(acceptor.handle([promise('k', 3)], 0))).toBe('ACCEPTOR_BEHIND');
  });

  test('keeps the first finding', async () => {
    const store = newStore();
    const acceptor = await named(store);
    const retired = { code: 'ACCEPTOR_BEHIND', why: 'It was late.', at: '2026-01-01T00:00:00.000Z' } as const;
    await forget(store, acceptor);
    await replaceIdentity(store, { ...(await identityOf(store)), retired });
    await expect(acceptor.handle([query('k')], 0)).rejects.toMatchObject({
      message: 'It was late.',
    });
    expect((await identityOf(store)).retired).toEqual(retired);
  });

  test('of somebody else is left alone', async () => {
    const store = newStore();
    const acceptor = await named(store);
    await replaceIdentity(store, { id: 'another', createdAt: 'then' });
    expect(await codeOf(acceptor.handle([query('k')], 0))).toBe('ACCEPTOR_FOREIGN');
    expect(await identityOf(store)).toEqual({ id: 'another', createdAt: 'then' });
  });
});

test('an identity that changes faster than it can be written is not written for ever', async () => {
  const store = newStore();
  await named(store);
  let tries = 0;
  const racing: AcceptorStore = {
    url: store.url,
    concurrency: 1,
    read: (keys) => store.read(keys),
    list: (after, limit) => store.list(after, limit),
    close: () => store.close(),
    // Somebody else is always faster.
    write: async (writes) => {
      tries += 1;
      await replaceIdentity(store, { ...(await identityOf(store)), createdAt: String(tries) });
      return store.write(writes);
    },
  };
  await expect((await named(racing)).reserve('c')).rejects.toMatchObject({
    code: 'STORE_FAILED',
    message: `The identity of ${store.url} changes faster than it can be written: look at who else writes to it.`,
  });
  expect(tries).toBe(16);
});

describe('the line of memory', () => {
  test('is written down with the identity, and a server of another line is refused by everybody', async () => {
    const store = newStore();
    const acceptor = await named(onLine(store, 'line 1'));
    expect((await identityOf(store)).lineage).toBe('line 1');
    await acceptor.handle([accept('k', 1, 'v')], 0);
    const promoted = new StoreAcceptor(onLine(store, 'line 2'));
    expect(await codeOf(promoted.describe())).toBe('ACCEPTOR_PROMOTED');
    expect((await identityOf(store)).retired).toMatchObject({
      code: 'ACCEPTOR_PROMOTED',
      why: expect.stringContaining('it was line 1 and is line 2, as a copy that was promoted or restored'),
    });
    // By those that reach the old server again, too: somebody has used the other meanwhile, or may have.
    expect(await codeOf(new StoreAcceptor(onLine(store, 'line 1')).describe())).toBe('ACCEPTOR_PROMOTED');
  });

  test.each(['register/k', 'unknown to it'])(
    'is compared with every answer, also while the process goes on: %s',
    async (key) => {
      const store = newStore();
      const exchanged = exchangeable(onLine(store, 'line 1'));
      const acceptor = await named(exchanged);
      await acceptor.handle([accept('k', 1, 'v')], 0);
      const lineage = new Lineage();
      lineage.saw('line 1');
      exchanged.exchange(onLine(store, 'line 2', lineage));
      expect(await codeOf(acceptor.handle([accept(key, 2, 'w')], 0))).toBe('ACCEPTOR_PROMOTED');
      expect((await identityOf(store)).retired).toMatchObject({ code: 'ACCEPTOR_PROMOTED' });
    },
  );

  test('is taken over by an identity of an earlier version, which had none', async () => {
    const store = newStore();
    await named(store);
    const before = await identityOf(store);
    const acceptor = await named(onLine(store, 'line 1'));
    expect(typesOf(await acceptor.handle([promise('k', 1)], 0))).toEqual(['1b']);
    expect(await identityOf(store)).toEqual({ ...before, lineage: 'line 1' });
    expect(await codeOf(new StoreAcceptor(onLine(store, 'line 2')).describe())).toBe('ACCEPTOR_PROMOTED');
  });

  test('that was known and is not written down any more comes from an old copy', async () => {
    const store = newStore();
    const host = leapingHost();
    const acceptor = await named(onLine(store, 'line 1'), host);
    await acceptor.handle([promise('k', 1)], 0);
    const { id, createdAt } = await identityOf(store);
    await replaceIdentity(store, { id, createdAt });
    expect(await codeOf(acceptor.handle([promise('new', 1)], 0))).toBe('ACCEPTOR_BEHIND');
  });

  test('of a server that was connected to both stays broken', () => {
    const lineage = new Lineage();
    for (const line of ['line 1', 'line 2', 'line 1']) lineage.saw(line);
    expect(lineage.broken).toEqual({
      code: 'ACCEPTOR_PROMOTED',
      why: 'it was line 1 and is line 2, as a copy that was promoted or restored',
    });
  });

  test.each([
    ['system 7, timeline 1', 'timeline 1', true],
    ['timeline 1', 'system 7, timeline 1', true],
    ['system 7', 'timeline 1', true],
    ['system 7, timeline 1', 'system 7, timeline 2', false],
    ['system 7, timeline 1', 'timeline 2', false],
    ['timeline 1', 'system 7, timeline 2', false],
  ])('%s, then %s: what both tell has to be the same', (earlier, now, isSame) => {
    const lineage = new Lineage();
    lineage.saw(now);
    expect(lineage.differenceFrom(earlier) === undefined).toBe(isSame);
  });

  test('in which something went back that only grows is behind', async () => {
    const store = newStore();
    const lineage = new Lineage();
    const acceptor = await named(onLine(store, 'line 1', lineage));
    await acceptor.handle([promise('k', 1)], 0);
    lineage.wentBack('its revision', '7', '3');
    const error = await acceptor.handle([promise('k', 2)], 0).catch((reason: unknown) => reason);
    expect(error).toMatchObject({
      code: 'ACCEPTOR_BEHIND',
      message: expect.stringContaining('its revision was 7 and is 3, as in an old copy'),
    });
  });
});

describe('a server that has become unsafe', () => {
  test('is refused from the next look on, until a look finds it well', async () => {
    const host = leapingHost();
    let complaint: CasPaxosError | undefined;
    let looks = 0;
    const acceptor = await named(
      Object.assign(newStore(), {
        lookAgain: async (): Promise<void> => {
          looks += 1;
          if (complaint !== undefined) throw complaint;
        },
      }),
      host,
    );
    await acceptor.handle([promise('k', 1)], 0);
    complaint = new CasPaxosError('STORE_FAILED', 'It forgets.');
    const before = looks;
    for (let at = 2; at < 10; at += 1) await acceptor.handle([promise('k', at)], 0);
    expect(looks).toBe(before);
    host.leap(LOOK_AGAIN_MS);
    expect(await codeOf(acceptor.handle([promise('k', 20)], 0))).toBe('STORE_FAILED');
    expect(await codeOf(acceptor.handle([promise('k', 21)], 0))).toBe('STORE_FAILED');
    complaint = undefined;
    expect(typesOf(await acceptor.handle([promise('k', 22)], 0))).toEqual(['1b']);
  });
});
