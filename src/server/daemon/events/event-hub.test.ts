import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, test } from 'vitest';
import type { FailoverState } from '../../../failover/index.ts';
import { HttpServer, type HttpSink } from '../../http/index.ts';
import { EventHub, type EventHubOptions } from './event-hub.ts';
import { EVENTS, type EventName, type LocalState, type SetRow } from './schemas.ts';

interface Told {
  readonly name: string;
  readonly data: Record<string, unknown>;
}

class FakeSink implements HttpSink {
  isFull = false;
  hasEnded = false;
  text = '';
  #closed = (): void => {};

  write(text: string): void {
    this.text += text;
  }

  onClose(closed: () => void): void {
    this.#closed = closed;
  }

  end(): void {
    this.hasEnded = true;
    this.#closed();
  }

  /** What has come since it was last asked, each in the form of its schema. */
  told(): Told[] {
    const blocks = this.text.split('\n\n').filter((block) => block.startsWith('event: '));
    this.text = '';
    return blocks.map((block) => {
      const [, name = '', json = ''] = /^event: (\w+)\ndata: (.*)$/.exec(block) ?? [];
      const data = JSON.parse(json) as Record<string, unknown>;
      expect(EVENTS[name as EventName].parse(data)).toEqual(data);
      return { name, data };
    });
  }

  names(): string[] {
    return this.told().map(({ name }) => name);
  }
}

const IDLE: LocalState = {
  processes: [{ name: 'west-1', role: 'node', region: 'west', state: 'running' }],
  load: { on: false, perSecond: 0, acknowledged: 0, failed: 0, worstGapMs: 0 },
  canCut: false,
};

class Scene {
  readonly hub: EventHub;
  readonly gcns = new Map([
    ['a', 1],
    ['b', 1],
  ]);
  changes: number[] = [];
  local: LocalState | undefined = IDLE;
  failure: Error | undefined;
  looks = 0;
  isTicking = false;

  constructor(options: Partial<EventHubOptions> = {}) {
    this.hub = new EventHub({
      now: () => 1_900_000_000_000,
      every: () => {
        this.isTicking = true;
        return () => (this.isTicking = false);
      },
      sources: {
        sets: {
          places: () => {
            this.looks += 1;
            return Array.from(this.gcns.keys(), (name) => ({ name, container: 'items' }));
          },
          state: (name) => stateAt(this.gcns.get(name)!),
          copy: () => undefined,
        },
        hello: () => ({
          node: 'west-1',
          region: 'west',
          cluster: 'demo',
          version: '1',
          isLocal: true,
          regions: ['west', 'east'],
          timings: { intervalMs: 1000, leaseMs: 3000, settleMs: 300 },
        }),
        node: async () => ({
          uptimeMs: 1,
          readiness: { status: 'ok', reasons: [] },
          acceptors: [],
          peers: [],
          writesPerSecond: 0,
          readsPerSecond: 0,
          cpu: 0,
          rssBytes: 1,
        }),
        history: (after, limit) =>
          this.changes
            .filter((n) => n > after)
            .slice(-limit)
            .map(changeOf),
        local: async () => {
          if (this.failure !== undefined) throw this.failure;
          return this.local;
        },
      },
      ...options,
    });
  }

  listen(role: 'viewer' | 'operator' = 'viewer'): FakeSink {
    const sink = new FakeSink();
    this.hub.add(sink, role);
    return sink;
  }

  rounds(count: number): void {
    for (let round = 0; round < count; round += 1) this.hub.round();
  }
}

function gcnsIn({ data }: Told): Record<string, number> {
  return Object.fromEntries((data['sets'] as SetRow[]).map(([name, , gcn]) => [name, gcn]));
}

function stateAt(gcn: number): FailoverState {
  const state = { gcn, phase: 'Steady', writer: 'west', step: gcn, leaseSet: [], raise: { cause: 'stop' } };
  return state as unknown as FailoverState;
}

function changeOf(n: number) {
  const regions = { from: 'west', to: null };
  const words = {
    what: 'raised',
    cause: 'stop',
    who: 'east',
    sentence: 'west is no longer the write region.',
  };
  return { n, partitionSet: 'a', at: n, gcn: n + 1, fromGcn: n, ...regions, ...words };
}

