import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { newCounters } from './counters.ts';
import { registerDnsMetrics } from './metrics.ts';

it('what the server counts is what is scraped', async () => {
  const counters = newCounters();
  const registry = new Registry();
  registerDnsMetrics(registry, () => counters);
  counters.udp = 5;
  counters.answers.NXDOMAIN = 3;
  counters.connections = 2;
  const text = await registry.metrics();
  expect(text).toContain('baton_dns_udp_messages_total 5');
  expect(text).toContain('baton_dns_answers_total{rcode="NXDOMAIN"} 3');
  expect(text).toContain('baton_dns_connections 2');
  counters.answers.NXDOMAIN = 4;
  expect(await registry.metrics()).toContain('baton_dns_answers_total{rcode="NXDOMAIN"} 4');
});
