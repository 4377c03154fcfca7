/** Whether an engine calls its disk well, and what it tells the others. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { SimHost } from '../../test/failover/sim-host.ts';
import { Engine, type NodeMessage } from './index.ts';

const PULSE_MS = 250;

let host: SimHost;
let engine: Engine;
/** What becomes of a probe. */
let answer: (done: (error: Error | undefined) => void) => void;
let probes: number;
let told: NodeMessage[];

const inMs =
  (ms: number, error?: Error): typeof answer =>
  (done) =>
    void host.after(ms, () => done(error));
const never: typeof answer = () => undefined;

beforeEach(() => {
  host = new SimHost();
  answer = inMs(1);
  probes = 0;
  told = [];
});

afterEach(() => engine.close());

function start(): void {
  engine = new Engine({
    region: 'west',
    host,
    others: ['east'],
    pulseMs: PULSE_MS,
    links: { send: (_, message) => told.push(message), canSend: () => true },
    disk: {
      partition: () => {
        throw new Error('there is none');
      },
      drop: async () => undefined,
      probe: (done) => {
        probes += 1;
        answer(done);
      },
    },
  });
}

/** So many pulses later, just after the last of them. */
function pulses(count: number): boolean {
  for (let at = 0; at < count; at += 1) host.run(host.now() + PULSE_MS);
  return engine.isWell;
}

describe('a disk', () => {
  test('that takes every probe is well', () => {
    start();
    expect(Array.from({ length: 20 }, () => pulses(1))).toEqual(Array<boolean>(20).fill(true));
  });

  test('is well from the start, before it has taken a probe', () => {
    start();
    expect(engine.isWell).toBe(true);
  });

  test('that a probe is stuck in is unwell when four pulses have gone out in vain, and is not probed again', () => {
    answer = never;
    start();
    expect([engine.isWell, pulses(1), pulses(1), pulses(1), pulses(1)]).toEqual([
      true,
      true,
      true,
      false,
      false,
    ]);
    expect(probes).toBe(1);
  });

  test('that gets stuck later is given as many', () => {
    start();
    pulses(10);
    host.run(host.now() + 10);
    answer = never;
    expect([pulses(1), pulses(1), pulses(1), pulses(1)]).toEqual([true, true, true, false]);
  });

  test('that answers each probe with an error is unwell as soon', () => {
    answer = inMs(1, new Error('EIO'));
    start();
    expect([engine.isWell, pulses(1), pulses(1), pulses(1)]).toEqual([true, true, true, false]);
    expect(probes).toBe(4);
  });

  test('that is slow is well as long as a probe is back within three pulses', () => {
    answer = inMs(2.5 * PULSE_MS);
    start();
    expect(Array.from({ length: 20 }, () => pulses(1))).not.toContain(false);
  });

  test.each([
    ['errors', () => inMs(1, new Error('EIO'))],
    [
      'silence',
      () => (done: Parameters<typeof answer>[0]) => void host.after(10 * PULSE_MS, () => done(undefined)),
    ],
  ])('is well again with the first probe that it takes, after %s', (_, ill) => {
    answer = ill();
    start();
    expect(pulses(9)).toBe(false);
    answer = inMs(1);
    pulses(1);
    host.run(host.now() + 1);
    expect(engine.isWell).toBe(true);
    expect(pulses(3)).toBe(true);
  });

  test('of an engine that has ended is not', () => {
    start();
    engine.close();
    expect(engine.isWell).toBe(false);
  });
});

describe('a process that stood still', () => {
  test('for ten seconds, with a probe under way that is long done, has a disk that is well', () => {
    start();
    pulses(5);
    host.stall(10_000);
    expect(engine.isWell).toBe(true);
    expect(pulses(10)).toBe(true);
  });

  test('again and again has, too: each time one pulse and one answer', () => {
    start();
    const seen: boolean[] = [];
    for (let at = 0; at < 10; at += 1) {
      host.stall(3000);
      seen.push(engine.isWell, pulses(1));
    }
    expect(seen).not.toContain(false);
  });
});

describe('the pulse', () => {
  test('tells the others how the disk is', () => {
    answer = never;
    start();
    pulses(4);
    const wells = told.map((message) => message.type === 'pulse' && message.isWell);
    expect(wells).toEqual([true, true, true, false, false]);
  });
});
