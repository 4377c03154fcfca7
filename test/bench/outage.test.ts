import { BatonError, type Container } from 'baton/client';
import { newOutageCounts, type OutageCounts } from 'baton/sim';
import { describe, expect, test } from 'vitest';
import { calmBetween, processorsOf } from '../../bench/outage/calm.ts';
import { FLAGS, type OutagePlan, planOf } from '../../bench/outage/plan.ts';
import { compare, shortcomings, told } from '../../bench/outage/report.ts';
import type { RealResult } from '../../bench/outage/round.ts';
import { SetWriter } from '../../bench/outage/set-writer.ts';
import { plannedCase, simulatedCase } from '../../bench/outage/simulated.ts';
import { readFlags } from '../../bench/support/flags.ts';

interface Held {
  number: number;
  etag: string;
}

/** One document, as a partition-set would hold it; `lose` takes the last write back, `region` says who answers. */
class FakeContainer {
  region = 'west';
  #held: Held[] = [];

  lose(): void {
    this.#held.pop();
  }

  async upsert({ number }: { number: number }): Promise<object> {
    return this.#put(number);
  }

  async replace(
    _: string,
    { number }: { number: number },
    { ifMatch }: { ifMatch: string },
  ): Promise<object> {
    if (this.#held.at(-1)?.etag !== ifMatch) throw failure('PRECONDITION_FAILED');
    return this.#put(number);
  }

  async find(): Promise<object> {
    return { document: this.#held.at(-1) };
  }

  #put(number: number): object {
    const etag = `"${number}"`;
    this.#held.push({ number, etag });
    return { etag, diagnostics: { region: this.region } };
  }
}

function failure(code: string): BatonError {
  return Object.assign(Object.create(BatonError.prototype) as BatonError, {
    code,
    outcome: 'not applied',
    message: code,
  });
}

function writerOn(container: FakeContainer): SetWriter {
  const regions = ['west', 'east', 'north'];
  return new SetWriter({
    container: container as unknown as Container,
    id: 'd',
    regions,
    everyMs: 1000,
    timeoutMs: 1000,
  });
}

describe('a client of a partition-set', () => {
  test('sees each write that was acknowledged and is gone, in the next write or at the end', async () => {
    const container = new FakeContainer();
    const writer = writerOn(container);
    for (let at = 0; at < 3; at += 1) await writer.write();
    await writer.verify();
    expect({ acknowledged: writer.acknowledged, lost: writer.lost }).toEqual({ acknowledged: 3, lost: 0 });
    container.lose();
    await writer.write();
    expect(writer.lost).toBe(1);
    await writer.write();
    container.lose();
    await writer.verify();
    expect(writer.lost).toBe(2);
  });

  test('keeps who answered from when to when', async () => {
    const container = new FakeContainer();
    const writer = writerOn(container);
    await writer.write();
    await writer.write();
    container.region = 'east';
    await writer.write();
    expect(writer.service.map(({ region }) => region)).toEqual([0, 1]);
    const [west, east] = writer.service;
    expect(east!.from).toBeGreaterThanOrEqual(west!.to);
  });
});

function planned(...args: string[]): OutagePlan {
  return planOf(readFlags(FLAGS, args));
}

/** As if all partition-sets had been back after so long. */
function countsOf(plan: OutagePlan, ...recoveryMs: readonly number[]): OutageCounts {
  const counts = newOutageCounts(plannedCase(plan));
  for (const ms of recoveryMs) counts.recovery.record(ms);
  return Object.assign(counts, { affected: recoveryMs.length, recovered: recoveryMs.length });
}

function resultOf(plan: OutagePlan, counts: OutageCounts, more: Partial<RealResult> = {}): RealResult {
  return { plan, counts, lostWrites: 0, away: 0, ...more } as RealResult;
}

describe('a run', () => {
  const plan = planned('--profile', 'fast', '--partition-sets', '4', '--outages', '1');
  const good = [2500, 2600, 2700, 2800];

  test('that is as it should be has no shortcomings', () => {
    const result = resultOf(plan, countsOf(plan, ...good));
    expect(shortcomings(result, compare(result, countsOf(plan, ...good)))).toEqual([]);
  });

  test.each([
    ['half too late', [4100, 4200, 4300, 4400], {}, /half recovered within 4\.\d s, the goal is 4 s/],
    ['one too late', [2500, 2600, 2700, 6100], {}, /all recovered within 6\.1 s, the goal is 6 s/],
    ['one that did not stop', [2500, 2600, 2700], {}, /writes stopped in only 3 of 4 cases/],
    ['a lost write', good, { lostWrites: 1 }, /1 acknowledged writes were lost/],
    ['one that did not go home', good, { away: 1 }, /1 partition-sets were not back in west/],
  ])('with %s says so', (_, recovery, more, sentence) => {
    const result = resultOf(plan, countsOf(plan, ...recovery), more);
    expect(shortcomings(result, []).join('; ')).toMatch(sentence);
  });

  test('that is more than 20 % from the simulator says so', () => {
    const result = resultOf(plan, countsOf(plan, ...good));
    const simulated = countsOf(plan, 2000, 2000, 2000, 2000);
    const compared = compare(result, simulated);
    expect(compared.map(({ agrees }) => agrees)).toEqual([false, false]);
    expect(shortcomings(result, compared).join()).toMatch(/p50 is 2\.\d s here and 2\.0 s in the simulator/);
  });
});

describe('the calm before the outage', () => {
  const plan = planned('--profile', 'fast', '--acceptors', '3', '--nodes-per-region', '2');
  const cold = {
    atMs: 1000,
    cpuSeconds: { 'west-1': 5, 'west-2': 1, 'east-1': 0, 'north-1': 2, a1: 3, a2: 1, a3: 0, dns: 1 },
    updates: { ms: 1000, count: 10 },
  };
  const warm = {
    atMs: 11_000,
    cpuSeconds: {
      'west-1': 8,
      'west-2': 3,
      'east-1': 2,
      'north-1': 4,
      a1: 4,
      a2: 1.5,
      a3: 0.5,
      dns: 1.5,
      clients: 1,
    },
    updates: { ms: 3000, count: 60 },
  };
  const calm = calmBetween(cold, warm);

  test('is what was used and done between two looks', () => {
    expect(calm.updateMs).toBe(40);
    expect(calm.cores).toMatchObject({ 'west-1': 0.3, 'east-1': 0.2, a1: 0.1, clients: 0.1 });
    const none = calmBetween(cold, { ...warm, updates: cold.updates });
    expect(none.updateMs).toBe(0);
  });

  test('is told to the simulator by region and acceptor, and the rest as one', () => {
    const { regionCalm, acceptorCalm, otherCalm, processesPerRegion } = processorsOf(plan, calm);
    expect(regionCalm).toEqual([0.5, 0.2, 0.2]);
    expect(acceptorCalm).toEqual([0.1, 0.05, 0.05]);
    expect(otherCalm).toBeCloseTo(0.15, 9);
    expect(processesPerRegion).toBe(2);
    expect(simulatedCase(plan, calm)).toMatchObject({ oneWayMs: 10, processors: { regionCalm } });
    expect(told(calm)).toMatch(
      /a state update took 40\.0 ms, and the processes used 1\.25 of \d+ cores \(column calm\); the simulator/,
    );
  });
});

test.each([
  [['--kind', 'slow'], /--kind slow exists only in the simulator/],
  [['--kind', 'nothing'], /--kind does not know "nothing"/],
  [['--acceptors', '4'], /odd number from 1 to 7/],
  [['--minutes', '0'], /--minutes needs a number above 0/],
  [['--profile', 'slow'], /--profile does not know "slow"/],
])('%j is refused', (args, sentence) => {
  expect(() => planned(...args)).toThrow(sentence);
});