function settled(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

describe('a listener', () => {
  test('is told every change of the history when all partition-sets fail over at once', () => {
    const scene = new Scene();
    const sink = scene.listen();
    sink.told();
    scene.changes = Array.from({ length: 5000 }, (_, at) => at + 1);
    scene.rounds(1);
    expect(sink.told()[0]!.data['entries']).toHaveLength(5000);
    const late = scene.listen();
    expect(late.told().find(({ name }) => name === 'history')!.data['entries']).toHaveLength(200);
  });

  test('is told the whole first, and what changes then', async () => {
    const scene = new Scene();
    scene.changes = [1, 2];
    const sink = scene.listen('operator');
    await settled();
    const told = sink.told();
    expect(told.map(({ name }) => name)).toEqual(['hello', 'sets', 'history', 'node', 'local']);
    expect(told[0]!.data).toMatchObject({ role: 'operator', at: 1_900_000_000_000 });
    expect(told[1]!.data['isWhole']).toBe(true);
    expect(gcnsIn(told[1]!)).toEqual({ a: 1, b: 1 });
    expect(told[2]!.data).toMatchObject({ entries: [{ n: 1 }, { n: 2 }] });
    scene.rounds(1);
    expect(sink.told()).toEqual([]);
    scene.gcns.set('b', 2);
    scene.changes.push(3);
    scene.rounds(1);
    const [sets, history, ...more] = sink.told();
    expect([sets!.name, sets!.data['isWhole'], gcnsIn(sets!)]).toEqual(['sets', false, { b: 2 }]);
    expect(history).toMatchObject({ name: 'history', data: { entries: [{ n: 3 }] } });
    expect(more).toEqual([]);
    scene.gcns.delete('a');
    scene.rounds(1);
    expect(sink.told()).toMatchObject([{ name: 'gone', data: { sets: ['a'] } }]);
  });

  test('who can only look is told so', () => {
    expect(new Scene().listen('viewer').told()[0]!.data).toMatchObject({ role: 'viewer' });
  });

  test('is told how the node is every second, and of the local cluster when that changed', async () => {
    const scene = new Scene();
    const sink = scene.listen();
    await settled();
    sink.told();
    const second = async (): Promise<string[]> => {
      for (let round = 0; round < 4; round += 1) {
        scene.rounds(1);
        await settled();
      }
      return sink.names();
    };
    expect(await second()).toEqual(['node']);
    scene.local = { ...IDLE, load: { ...IDLE.load, on: true } };
    expect(await second()).toEqual(['node', 'local']);
    scene.local = undefined;
    expect(await second()).toEqual(['node']);
  });

  test('hears a sign of life every ten seconds', () => {
    const scene = new Scene();
    const sink = scene.listen();
    sink.told();
    scene.rounds(400);
    expect(sink.text.match(/^: alive$/gm)).toHaveLength(10);
  });
});

describe('a slow listener', () => {
  test('is passed over while its connection is full, and then told once what is the case', () => {
    const scene = new Scene();
    const [slow, quick] = [scene.listen(), scene.listen()];
    [slow, quick].forEach((sink) => void sink.told());
    slow.isFull = true;
    for (let gcn = 2; gcn <= 100; gcn += 1) {
      scene.gcns.set('a', gcn);
      scene.changes.push(gcn);
      scene.rounds(1);
    }
    expect(slow.text).toBe('');
    expect(quick.names().filter((name) => name === 'sets')).toHaveLength(99);
    slow.isFull = false;
    scene.rounds(1);
    const [sets, history] = slow.told();
    expect(gcnsIn(sets!)).toEqual({ a: 100 });
    expect(history!.data['entries']).toHaveLength(99);
  });

  test('gets the changes of the history that it missed, and of very many the latest', () => {
    const scene = new Scene();
    const slow = scene.listen();
    const missed = (changes: number): unknown => {
      slow.told();
      slow.isFull = true;
      scene.changes = Array.from({ length: changes }, (_, at) => at + 1);
      scene.rounds(1);
      slow.isFull = false;
      scene.rounds(1);
      return slow.told().find(({ name }) => name === 'history')!.data['entries'];
    };
    expect(missed(1000)).toHaveLength(1000);
    const latest = missed(20_000) as { n: number }[];
    expect([latest.length, latest[0]!.n, latest.at(-1)!.n]).toEqual([10_000, 10_001, 20_000]);
  });

  test('is hung up on when it takes nothing for a minute', () => {
    const scene = new Scene();
    const [slow, quick] = [scene.listen(), scene.listen()];
    slow.isFull = true;
    scene.rounds(240);
    expect(slow.hasEnded).toBe(false);
    scene.rounds(1);
    expect([slow.hasEnded, quick.hasEnded, scene.hub.size]).toEqual([true, false, 1]);
  });
});

test('who does not read at all costs no more than its connection holds', async () => {
  const scene = new Scene();
  for (let at = 0; at < 10_000; at += 1) scene.gcns.set(`items-${at}`, 1);
  let written = 0;
  const counted = (sink: HttpSink): HttpSink => ({
    get isFull() {
      return sink.isFull;
    },
    write: (text) => {
      written += text.length;
      sink.write(text);
    },
    onClose: (closed) => sink.onClose(closed),
    end: () => sink.end(),
  });
  const server = await HttpServer.listen({
    address: { host: '127.0.0.1', port: 0 },
    routes: [
      {
        method: 'GET',
        path: '/events',
        handle: () => ({
          type: 'text/event-stream',
          stream: (sink) => scene.hub.add(counted(sink), 'viewer'),
        }),
      },
    ],
  });
  const socket = connect({ host: '127.0.0.1', port: server.address.port });
  socket.on('error', () => {});
  socket.write('GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n');
  await once(socket, 'readable');
  const whole = written;
  for (let gcn = 2; gcn <= 60; gcn += 1) {
    for (const name of scene.gcns.keys()) scene.gcns.set(name, gcn);
    scene.rounds(1);
    await settled();
  }
  expect(whole).toBeGreaterThan(500_000);
  // Some of it is in the buffers of the system, by the megabyte.
  expect(written).toBeLessThan(30 * whole);
  socket.destroy();
  await server.close();
});

describe('all listeners', () => {
  test('are as many as there may be', () => {
    const scene = new Scene();
    const sinks = Array.from({ length: 64 }, () => scene.listen());
    expect(() => scene.hub.demandRoom()).toThrow(
      expect.objectContaining({ status: 503, code: 'TOO_MANY_STREAMS' }),
    );
    expect(scene.listen().hasEnded).toBe(true);
    expect(scene.hub.size).toBe(64);
    sinks[0]!.end();
    scene.hub.demandRoom();
    expect(scene.listen().names()).toContain('sets');
  });

  test('share one look, and without any of them nobody looks', () => {
    const scene = new Scene();
    expect([scene.looks, scene.isTicking]).toEqual([0, false]);
    const sinks = [scene.listen(), scene.listen(), scene.listen()];
    expect([scene.looks, scene.isTicking]).toEqual([1, true]);
    scene.rounds(1);
    expect(scene.looks).toBe(2);
    for (const sink of sinks) sink.end();
    expect([scene.hub.size, scene.isTicking]).toEqual([0, false]);
    scene.gcns.set('a', 5);
    const late = scene.listen();
    expect(scene.isTicking).toBe(true);
    expect(JSON.stringify(late.told()[1]!.data)).toContain('["a","items",5,');
  });

  test('end with the hub, and none comes after', () => {
    const scene = new Scene();
    const sink = scene.listen();
    scene.hub.hangUp();
    expect([sink.hasEnded, scene.hub.size]).toEqual([true, 0]);
    const again = scene.listen();
    scene.hub.close();
    expect([again.hasEnded, scene.isTicking]).toEqual([true, false]);
    expect(() => scene.hub.demandRoom()).toThrow();
    expect(scene.listen().hasEnded).toBe(true);
  });

  test('are told the rest when the node cannot say how it is', async () => {
    const errors: unknown[] = [];
    const scene = new Scene({ onError: (error) => errors.push(error) });
    scene.failure = new Error('no figures');
    const sink = scene.listen();
    await settled();
    expect(sink.names()).toEqual(['hello', 'sets', 'history']);
    expect(errors).toEqual([scene.failure]);
    scene.gcns.set('a', 2);
    scene.rounds(1);
    expect(sink.names()).toEqual(['sets']);
  });
});
