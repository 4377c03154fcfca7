import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import type { Partitions } from './context.ts';
import { GatewayMetrics } from './metrics.ts';

const GAUGES = { inFlight: () => 3, throttled: () => 2, isReady: () => false };

test('what happened is what is scraped', async () => {
  const registry = new Registry();
  const metrics = new GatewayMetrics(registry, { now: () => 0 }, GAUGES);
  metrics.ended('docs', 'GET', 200, 7);
  metrics.ended('docs', 'GET', 404, 7);
  metrics.ended('docs', 'GET', 200, 7);
  metrics.refusedSignature();
  metrics.crowdedOut();
  const lines = (await registry.metrics()).split('\n');
  for (const line of [
    'baton_gateway_requests_total{resource="docs",method="GET",status="200"} 2',
    'baton_gateway_requests_total{resource="docs",method="GET",status="404"} 1',
    'baton_gateway_request_seconds_bucket{le="0.005",resource="docs"} 0',
    'baton_gateway_request_seconds_bucket{le="0.01",resource="docs"} 3',
    'baton_gateway_refused_signatures_total 1',
    'baton_gateway_crowded_out_total 1',
    'baton_gateway_throttled_total 2',
    'baton_gateway_in_flight 3',
    'baton_gateway_ready 0',
    'baton_gateway_held_writes 0',
  ])
    expect(lines).toContain(line);
});

test('writes that take long are held; those that end are not', async () => {
  let now = 0;
  const registry = new Registry();
  const metrics = new GatewayMetrics(registry, { now: () => now }, GAUGES);
  const ends: (() => void)[] = [];
  const partitions = {
    write: () =>
      new Promise((resolve, reject) =>
        ends.push(ends.length === 0 ? () => reject(new Error('no')) : () => resolve({})),
      ),
  } as unknown as Partitions;
  const watched = metrics.watching(partitions);
  const call = { container: 'c', partitionKey: ['a'], operations: [] };
  const failing = watched.write(call).catch(() => {});
  const passing = watched.write(call);
  const held = async (): Promise<string | undefined> =>
    /^baton_gateway_held_writes (.*)$/m.exec(await registry.metrics())?.[1];
  now = 250;
  expect(await held()).toBe('0');
  now = 251;
  expect(await held()).toBe('2');
  ends[0]!();
  await failing;
  expect(await held()).toBe('1');
  ends[1]!();
  await passing;
  expect(await held()).toBe('0');
});
