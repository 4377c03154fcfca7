/** What users of the SDK notice when regions go: at most that it takes a while. */
import { NODE_HOST } from 'baton/caspaxos';
import { type Connection, dial, Listener } from 'baton/transport';
import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import { BatonClient, BatonError, type Change, type ConnectOptions } from 'baton/client';
import { until } from '../support/until.ts';
import { type Region, RegionCluster, type RegionClusterOptions, REGIONS } from './region-cluster.ts';

interface Item {
  readonly id: string;
  readonly n: number;
}

let cluster: RegionCluster | undefined;

afterEach(async () => {
  await cluster?.end();
  cluster = undefined;
});

async function start(options: RegionClusterOptions = {}): Promise<RegionCluster> {
  cluster = await RegionCluster.start(options);
  return cluster;
}

async function connect(options: Partial<ConnectOptions> = {}): Promise<BatonClient> {
  const client = await BatonClient.connect({
    account: 'shop',
    endpoints: cluster!.endpoints,
    timeoutMs: 120_000,
    ...options,
  });
  onTestFinished(() => client.close());
  await client.container('items').upsert({ id: 'warm', n: 0 });
  return client;
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}

/** Writes a document every 20 ms, each one on its own. */
class Writer {
  readonly failures: BatonError[] = [];
  readonly etags = new Map<string, string>();
  #isStopping = false;
  readonly #running: Promise<void>;

  constructor(client: BatonClient) {
    this.#running = this.#run(client);
  }

  /** Resolves when that many more are acknowledged. */
  async writes(more: number): Promise<void> {
    const enough = this.etags.size + more;
    await until(`${more} more writes are acknowledged`, () => this.etags.size >= enough);
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#running;
  }

  async #run(client: BatonClient): Promise<void> {
    const items = client.container<Item>('items');
    const underWay: Promise<void>[] = [];
    for (let n = 0; !this.#isStopping; n += 1) {
      const id = `w-${String(n).padStart(5, '0')}`;
      const writing = async (): Promise<void> => {
        try {
          const { etag } = await items.create({ id, n });
          this.etags.set(id, etag!);
        } catch (error) {
          this.failures.push(error as BatonError);
        }
      };
      underWay.push(writing());
      await pause(20);
    }
    await Promise.all(underWay);
  }
}

describe('a failover', () => {
  test('of a killed write region: no error, every acknowledged write is there, each once', async () => {
    await start();
    const client = await connect();
    const writer = new Writer(client);
    await writer.writes(10);
    await cluster!.kill('west');
    await writer.writes(100);
    await writer.stop();
    expect(writer.failures).toEqual([]);
    // It took a failover.
    const { diagnostics } = await client.container('items').upsert({ id: 'warm', n: 1 });
    expect(diagnostics.region).not.toBe('west');
    const items = client.container<Item>('items');
    const seen = new Map<string, string>();
    for await (const { id, _etag } of items.readAll({ consistency: 'Strong' })) seen.set(id, _etag);
    seen.delete('warm');
    expect(seen).toEqual(writer.etags);
    // In the log, too: a write that was sent twice is one entry.
    const entries: string[] = [];
    for await (const change of items.changes()) {
      if (change.id !== 'warm') entries.push(change.id);
      if (entries.length === writer.etags.size) break;
    }
    expect(entries.toSorted()).toEqual([...writer.etags.keys()].toSorted());
  });

  test('of a planned stop: hardly anything is noticed', async () => {
    await start();
    const client = await connect();
    const writer = new Writer(client);
    await writer.writes(10);
    await cluster!.stop('west');
    await writer.writes(10);
    await writer.stop();
    expect(writer.failures).toEqual([]);
    const { diagnostics } = await client.container('items').upsert({ id: 'warm', n: 1 });
    expect(diagnostics.region).not.toBe('west');
  });

  test('the change feed goes on without a gap and without repetition, in another region', async () => {
    await start();
    const client = await connect();
    const caller = new AbortController();
    const shown: Change<Item>[] = [];
    const reading = (async () => {
      const feed = client
        .container<Item>('items')
        .changes({ signal: caller.signal, timeoutMs: 120_000, holdMs: 200 });
      for await (const change of feed) if (change.id !== 'warm') shown.push(change);
    })();
    const writer = new Writer(client);
    await writer.writes(10);
    await cluster!.kill('west');
    await writer.writes(50);
    await writer.stop();
    await until('the feed shows them all', () => shown.length >= writer.etags.size);
    caller.abort();
    await reading;
    expect(writer.failures).toEqual([]);
    expect(shown.map(({ id }) => id).toSorted()).toEqual([...writer.etags.keys()].toSorted());
    for (const { id, etag } of shown) expect(etag).toBe(writer.etags.get(id));
  });
});

