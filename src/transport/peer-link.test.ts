import { describe, expect, onTestFinished, test } from 'vitest';
import {
  CountingHost,
  dialTo,
  identity,
  listen,
  type ListenScene,
  rpcErrorOf,
} from '../../test/transport/rpc-scene.ts';
import { until } from '../../test/support/until.ts';
import type { Timer } from '../protocol/index.ts';
import { PeerLink, type PeerLinkOptions } from './peer-link.ts';

const CALL = { timeoutMs: 60_000 };

/** Keeps how long each pause was, and makes it short. */
class HastyHost extends CountingHost {
  readonly pauses: number[] = [];
  chance = 0;
  override readonly random = () => this.chance;

  override after(ms: number, run: () => void): Timer {
    if (ms > 600) return super.after(ms, run);
    this.pauses.push(ms);
    return super.after(1, run);
  }
}

function linkTo(
  scene: ListenScene,
  options: Partial<PeerLinkOptions> = {},
): { link: PeerLink; events: string[] } {
  const events: string[] = [];
  const { address } = scene.listener;
  const link = new PeerLink({
    host: new CountingHost(),
    self: identity('a'),
    node: 'server',
    address: () => address,
    backoff: { firstMs: 2, maxMs: 20 },
    onUp: (epoch) => events.push(`up ${epoch}`),
    onDown: (epoch, { code }) => events.push(`down ${epoch} ${code}`),
    ...options,
  });
  onTestFinished(() => link.close());
  return { link, events };
}

