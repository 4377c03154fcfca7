/** Clusters for tests: in memory, over stores with faults, and over acceptor services in this process. */
import {
  type Acceptor,
  type AcceptorStore,
  type Cluster,
  type ClusterOptions,
  MemoryStore,
  openCluster,
  StoreAcceptor,
} from 'baton/caspaxos';
import { onTestFinished } from 'vitest';

let names = 0;

/** URLs of acceptors in memory that nobody else uses. */
export function memoryUrls(count = 3): string[] {
  names += 1;
  return Array.from({ length: count }, (_, at) => `memory:test-${names}-${String.fromCodePoint(97 + at)}`);
}

/** Direct access to what an acceptor in memory holds. */
export function storeOf(url: string): MemoryStore {
  return new MemoryStore(nameOf(url));
}

export function nameOf(url: string): string {
  return url.slice('memory:'.length);
}

/** Opened for this test, and closed with it. */
export async function openFor(options: ClusterOptions): Promise<Cluster> {
  const cluster = await openCluster(options);
  onTestFinished(() => cluster.close());
  return cluster;
}

/** A cluster whose acceptors in memory are reached through `wrap`, which may add faults to any of them. */
export function openThrough(
  urls: readonly string[],
  wrap: (store: AcceptorStore, index: number) => AcceptorStore,
  options: Partial<ClusterOptions> = {},
): Promise<Cluster> {
  return openBy(urls, (store, index) => new StoreAcceptor(wrap(store, index)), options);
}

/** A cluster whose acceptors are reached through `wrap`, which sees every batch of messages. */
export function openAround(
  urls: readonly string[],
  wrap: (acceptor: Acceptor, index: number) => Acceptor,
  options: Partial<ClusterOptions> = {},
): Promise<Cluster> {
  return openBy(urls, (store, index) => wrap(new StoreAcceptor(store), index), options);
}

function openBy(
  urls: readonly string[],
  open: (store: AcceptorStore, index: number) => Acceptor,
  options: Partial<ClusterOptions>,
): Promise<Cluster> {
  return openFor({
    ...options,
    acceptors: urls,
    openAcceptor: (url) => {
      const index = urls.indexOf(url);
      return index < 0 ? undefined : open(storeOf(url), index);
    },
  });
}

/** The acceptor, with `handle` replaced. */
export function handling(acceptor: Acceptor, handle: Acceptor['handle']): Acceptor {
  return {
    url: acceptor.url,
    concurrency: acceptor.concurrency,
    expect: (id, cluster) => acceptor.expect(id, cluster),
    describe: () => acceptor.describe(),
    ...(acceptor.reserve && { reserve: (cluster: string) => acceptor.reserve!(cluster) }),
    install: (configuration) => acceptor.install(configuration),
    list: (after, limit) => acceptor.list(after, limit),
    close: () => acceptor.close(),
    handle,
  };
}

export function increment(value: number | undefined): number {
  return (value ?? 0) + 1;
}

/** The error that the work ends with. */
export async function errorOf(work: Promise<unknown>): Promise<{ code?: string; message: string }> {
  try {
    await work;
  } catch (error) {
    return error as { code?: string; message: string };
  }
  return { message: 'there was no error' };
}

/** A promise and the function that resolves it. */
export function gate(): { readonly passed: Promise<void>; readonly open: () => void } {
  let open = (): void => {};
  const passed = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { passed, open };
}