/** So many answers are lost before one arrives. */
const LOST_ANSWERS = 3;

/** Stands between clients and a node: drops the answers to some writes when told to. */
class AnswerEater {
  isEating = false;
  eaten = 0;
  address = '';
  #listener: Listener | undefined;
  #onward: Connection | undefined;

  static async before(region: Region): Promise<AnswerEater> {
    const eater = new AnswerEater();
    const [host, port] = cluster!.address(region).split(':');
    const self = { role: 'client', cluster: 'shop', node: 'eater', region: '', incarnation: 1 } as const;
    const onward = await dial({ host: NODE_HOST, address: { host: host!, port: Number(port) }, self });
    eater.#onward = onward;
    eater.#listener = await Listener.listen({
      host: NODE_HOST,
      address: { host: '127.0.0.1', port: 0 },
      self: { role: 'node', cluster: 'shop', node: `${region}-1`, region, incarnation: 1 },
      onConnection: (connection) => ({
        onRequest: async (method, payload) => {
          const answer = await onward.call(method, payload, { timeoutMs: 120_000 });
          if (method !== 1 || !eater.isEating) return answer;
          eater.eaten += 1;
          eater.isEating = eater.eaten < LOST_ANSWERS;
          connection.destroy();
          return answer;
        },
      }),
    });
    eater.address = `127.0.0.1:${eater.#listener.address.port}`;
    return eater;
  }

  async stop(): Promise<void> {
    this.#onward!.destroy();
    await this.#listener!.close();
  }
}

test('a write whose answer is lost is sent again and carried out once', async () => {
  await start({ partitionSets: 1 });
  const eater = await AnswerEater.before('west');
  onTestFinished(() => eater.stop());
  const endpoints = REGIONS.map((region) => ({
    region,
    addresses: [region === 'west' ? eater.address : cluster!.address(region)],
  }));
  const client = await connect({ endpoints });
  const items = client.container<Item>('items');
  await items.upsert({ id: 'counter', n: 0 });
  eater.isEating = true;
  const { diagnostics } = await items.patch('counter', [{ op: 'incr', path: '/n', value: 1 }]);
  expect(eater.eaten).toBe(LOST_ANSWERS);
  expect(diagnostics.attempts[0]).toMatchObject({ region: 'west', what: 'CONNECTION_LOST' });
  expect(diagnostics.attempts.at(-1)).toMatchObject({ region: 'west', what: 'DONE' });
  expect((await items.read('counter')).document.n).toBe(1);
  const changes: string[] = [];
  for await (const change of items.changes()) {
    changes.push(change.id);
    if (change.document?.n === 1) break;
  }
  expect(changes.filter((id) => id === 'counter')).toHaveLength(2);
});

test('a session reads its own writes in every region', async () => {
  await start({ consistency: 'Session', partitionSets: 1 });
  const writer = await connect();
  const readers = await Promise.all(REGIONS.map((preferredRegion) => connect({ preferredRegion })));
  const mine = writer.session();
  for (let n = 1; n <= 30; n += 1) {
    const { session } = await writer.container<Item>('items').upsert({ id: 'x', n }, { session: mine });
    for (const reader of readers) {
      const theirs = reader.session(session);
      const { document } = await reader.container<Item>('items').read('x', { session: theirs });
      expect(document.n).toBe(n);
    }
  }
});

test('with every region gone the error comes at the deadline and says what was tried', async () => {
  await start();
  const client = await connect();
  for (const region of REGIONS) await cluster!.kill(region);
  const items = client.container<Item>('items');
  const failed = async (request: Promise<unknown>): Promise<BatonError | undefined> => {
    const error: unknown = await request.catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(BatonError);
    const { code, diagnostics } = error as BatonError;
    const tried = new Set(diagnostics!.attempts.map(({ region }) => region));
    return code === 'UNREACHABLE' && tried.size === REGIONS.length ? (error as BatonError) : undefined;
  };
  // Until then a write may be handed to a connection that is lost already, and nobody knows what became of it.
  await until('the client has noticed', () => failed(items.read('warm', { timeoutMs: 1000 })));
  const { outcome, diagnostics, message } = await until('a write has tried all regions in its time', () =>
    failed(items.upsert({ id: 'a', n: 1 }, { timeoutMs: 3000 })),
  );
  expect(outcome).toBe('not applied');
  expect(diagnostics!.durationMs).toBeGreaterThanOrEqual(2995);
  expect(message).toContain('Tried: ');
});
