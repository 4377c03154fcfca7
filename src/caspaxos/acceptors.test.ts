import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { newDirectory } from '../../test/caspaxos/directories.ts';
import { acceptorConformance } from '../../test/conformance/acceptor.ts';
import type { Acceptor } from './acceptors.ts';
import { ServiceAcceptor } from './service/client.ts';
import { DiskAcceptor } from './service/disk-acceptor.ts';
import { AcceptorServer } from './service/server.ts';
import { LmdbStore } from './stores/lmdb.ts';
import { MemoryStore } from './stores/memory.ts';
import { StoreAcceptor } from './stores/store-acceptor.ts';

const root = newDirectory();
afterAll(() => rm(root, { recursive: true, force: true }));

acceptorConformance('memory', {
  open: async (place) => identified(new StoreAcceptor(new MemoryStore(place))),
});

acceptorConformance('lmdb', {
  open: async (place) => identified(new StoreAcceptor(new LmdbStore(join(root, place)))),
});

acceptorConformance('disk', {
  open: (place) => DiskAcceptor.open({ directory: join(root, place), journalBytes: 4 * 1024 * 1024 }),
});

// A journal that is full after a few records, and a cache that holds nothing: everything goes the long way round.
acceptorConformance('disk with a small journal', {
  open: (place) =>
    DiskAcceptor.open({ directory: join(root, place), journalBytes: 4 * 1024 * 1024, cacheBytes: 0 }),
});

acceptorConformance('service', {
  async open(place) {
    const disk = await DiskAcceptor.open({ directory: join(root, place), journalBytes: 4 * 1024 * 1024 });
    const server = await AcceptorServer.listen(disk, { host: '127.0.0.1', port: 0 });
    const client = new ServiceAcceptor(new URL(server.url), { timeoutMs: 60_000 });
    return new Proxy(client, { get: (target, name) => (name === 'close' ? close : bound(target, name)) });
    async function close(): Promise<void> {
      await client.close();
      await server.close();
      await disk.close();
    }
  },
});

/** A store becomes an acceptor when it is first described. */
async function identified(acceptor: Acceptor): Promise<Acceptor> {
  await acceptor.describe();
  return acceptor;
}

function bound(target: Acceptor, name: string | symbol): unknown {
  const value: unknown = Reflect.get(target, name, target);
  return typeof value === 'function' ? (value as () => unknown).bind(target) : value;
}
