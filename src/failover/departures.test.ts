import { beforeEach, describe, expect, test } from 'vitest';
import { SimHost } from '../../test/failover/sim-host.ts';
import { Departures } from './departures.ts';

let host: SimHost;
let departures: Departures;
let left: Record<string, number>;

beforeEach(() => {
  host = new SimHost();
  departures = new Departures(host);
  left = {};
});

/** Somebody comes at that moment and waits for so long at most. */
async function comes(who: string, at: number, ms: number): Promise<void> {
  await passes(at);
  void departures.within(ms).then(() => (left[who] = host.now()));
}

async function passes(until: number): Promise<void> {
  while (host.now() < until) {
    host.run(host.now() + 1);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

describe('departures', () => {
  test('whoever comes while another one waits leaves with it', async () => {
    await comes('first', 0, 50);
    await comes('second', 30, 50);
    await comes('third', 49, 50);
    await passes(200);
    expect(left).toEqual({ first: 50, second: 50, third: 50 });
  });

  test('whoever comes too late for one waits for the next', async () => {
    await comes('first', 0, 50);
    await comes('late', 51, 50);
    await comes('later', 80, 50);
    await passes(200);
    expect(left).toEqual({ first: 50, late: 101, later: 101 });
  });

  test('nobody waits for longer than it said, nor does another one for longer because of it', async () => {
    await comes('patient', 0, 200);
    await comes('hasty', 10, 50);
    await comes('with the hasty', 20, 200);
    await comes('after it', 70, 200);
    await comes('after the patient', 210, 200);
    await passes(500);
    expect(left).toEqual({
      patient: 200,
      hasty: 60,
      'with the hasty': 60,
      'after it': 270,
      'after the patient': 270,
    });
  });

  test('a thousand share one timer', async () => {
    for (let at = 0; at < 1000; at += 1) void departures.within(50);
    expect(host.mostTimers).toBe(1);
  });
});