describe('a link', () => {
  test('comes up, sends, calls, and closes', async () => {
    const got: string[] = [];
    const host = new CountingHost();
    const scene = await listen({
      onMessage: (channel, payload) => got.push(`${channel} ${payload.toString()}`),
      onRequest: (_, payload) => payload,
    });
    const { link, events } = linkTo(scene, { host });
    expect([link.isUp, link.epoch, link.send(1, Buffer.from('early'))]).toEqual([false, 0, 'down']);
    expect(await rpcErrorOf(link.call(1, [], CALL))).toMatchObject({
      code: 'UNREACHABLE',
      outcome: 'rejected',
    });
    await until('the link is up', () => link.isUp);
    expect(link.send(1, Buffer.from('one'))).toBe('sent');
    expect((await link.call(1, Buffer.from('echo'), CALL)).toString()).toBe('echo');
    await link.close();
    expect(got).toEqual(['1 one']);
    expect(events).toEqual(['up 1', 'down 1 CLOSED']);
    expect([link.isUp, link.send(1, Buffer.from('late'))]).toEqual([false, 'down']);
    expect(host.timers.size).toBe(0);
  });

  test('comes back with a higher epoch, which the other side sees too, and drops what is sent in between', async () => {
    const got: string[] = [];
    const epochs: number[] = [];
    const options = {
      onConnection: (connection: ListenScene['accepted'][number], { epoch }: { epoch: number }) => {
        scene.accepted.push(connection);
        epochs.push(epoch);
        return { onMessage: (_: number, payload: Buffer) => got.push(payload.toString()) };
      },
    };
    const scene: ListenScene = await listen({}, options);
    const { link, events } = linkTo(scene, { backoff: { firstMs: 1_000_000, maxMs: 1_000_000 } });
    for (let i = 1; i <= 3; i += 1) {
      await until('the link is up', () => link.isUp && epochs.length === i);
      expect(link.send(1, Buffer.from(`in ${i}`))).toBe('sent');
      await until('the message is there', () => got.length === i);
      scene.accepted.at(-1)!.destroy();
      await until('the link is down', () => !link.isUp);
      expect(link.send(1, Buffer.from('lost'))).toBe('down');
      link.wake();
    }
    await until('the link is up again', () => link.isUp && epochs.length === 4);
    expect(got).toEqual(['in 1', 'in 2', 'in 3']);
    expect(epochs).toEqual([1, 2, 3, 4]);
    expect(events).toEqual([
      'up 1',
      'down 1 CONNECTION_LOST',
      'up 2',
      'down 2 CONNECTION_LOST',
      'up 3',
      'down 3 CONNECTION_LOST',
      'up 4',
    ]);
  });

  test('finds a node again that was away, with calls lost in between', async () => {
    const first = await listen(
      { onRequest: () => new Promise<Buffer>(() => undefined) },
      { limits: { closeTimeoutMs: 5 } },
    );
    const { address } = first.listener;
    const failures: string[] = [];
    const { link, events } = linkTo(first, { onFailure: ({ code }) => failures.push(code) });
    await until('the link is up', () => link.isUp);
    const call = rpcErrorOf(link.call(1, [], CALL));
    await until('the request is there', () => first.accepted[0]!.load.requests === 1);
    await first.listener.close();
    expect(await call).toMatchObject({ outcome: 'unknown' });
    await until('it has failed three times', () => failures.length >= 3);
    expect(new Set(failures)).toEqual(new Set(['UNREACHABLE']));
    await listen({}, { address });
    await until('the link is up', () => link.isUp);
    expect(events).toEqual(['up 1', 'down 1 CLOSED', `up ${link.epoch}`]);
    expect(link.epoch).toBeGreaterThan(4);
  });

  test.each([
    [0, [1, 2, 4, 8, 16, 32, 50, 50]],
    [0.5, [1.5, 3, 6, 12, 24, 48, 75, 75]],
  ])('waits longer and longer, with chance %d in it, up to a limit', async (chance, pauses) => {
    const scene = await listen({}, { self: identity('other') });
    const host = new HastyHost();
    host.chance = chance;
    const failures: string[] = [];
    const onFailure = ({ code }: { code: string }) => failures.push(code);
    linkTo(scene, { host, backoff: { firstMs: 2, maxMs: 100 }, onFailure });
    await until('it has paused so often', () => host.pauses.length >= pauses.length);
    expect(host.pauses.slice(0, pauses.length)).toEqual(pauses);
    expect(new Set(failures)).toEqual(new Set(['NODE_DIFFERENT']));
  });

  test('waits as long as it is told to by a node that has no room', async () => {
    const scene = await listen({}, { maxNodeConnections: 1, limits: { handshakeTimeoutMs: 500 } });
    await dialTo(scene);
    const host = new HastyHost();
    linkTo(scene, { host });
    await until('it has paused twice', () => host.pauses.length >= 2);
    expect(host.pauses.slice(0, 2)).toEqual([500, 500]);
  });

  test('does not wait when it hears that the node lives', async () => {
    const scene = await listen({}, { self: identity('other') });
    const failures: string[] = [];
    const { address } = scene.listener;
    const { link } = linkTo(scene, {
      backoff: { firstMs: 1_000_000, maxMs: 1_000_000 },
      onFailure: ({ code }) => failures.push(code),
    });
    await until('it has failed', () => failures.length === 1);
    await scene.listener.close();
    await listen({}, { address });
    link.wake();
    await until('the link is up', () => link.isUp);
    link.wake();
    expect(link.epoch).toBe(2);
  });

  test('says that it is full, and when there is room again', async () => {
    const drained: number[] = [];
    const scene = await listen({ onMessage: () => undefined });
    const { link } = linkTo(scene, {
      limits: { highWaterBytes: 100_000 },
      onDrained: (epoch) => drained.push(epoch),
    });
    await until('the link is up', () => link.isUp);
    scene.accepted[0]!.pauseReading();
    const payload = Buffer.alloc(50_000);
    let full = 0;
    while (full < 10) {
      full = link.send(1, payload) === 'full' ? full + 1 : 0;
      if (full > 0) await new Promise((resolve) => setTimeout(resolve, 2));
    }
    drained.length = 0;
    scene.accepted[0]!.resumeReading();
    await until('there is room again', () => drained.length > 0);
    expect(drained[0]).toBe(1);
    expect(link.send(1, payload)).toBe('sent');
  });

  test('that is closed while it dials ends quietly', async () => {
    const scene = await listen();
    const host = new CountingHost();
    const { link, events } = linkTo(scene, { host });
    await link.close();
    expect(events).toEqual([]);
    expect(host.timers.size).toBe(0);
  });
});
