import { Gauge, Registry } from 'prom-client';
import { afterEach, describe, expect, test } from 'vitest';
import { GUIDE, plain, readPart, rewriteIfAsked } from '../../test/failover/documents.ts';
import { HostFleet, PARTITION_SET } from '../../test/failover/host-fleet.ts';
import { failedOver, healthy, movingTo } from '../../test/failover/reports.ts';
import { Histogram } from '../protocol/index.ts';
import { AgentMetrics, type MeteredHost } from './agent-metrics.ts';
import type { FailoverState } from './core/index.ts';

describe('agents of three regions', () => {
  let fleet: HostFleet | undefined;
  const threeRegions = async (): Promise<HostFleet> => {
    fleet = await HostFleet.of(['west', 'east', 'north']);
    return fleet;
  };
  afterEach(() => fleet?.end());

  test('a failover and a failback are counted once in each process that sees them, by cause', async () => {
    const there = await threeRegions();
    await there.outage();
    const counted = async (region: string) =>
      (await there.process(region).metrics.metrics())
        .split('\n')
        .filter((line) => /^baton_failover_transitions_total.* [1-9]/.test(line));
    const failover = [
      'baton_failover_transitions_total{what="raised",why="silence"} 1',
      'baton_failover_transitions_total{what="elected",why="silence"} 1',
    ];
    const failback = [
      'baton_failover_transitions_total{what="began",why="priority"} 1',
      'baton_failover_transitions_total{what="switched",why="priority"} 1',
    ];
    expect(await counted('east')).toEqual([...failover, ...failback]);
    expect(await counted('north')).toEqual([...failover, ...failback]);
    expect(await counted('west')).toEqual(failback);
  });

  test('phases, write regions and roles are those of the moment', async () => {
    const there = await threeRegions();
    const west = there.process('west');
    expect(await west.metric('baton_agent_hosted')).toBe(1);
    expect(await west.metric('baton_agent_may_write')).toBe(1);
    expect(await west.metric('baton_agent_roles{role="writer"}')).toBe(1);
    const north = there.process('north');
    await there.pass(1000);
    expect(await north.metric('baton_failover_writers{writer="west"}')).toBe(1);
    await there.kill('west');
    await there.untilWritesAt('east');
    expect(await north.metric('baton_agent_may_write')).toBe(0);
    expect(await north.metric('baton_agent_roles{role="reader"}')).toBe(1);
    expect(await north.metric('baton_failover_phases{phase="Steady"}')).toBe(1);
    expect(await north.metric('baton_failover_writers{writer="east"}')).toBe(1);
    expect(await north.metrics.metrics()).not.toContain('writer="west"');
    expect(await west.metric('baton_agent_hosted')).toBe(0);
    expect(await west.metric('baton_agent_roles{role="writer"}')).toBe(0);
  });

  test('updates are counted by their end, and their durations in seconds', async () => {
    const there = await threeRegions();
    await there.pass(3000);
    const { host } = there.process('west');
    const metric = (series: string) => there.process('west').metric(series);
    const { accepted, stale, refused, failed } = host.counters;
    expect(accepted).toBeGreaterThan(2);
    expect(await metric('baton_agent_updates_total{outcome="accepted"}')).toBe(accepted);
    expect(await metric('baton_agent_updates_total{outcome="accepted"}')).toBe(accepted);
    expect(await metric('baton_agent_update_seconds_count')).toBe(accepted + stale + refused + failed);
    expect(await metric('baton_agent_update_seconds_bucket{le="+Inf"}')).toBe(host.updateMs.count);
    const { sum } = host.updateMs.snapshot();
    expect(await metric('baton_agent_update_seconds_sum')).toBeCloseTo(sum / 1000, 9);
  });

  test('a lost lease, a suspension and a refusal are counted', async () => {
    const there = await threeRegions();
    const west = there.process('west');
    there.cutOff.add('west');
    await there.untilWritesAt('east');
    there.cutOff.delete('west');
    expect(await west.metric('baton_agent_leases_lost_total')).toBe(1);
    there.time.stall(5000);
    await there.pass(100);
    expect(await west.metric('baton_agent_suspensions_total')).toBe(1);
    await there.start('west');
    const refused = 'baton_agent_refusals_total{code="INCARNATION_OLD"}';
    for (let waited = 0; waited < 3000 && (await west.metric(refused)) === 0; waited += 10)
      await there.pass(10);
    expect(await west.metric(refused)).toBe(1);
    // The refused process rests: with nothing left to do it does not keep the event loop busy either.
    await there.pass(3000);
    await there.during(west.end());
  });

  test('no label has a partition-set as its value', async () => {
    const there = await threeRegions();
    await there.outage();
    expect(await there.process('east').metrics.metrics()).not.toContain(PARTITION_SET);
  });
});

