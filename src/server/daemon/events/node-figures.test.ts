import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { Counter, Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { until } from '../../../../test/support/until.ts';
import { ConnectTimes, RateMeter } from './node-figures.ts';

test('rates are what was done since they were asked for last', async () => {
  const metrics = new Registry();
  const requests = new Counter({
    name: 'baton_engine_requests_total',
    help: 'of a test',
    labelNames: ['kind', 'outcome'],
    registers: [metrics],
  });
  let now = 0;
  let cpu = 5_000_000;
  const meter = new RateMeter(metrics, { now: () => now, cpuMicros: () => cpu });
  requests.inc({ kind: 'write', outcome: 'done' }, 1000);
  expect(await meter.read()).toMatchObject({ writesPerSecond: 0, readsPerSecond: 0, cpu: 0 });
  requests.inc({ kind: 'write', outcome: 'done' }, 30);
  requests.inc({ kind: 'write', outcome: 'NOT_WRITER' }, 500);
  requests.inc({ kind: 'read', outcome: 'done' }, 5);
  now = 2000;
  expect(await meter.read()).toMatchObject({ writesPerSecond: 15, readsPerSecond: 2.5 });
  now = 3000;
  cpu += 250_000;
  const { rssBytes, ...rates } = await meter.read();
  expect(rates).toEqual({ writesPerSecond: 0, readsPerSecond: 0, cpu: 0.25 });
  expect(rssBytes).toBeGreaterThan(1e6);
});

test('without the metric of requests nothing was done', async () => {
  expect(await new RateMeter(new Registry()).read()).toMatchObject({ writesPerSecond: 0, readsPerSecond: 0 });
});

test('the way to an acceptor is measured, as long as there is one', async () => {
  const server = createServer((socket) => socket.on('error', () => {}).resume());
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const times = new ConnectTimes(0);
  expect(times.get(url)).toBeNull();
  await until('it is measured', () => times.get(url) !== null);
  expect(times.get(url)).toBeGreaterThan(0);
  server.close();
  await until('it is known to be gone', () => times.get(url) === null);
  expect([times.get('memory:a'), times.get('lmdb:/x')]).toEqual([null, null]);
});
