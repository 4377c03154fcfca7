import { Duplex } from 'node:stream';
import { expect, it } from 'vitest';
import { SimHost } from '../../../test/failover/sim-host.ts';
import { TcpConnections } from './tcp-connections.ts';

const QUESTION = Buffer.from([0, 3, 1, 2, 3]);

/** A client that takes what it is sent only when the test says so. */
class LazyClient extends Duplex {
  taken = 0;
  readonly #untaken: (() => void)[] = [];

  constructor() {
    super({ highWaterMark: 64 });
  }

  override _read(): void {}

  override _write(_: Buffer, __: string, done: () => void): void {
    this.#untaken.push(done);
  }

  takeOne(): void {
    this.taken += 1;
    this.#untaken.shift()?.();
  }
}

function scene() {
  const host = new SimHost();
  const seen = { questions: 0, ended: 0 };
  const connections = new TcpConnections(
    host,
    { maxConnections: 4, idleMs: 1000 },
    {
      answer: () => {
        seen.questions += 1;
        return Buffer.alloc(48);
      },
      onEnded: () => {
        seen.ended += 1;
      },
    },
  );
  const client = new LazyClient();
  connections.add(client);
  return { host, seen, connections, client };
}

const turn = (): Promise<void> => new Promise(setImmediate);

it('does not answer faster than the answers are taken', async () => {
  const { seen, client } = scene();
  client.push(Buffer.concat(Array.from({ length: 10 }, () => QUESTION)));
  await turn();
  expect(seen.questions).toBe(2);
  expect(client.isPaused()).toBe(true);
  while (client.taken < 40) {
    client.takeOne();
    await turn();
    expect(seen.questions).toBeLessThanOrEqual(client.taken + 3);
  }
  expect(seen.questions).toBe(10);
  client.push(QUESTION);
  await turn();
  expect(seen.questions).toBe(11);
});

it('gives up on a client that takes nothing', async () => {
  const { host, seen, connections, client } = scene();
  client.push(Buffer.concat(Array.from({ length: 10 }, () => QUESTION)));
  await turn();
  host.run(1000);
  expect(seen.ended).toBe(1);
  expect([client.destroyed, connections.count]).toEqual([true, 0]);
});

it('ends who announces nothing, or too much', async () => {
  for (const bytes of [
    [0, 0],
    [4, 0xd1],
  ]) {
    const { seen, connections, client } = scene();
    client.push(Buffer.from(bytes));
    await turn();
    expect([seen.ended, connections.count, client.destroyed]).toEqual([1, 0, true]);
  }
});

it('forgets a connection that its client ends, and its timer', async () => {
  const { host, seen, connections, client } = scene();
  client.destroy(new Error('reset'));
  await turn();
  host.run(5000);
  expect([seen.ended, connections.count]).toEqual([0, 0]);
});