interface FakeAgent {
  readonly state: FailoverState | undefined;
  readonly role: { readonly role: string } | undefined;
  mayWrite(): boolean;
}

class FakeHost {
  readonly counters = {
    accepted: 0,
    stale: 0,
    refused: 0,
    failed: 0,
    phaseChanges: 0,
    leasesLost: 0,
    suspensions: 0,
  };
  readonly updateMs = new Histogram();
  readonly hosted: FakeAgent[] = [];
  asked = 0;

  get size(): number {
    return this.hosted.length;
  }

  agents(): Iterable<FakeAgent> {
    this.asked += 1;
    return this.hosted;
  }
}

function metered(host: FakeHost, registry?: Registry): AgentMetrics {
  return new AgentMetrics(host as unknown as MeteredHost, registry);
}

describe('what a scrape costs and shows', () => {
  test('ten thousand agents are looked at once', async () => {
    const host = new FakeHost();
    const metrics = metered(host);
    const states = [healthy(), movingTo('B'), failedOver(healthy(), ['B', 'C'])];
    for (let at = 0; at < 10_000; at += 1) {
      const state = states[at % 4];
      host.hosted.push({
        state,
        role: state === undefined ? undefined : { role: 'reader' },
        mayWrite: () => at % 4 === 0,
      });
    }
    const text = await metrics.text();
    expect(host.asked).toBe(1);
    for (const line of [
      'baton_agent_hosted 10000',
      'baton_agent_may_write 2500',
      'baton_agent_roles{role="reader"} 7500',
      'baton_agent_roles{role="none"} 2500',
      'baton_failover_phases{phase="Steady"} 5000',
      'baton_failover_phases{phase="Graceful"} 2500',
      'baton_failover_phases{phase="unknown"} 2500',
      'baton_failover_writers{writer="A"} 5000',
      'baton_failover_writers{writer="B"} 2500',
    ])
      expect(text.split('\n')).toContain(line);
    host.hosted.length = 0;
    expect(await metrics.text()).toContain('baton_failover_phases{phase="Steady"} 0');
    expect(host.asked).toBe(2);
  });

  test('a bucket has exactly what was shorter than its bound', async () => {
    const host = new FakeHost();
    const metrics = metered(host);
    for (const ms of [0.0005, 1.02, 1.03, 2, 100, 131, 132, 60_000, 1e6]) host.updateMs.record(ms);
    const text = await metrics.text();
    const counts = [...text.matchAll(/^baton_agent_update_seconds_bucket\{le="(.+)"\} (\d+)$/gm)];
    const at = Object.fromEntries(counts.map(([, bound, count]) => [bound, Number(count)]));
    expect(at).toMatchObject({
      0.001024: 2,
      0.002048: 4,
      0.065536: 4,
      0.131072: 6,
      0.262144: 7,
      67.108864: 8,
    });
    expect(at['+Inf']).toBe(9);
  });

  test('words of a newer version do not become labels', async () => {
    const metrics = metered(new FakeHost());
    const before = healthy();
    const entry = { at: '', who: 'B', from: 1, to: 2, region: 'B' };
    const history = [
      { ...entry, what: 'raised', why: 'sunspots' },
      { ...entry, what: 'toString', why: 'silence' },
    ];
    const state = { ...before, step: before.step + 2, history } as unknown as FailoverState;
    metrics.onEvent({ event: 'state', state, before });
    const text = await metrics.text();
    expect(text).toContain('{what="raised",why="other"} 1');
    expect(text).toContain('{what="other",why="other"} 1');
    expect(text).not.toMatch(/sunspots|toString/);
  });

  test('others can have their metrics in the same registry', async () => {
    const registry = new Registry();
    registry.registerMetric(new Gauge({ name: 'mine', help: 'mine', registers: [] }));
    expect(await metered(new FakeHost(), registry).text()).toMatch(/^mine 0$/m);
    expect(await registry.metrics()).toContain('baton_agent_hosted 0');
  });
});

test('the table in the documentation has every metric, as it is registered', () => {
  const registry = new Registry();
  metered(new FakeHost(), registry);
  const rows = registry.getMetricsAsArray().map((metric) => {
    const { name, help, type, labelNames } = metric as unknown as Record<string, string> & {
      labelNames: readonly string[];
    };
    return `| \`${name}\` | ${type} | ${labelNames.map((label) => `\`${label}\``).join(', ')} | ${help} |`;
  });
  const text = ['| metric | type | labels | what it counts |', '|---|---|---|---|', ...rows].join('\n');
  rewriteIfAsked({ file: GUIDE, name: 'metrics', text });
  expect(readPart(GUIDE, 'metrics')).toBe(plain(text));
});
